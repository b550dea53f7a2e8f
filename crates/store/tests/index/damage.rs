//! Damaged files: no loop, no panic, no place outside of what is there.

use crate::*;
use proptest::prelude::*;
use roxmq_store::OpenError;

fn three_files() -> Arc<FaultFiles> {
    let files = FaultFiles::new();
    let index = load(&files);
    for n in 0..20 {
        index.put_all(&[key(n, n as u32 % 3)]);
    }
    index.flush().unwrap();
    files
}

fn overwrite(files: &FaultFiles, path: &Path, at: u64, bytes: &[u8]) {
    files.open(path, OpenMode::Write).unwrap().write_all_at(&[bytes], at).unwrap();
}

#[test]
fn a_chain_that_leads_back_ends() {
    let files = three_files();
    for path in file_paths(&files) {
        for number in 1..10u64 {
            // Each entry claims to come after the newest one.
            overwrite(&files, &path, 40 + 28 + number * 20 + 16, &9u32.to_be_bytes());
        }
    }
    let index = load(&files);
    assert!(find(&index, 1, 100).len() <= 20);
    index.put_all(&[key(30, 1)]);
    index.flush().unwrap();
    assert_eq!(find(&index, 1, 1), [30]);
}

#[test]
fn a_file_of_another_size_is_refused_with_the_keys_to_set() {
    let files = three_files();
    let fs: Arc<dyn FileSystem> = Arc::clone(&files) as _;
    let error = KeyIndex::load(fs, Path::new(DIR), SLOTS, ENTRIES + 1).unwrap_err();
    assert!(matches!(error, OpenError::IndexFileSize { found: 268, expected: 288, .. }), "{error}");
    assert!(error.to_string().contains("maxHashSlotNum=7 and maxIndexNum=11"), "{error}");
}

#[test]
fn other_files_and_one_that_got_no_size_are_no_obstacle() {
    let files = three_files();
    for name in ["notes", "20990101000000000"] {
        files.open(&Path::new(DIR).join(name), OpenMode::Create).unwrap();
    }
    let index = load(&files);
    assert_eq!(find(&index, 1, 100), [1, 4, 7, 10, 13, 16, 19]);
    assert_eq!(file_paths(&files).len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_bytes_anywhere_are_survived(
        file in 0usize..3,
        at in 0u64..260,
        bytes in proptest::collection::vec(any::<u8>(), 1..8),
        cut in 0i64..2500,
    ) {
        let files = three_files();
        overwrite(&files, &file_paths(&files)[file], at, &bytes);
        let index = load(&files);
        for hash in 0..4 {
            prop_assert!(find(&index, hash, 100).is_sorted());
        }
        index.truncate(PhyOffset(cut)).unwrap();
        index.put_all(&[key(1 << 40, 2), key(1 << 40, 3)]);
        index.flush().unwrap();
        prop_assert_eq!(find(&index, 3, 1), [1 << 40]);
        index.trim(PhyOffset(cut)).unwrap();
    }
}
