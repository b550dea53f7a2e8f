//! The key index over files in memory: what is found, in which order, and after which accidents.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may, too")]

mod crash;
mod damage;
mod query;

use roxmq_store::files::{FileSystem, OpenMode, ReadMode};
use roxmq_store::{IndexKey, KeyIndex, Millis, PhyOffset};
use roxmq_testkit::FaultFiles;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/store/index";
const SLOTS: u32 = 7;

/// Nine of them are usable, so that an index has several files.
const ENTRIES: u32 = 10;

/// Every record has this many bytes and is stored one second after the one before.
const RECORD_BYTES: i64 = 100;

const FIRST_STORED: i64 = 1_795_000_000_000;

fn load(files: &Arc<FaultFiles>) -> KeyIndex {
    make_root(files);
    let fs: Arc<dyn FileSystem> = Arc::clone(files) as _;
    KeyIndex::load(fs, Path::new(DIR), SLOTS, ENTRIES).unwrap()
}

/// Makes the store's directory, durably.
fn make_root(files: &FaultFiles) {
    if files.list(Path::new("/store")).is_err() {
        files.create_dir_all(Path::new("/store")).unwrap();
        files.sync_dir(Path::new("/")).unwrap();
    }
}

/// A key of the n-th record of the log.
fn key(n: i64, hash: u32) -> IndexKey {
    IndexKey { hash, phy_offset: PhyOffset(n * RECORD_BYTES), store_time: stored(n) }
}

fn stored(n: i64) -> Millis {
    Millis(FIRST_STORED + n * 1000)
}

/// The numbers of the records that are found for a hash, at any time.
fn find(index: &KeyIndex, hash: u32, max: usize) -> Vec<i64> {
    let found = index.query(hash, Millis(0), Millis(i64::MAX), max).unwrap();
    found.places.iter().map(|place| place.0 / RECORD_BYTES).collect()
}

fn file_paths(files: &FaultFiles) -> Vec<PathBuf> {
    files.list(Path::new(DIR)).map_or(Vec::new(), |entries| entries.into_iter().map(|e| e.path).collect())
}

fn bytes_of(files: &FaultFiles, path: &Path) -> Vec<u8> {
    let file = files.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0, ReadMode::Blocking).unwrap();
    bytes
}
