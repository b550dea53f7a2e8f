//! The store as the broker sees it.

use crate::append::{AppendBatch, AppendError};
use crate::clock::Clock;
use crate::files::{FileSystem, ReadMode};
use crate::options::StoreOptions;
use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
use crate::queue::ConsumeQueue;
use crate::read::{Boundary, EntryFilter, KeyQuery, ReadLimits, ReadResult};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a store doesn't open. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the store in {root} is in use by another process (its file 'lock' is locked); stop that process, or use another directory with --store or storePathRootDir"
    )]
    Locked { root: PathBuf },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} has {found} bytes but {key} is {expected}; set {key}={found} to open this store")]
    FileSize { path: PathBuf, found: u64, expected: u64, key: &'static str },
    #[error(
        "{path} has {found} bytes, but maxHashSlotNum={slots} and maxIndexNum={entries} make {expected}; set both to what they were when the file was made"
    )]
    IndexFileSize { path: PathBuf, found: u64, expected: u64, slots: u32, entries: u32 },
}

/// The topic of the records that say how the broker's state changed; only its queue 0 is used. The store writes and
/// reads the one that says a topic was deleted, all others are the broker's.
pub const STATE_TOPIC: &str = "rmq_sys_ROXMQ_STATE";

/// What was found at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The last stop was a crash (the file `abort` was there).
    pub crashed: bool,
    /// Bytes of the log that were read again.
    pub scanned_bytes: u64,
    /// Messages whose queue or index entries were written again.
    pub redispatched: u64,
    /// Where a damaged or torn record ended the log, and what was wrong with it. A zero tail is no damage.
    pub cut: Option<(PhyOffset, String)>,
    /// Queue files that were missing or cut and were rebuilt.
    pub rebuilt_queues: u64,
}

/// Told of messages that readers may see from now on: at the append, or with synchronous flush after the flush.
/// Called outside every lock, for queues with `waiters > 0` only.
pub trait ArrivalListener: Send + Sync + 'static {
    fn arrived(&self, queue: &Arc<ConsumeQueue>);
}

pub struct Store {}

impl Store {
    /// Opens or makes the store, recovers it, and starts its threads.
    pub fn open(
        files: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
    ) -> Result<(Arc<Store>, RecoveryReport), OpenError> {
        let _ = (files, clock, options);
        unimplemented!()
    }

    /// To be set once, before the first append.
    pub fn set_arrival_listener(&self, listener: Arc<dyn ArrivalListener>) {
        let _ = listener;
        unimplemented!()
    }

    /// Places and writes the whole batch, or none of it. Returns the position one past its last record.
    /// With asynchronous flush it is then stored and visible; with synchronous flush it is once
    /// [`when_durable`](Self::when_durable) of that position says so.
    pub fn append(&self, batch: &mut AppendBatch) -> Result<PhyOffset, AppendError> {
        let _ = batch;
        unimplemented!()
    }

    /// Runs `then` as soon as everything before `end` may be acknowledged: now with asynchronous flush, else on the
    /// flushing thread after the disk has it, with an error if the flush failed or `syncFlushTimeout` passed.
    pub fn when_durable(&self, end: PhyOffset, then: Box<dyn FnOnce(Result<(), FlushError>) + Send>) {
        let _ = (end, then);
        unimplemented!()
    }

    /// Whether acknowledgements wait for the disk (synchronous flush).
    pub fn acknowledges_late(&self) -> bool {
        unimplemented!()
    }

    pub fn queue(&self, topic: &str, id: QueueId) -> Option<Arc<ConsumeQueue>> {
        let _ = (topic, id);
        unimplemented!()
    }

    /// The queue, made if it doesn't exist; no file until the first message.
    pub fn queue_or_create(&self, topic: &str, id: QueueId) -> Arc<ConsumeQueue> {
        let _ = (topic, id);
        unimplemented!()
    }

    /// Every topic that has a queue.
    pub fn topics(&self) -> Vec<Arc<str>> {
        unimplemented!()
    }

    /// The queues of a topic, in order of their ids.
    pub fn queues(&self, topic: &str) -> Vec<Arc<ConsumeQueue>> {
        let _ = topic;
        unimplemented!()
    }

    /// Appends the records from `from` on to `out`, as many as the limits allow.
    pub fn read(
        &self,
        queue: &ConsumeQueue,
        from: QueueOffset,
        limits: ReadLimits,
        filter: &dyn EntryFilter,
        mode: ReadMode,
        out: &mut Vec<u8>,
    ) -> io::Result<ReadResult> {
        let _ = (queue, from, limits, filter, mode, out);
        unimplemented!()
    }

    /// The entries from `from` on, for tools and scans.
    pub fn entries(
        &self,
        queue: &ConsumeQueue,
        from: QueueOffset,
        max: usize,
    ) -> io::Result<Vec<crate::QueueEntry>> {
        let _ = (queue, from, max);
        unimplemented!()
    }

    /// The record at a position of the log, or none if no record starts there.
    pub fn record(&self, at: PhyOffset) -> io::Result<Option<Vec<u8>>> {
        let _ = at;
        unimplemented!()
    }

    /// When the record of this queue offset was stored, if it is still there.
    pub fn store_time(&self, queue: &ConsumeQueue, at: QueueOffset) -> io::Result<Option<Millis>> {
        let _ = (queue, at);
        unimplemented!()
    }

    /// The offset for a point in time.
    pub fn offset_by_time(
        &self,
        queue: &ConsumeQueue,
        time: Millis,
        boundary: Boundary,
    ) -> io::Result<QueueOffset> {
        let _ = (queue, time, boundary);
        unimplemented!()
    }

    /// Places of records whose key has this hash, newest first kept, ascending; hash collisions are the caller's.
    pub fn query_key(&self, hash: u32, begin: Millis, end: Millis, max: usize) -> io::Result<KeyQuery> {
        let _ = (hash, begin, end, max);
        unimplemented!()
    }

    /// Deletes the log files that are expired now, at any hour, and what queues and index hold of them. Gives how
    /// many log files went.
    pub fn delete_expired_now(&self) -> io::Result<usize> {
        unimplemented!()
    }

    /// Removes the queues of a topic for good: a restart, even after a crash, doesn't bring them back.
    pub fn delete_topic(&self, topic: &str) -> Result<(), AppendError> {
        let _ = topic;
        unimplemented!()
    }

    pub fn min_phy_offset(&self) -> PhyOffset {
        unimplemented!()
    }

    /// One past the last byte written.
    pub fn max_phy_offset(&self) -> PhyOffset {
        unimplemented!()
    }

    /// One past the last byte known to be on the disk.
    pub fn flushed_phy_offset(&self) -> PhyOffset {
        unimplemented!()
    }

    /// Makes log, queues, index and checkpoint durable now.
    pub fn flush(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// Flushes, writes the checkpoint, removes `abort`, stops the threads. Appends fail from then on.
    pub fn shutdown(&self) -> io::Result<()> {
        unimplemented!()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    #[error("the disk did not take the message within {0} ms (syncFlushTimeout)")]
    Timeout(u64),
    #[error("flushing the commit log failed: {0}")]
    Failed(String),
}
