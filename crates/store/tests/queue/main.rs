//! Consume queues over files in memory: what is written, found again, cut and missed.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may, too")]

mod crash;
mod gap;
mod load;
mod read;
mod retention;
mod snapshot;

use roxmq_store::files::{FileSystem, OpenMode, ReadMode};
use roxmq_store::{ConsumeQueue, PhyOffset, QueueEntry, QueueId, QueueOffset, QueueTable};
use roxmq_testkit::FaultFiles;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

const ROOT: &str = "/store";
const TOPIC: &str = "TopicA";

/// Files of ten entries, so that queues have several.
const FILE_ENTRIES: i64 = 10;

/// Every record has this many bytes, so that the n-th begins at n times that.
const RECORD_BYTES: i32 = 100;

fn load(files: &Arc<FaultFiles>) -> QueueTable {
    load_with(files, &Arc::new(AtomicI64::new(i64::MAX)))
}

fn load_with(files: &Arc<FaultFiles>, visible: &Arc<AtomicI64>) -> QueueTable {
    make_root(files);
    let fs: Arc<dyn FileSystem> = Arc::clone(files) as _;
    QueueTable::load(fs, Path::new(ROOT), FILE_ENTRIES as u64 * 20, Arc::clone(visible)).unwrap()
}

/// Makes the store's directory, durably.
fn make_root(files: &FaultFiles) {
    files.create_dir_all(Path::new(ROOT)).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
}

/// The entry of the n-th record of the log.
fn entry(n: i64) -> QueueEntry {
    QueueEntry { phy_offset: at(n), bytes: RECORD_BYTES, tags_code: n * 31 }
}

/// Where the n-th record of the log begins.
fn at(n: i64) -> PhyOffset {
    PhyOffset(n * i64::from(RECORD_BYTES))
}

/// Pushes the entries of these records.
fn push(queue: &Arc<ConsumeQueue>, records: std::ops::Range<i64>) {
    for n in records {
        queue.push(entry(n));
    }
}

/// A table whose queue 0 of the topic holds the first records of the log, durably.
fn stored(files: &Arc<FaultFiles>, records: i64) -> QueueTable {
    let table = load(files);
    push(&table.get_or_create(TOPIC, QueueId(0)), 0..records);
    table.sync().unwrap();
    table
}

/// Writes behind until a queue without a push keeps no written entry in memory.
fn become_idle(table: &QueueTable) {
    for _ in 0..5 {
        table.write_behind().unwrap();
    }
}

fn read_all(queue: &ConsumeQueue) -> Vec<QueueEntry> {
    let mut out = Vec::new();
    queue.read(queue.min_offset(), usize::MAX, &mut out, ReadMode::Blocking).unwrap();
    out
}

/// Checks that a queue holds exactly the entries of these records, whose numbers are their offsets.
#[track_caller]
fn check_holds(queue: &ConsumeQueue, records: std::ops::Range<i64>) {
    assert_eq!((queue.min_offset().0, queue.max_offset().0), (records.start, records.end));
    assert_eq!(queue.next_offset(), QueueOffset(records.end));
    assert_eq!(read_all(queue), records.map(entry).collect::<Vec<_>>());
}

fn queue_file(queue: i32, first: i64) -> PathBuf {
    Path::new(ROOT).join(format!("consumequeue/{TOPIC}/{queue}/{:020}", first * 20))
}

fn file_names(files: &FaultFiles, dir: &str) -> Vec<String> {
    let dir = Path::new(ROOT).join(dir);
    files.list(&dir).map_or(Vec::new(), |entries| entries.into_iter().map(|entry| entry.name).collect())
}

fn bytes_of(files: &FaultFiles, path: &Path) -> Vec<u8> {
    let file = files.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0, ReadMode::Blocking).unwrap();
    bytes
}
