//! Queries: pending and written keys, several files, times, limits.

use crate::*;

/// Puts two keys for each record: hash 1 for all, and one of the record's own.
fn put(index: &KeyIndex, records: std::ops::Range<i64>) {
    for n in records {
        index.put_all(&[key(n, 1), key(n, 1000 + n as u32)]);
    }
}

#[test]
fn keys_are_found_before_and_after_they_are_written_and_after_a_restart() {
    let files = FaultFiles::new();
    let index = load(&files);
    assert!(find(&index, 1, 9).is_empty());
    put(&index, 0..12);
    assert_eq!(index.pending(), 24);
    let check = |index: &KeyIndex| {
        assert_eq!(find(index, 1, 100), (0..12).collect::<Vec<_>>());
        for n in 0..12 {
            assert_eq!(find(index, 1000 + n as u32, 100), [n]);
        }
        assert!(find(index, 999, 100).is_empty());
    };
    check(&index);
    index.flush().unwrap();
    assert_eq!(index.pending(), 0);
    check(&index);
    let again = load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0));
    check(&again);
    assert_eq!(again.end(), PhyOffset(1100));
    assert_eq!(file_paths(&files).len(), 3);
}

#[test]
fn the_newest_are_kept_and_given_in_order() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..12);
    index.flush().unwrap();
    put(&index, 12..15);
    for max in 0..20 {
        let expected: Vec<i64> = ((15 - max.min(15))..15).collect();
        assert_eq!(find(&index, 1, max as usize), expected);
    }
}

#[test]
fn times_are_told_apart_to_the_second() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..12);
    for _ in 0..2 {
        let between = |begin: Millis, end: Millis| -> Vec<i64> {
            let found = index.query(1, begin, end, 100).unwrap();
            found.places.iter().map(|place| place.0 / RECORD_BYTES).collect()
        };
        assert_eq!(between(stored(3), stored(7)), [3, 4, 5, 6, 7]);
        assert_eq!(between(Millis(0), stored(1)), [0, 1]);
        assert_eq!(between(stored(11), Millis(i64::MAX)), [11]);
        assert!(between(Millis(0), Millis(FIRST_STORED - 1)).is_empty());
        assert!(between(stored(13), Millis(i64::MAX)).is_empty());
        assert!(between(stored(7), stored(3)).is_empty());
        index.flush().unwrap();
    }
}

/// B082: a message with the keys "k k j" is one hit for k.
#[test]
fn a_key_that_a_message_has_twice_is_one_place() {
    let files = FaultFiles::new();
    let index = load(&files);
    index.put_all(&[key(1, 5), key(1, 5), key(1, 6)]);
    assert_eq!(find(&index, 5, 32), [1]);
    index.flush().unwrap();
    assert_eq!(find(&index, 5, 32), [1]);
    assert_eq!(find(&index, 6, 32), [1]);
}

#[test]
fn replaying_the_log_adds_only_what_is_not_there() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..6);
    index.flush().unwrap();
    let index = load(&files);
    put(&index, 0..9);
    // The newest record is taken again: nobody knows whether all of its keys were there.
    assert_eq!(index.pending(), 8);
    index.flush().unwrap();
    assert_eq!(find(&index, 1, 100), (0..9).collect::<Vec<_>>());
}

#[test]
fn an_answer_says_how_far_the_index_is() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..3);
    for _ in 0..2 {
        let found = index.query(999, Millis(0), Millis(i64::MAX), 9).unwrap();
        assert_eq!((found.last_update, found.last_update_offset), (stored(2), PhyOffset(200)));
        index.flush().unwrap();
    }
}

#[test]
fn files_have_the_java_servers_bytes() {
    let files = FaultFiles::new();
    let index = load(&files);
    // 3 and 10 share a slot.
    index.put_all(&[key(0, 3), key(1, 10), key(2, 4)]);
    index.flush().unwrap();
    let paths = file_paths(&files);
    let name = paths[0].file_name().unwrap().to_str().unwrap();
    assert_eq!((paths.len(), name.len(), &name[..3]), (1, 17, "202"));
    let bytes = bytes_of(&files, &paths[0]);
    assert_eq!(bytes.len(), 40 + 7 * 4 + 10 * 20);
    let mut expected = Vec::new();
    expected.extend(stored(0).0.to_be_bytes());
    expected.extend(stored(2).0.to_be_bytes());
    expected.extend(0i64.to_be_bytes());
    expected.extend(200i64.to_be_bytes());
    expected.extend(2i32.to_be_bytes());
    expected.extend(4i32.to_be_bytes());
    for slot in [0, 0, 0, 2, 3, 0, 0] {
        expected.extend(i32::to_be_bytes(slot));
    }
    expected.extend([0; 20]);
    for (hash, phy, seconds, previous) in [(3, 0, 0, 0), (10, 100, 1, 1), (4, 200, 2, 0)] {
        expected.extend(i32::to_be_bytes(hash));
        expected.extend(i64::to_be_bytes(phy));
        expected.extend(i32::to_be_bytes(seconds));
        expected.extend(i32::to_be_bytes(previous));
    }
    assert_eq!(bytes[..expected.len()], expected);
    assert!(bytes[expected.len()..].iter().all(|&byte| byte == 0));
}

#[test]
fn old_files_go_with_their_records_but_the_last_stays() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..12);
    index.flush().unwrap();
    index.trim(PhyOffset(500)).unwrap();
    assert_eq!(file_paths(&files).len(), 2);
    index.trim(PhyOffset(i64::MAX)).unwrap();
    assert_eq!(file_paths(&files).len(), 1);
    assert_eq!(find(&index, 1, 100), [9, 10, 11]);
}

#[test]
fn keys_of_records_that_were_cut_off_are_forgotten() {
    for keep in 0..=12 {
        let files = FaultFiles::new();
        let index = load(&files);
        put(&index, 0..12);
        index.flush().unwrap();
        index.truncate(PhyOffset(keep * RECORD_BYTES)).unwrap();
        let check = |index: &KeyIndex, until: i64| {
            assert_eq!(find(index, 1, 100), (0..until).collect::<Vec<_>>(), "keep {keep}");
            for n in 0..15 {
                let expected: Vec<i64> = (n..n + 1).filter(|_| n < until).collect();
                assert_eq!(find(index, 1000 + n as u32, 100), expected, "keep {keep}");
            }
        };
        check(&index, keep);
        let files = files.crash(roxmq_testkit::Crash::LoseUnsynced, 0);
        let index = load(&files);
        check(&index, keep);
        put(&index, keep..15);
        index.flush().unwrap();
        check(&load(&files), 15);
    }
}

#[test]
fn a_full_disk_keeps_keys_in_memory_until_there_is_room() {
    let files = FaultFiles::new();
    let index = load(&files);
    put(&index, 0..2);
    files.set_capacity(Some(0));
    let full = index.flush().unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    put(&index, 2..12);
    assert!(index.flush().is_err());
    assert_eq!(find(&index, 1, 100), (0..12).collect::<Vec<_>>());
    files.set_capacity(None);
    index.flush().unwrap();
    let index = load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0));
    assert_eq!(find(&index, 1, 100), (0..12).collect::<Vec<_>>());
}
