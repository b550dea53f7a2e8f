//! A store in a temporary directory, and the few calls that the tests make again and again.

use roxmq_protocol::record::{Record, Records};
use roxmq_store::clock::{Clock, SystemClock};
use roxmq_store::files::{FileSystem, OsFiles, ReadMode};
use roxmq_store::read::{NoFilter, ReadLimits, ReadResult};
use roxmq_store::{
    AppendBatch, AppendError, Millis, NewMessage, OpenError, PhyOffset, QueueId, QueueOffset, RecoveryReport,
    Store, StoreOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const HOST: &str = "127.0.0.1:10911";

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub options: StoreOptions,
    pub files: Arc<dyn FileSystem>,
    pub clock: Arc<dyn Clock>,
}

impl Fixture {
    /// Small files, so that tests cross their borders.
    pub fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            commit_log_file_bytes: 8192,
            queue_file_bytes: 200,
            index_slots: 100,
            index_entries: 1000,
            allocate_ahead_bytes: 1 << 20,
            ..StoreOptions::new(dir.path().to_path_buf())
        };
        Fixture { dir, options, files: Arc::new(OsFiles), clock: Arc::new(SystemClock) }
    }

    pub fn try_open(&self) -> Result<(Arc<Store>, RecoveryReport), OpenError> {
        Store::open(self.files.clone(), self.clock.clone(), self.options.clone())
    }

    pub fn open(&self) -> Arc<Store> {
        self.open_reporting().0
    }

    pub fn open_reporting(&self) -> (Arc<Store>, RecoveryReport) {
        self.try_open().unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn log_file(&self, start: u64) -> PathBuf {
        self.path("commitlog").join(format!("{start:020}"))
    }
}

pub fn message<'a>(topic: &'a str, queue: i32, body: &'a [u8]) -> NewMessage<'a> {
    NewMessage {
        topic,
        queue_id: QueueId(queue),
        flag: 0,
        sys_flag: 0,
        born: Millis(1),
        born_host: HOST.parse().unwrap(),
        store_host: HOST.parse().unwrap(),
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        properties: b"",
        tags_code: 0,
        key_hashes: &[],
    }
}

/// Appends one message to queue 0 of the topic; gives its place in the log and the position behind it.
pub fn append(store: &Store, topic: &str, body: &[u8]) -> Result<(PhyOffset, PhyOffset), AppendError> {
    let mut batch = AppendBatch::new();
    batch.push(store, &message(topic, 0, body))?;
    let end = store.append(&mut batch)?;
    Ok((batch.stored()[0].phy_offset, end))
}

pub fn fill(store: &Store, topic: &str, count: usize) {
    for n in 0..count {
        append(store, topic, format!("{n}").as_bytes()).unwrap();
    }
}

pub fn read(store: &Store, topic: &str, queue: i32, from: i64) -> (ReadResult, Vec<String>) {
    let queue = store.queue_or_create(topic, QueueId(queue));
    let limits = ReadLimits { count_max: 100_000, bytes_max: 64 << 20, scan_max: 100_000 };
    let mut out = Vec::new();
    let result =
        store.read(&queue, QueueOffset(from), limits, &NoFilter, ReadMode::Blocking, &mut out).unwrap();
    let bodies: Vec<String> = Records::new(&out).map(|record| body(&record.unwrap())).collect();
    assert_eq!(bodies.len(), result.count);
    (result, bodies)
}

pub fn bodies(store: &Store, topic: &str) -> Vec<String> {
    read(store, topic, 0, 0).1
}

fn body(record: &Record<'_>) -> String {
    record.verify_crc().unwrap();
    String::from_utf8_lossy(record.body).into_owned()
}

pub fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

pub fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}
