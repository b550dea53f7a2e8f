//! The store as the broker sees it.

use crate::append::{AppendBatch, AppendError};
use crate::arrivals::ArrivalListener;
use crate::behind;
use crate::clock::Clock;
use crate::core::Core;
use crate::files::{FileSystem, ReadMode};
use crate::flush::{self, FlushError};
use crate::open::{self, OpenError, RecoveryReport};
use crate::options::{FlushMode, StoreOptions};
use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
use crate::queue::{ConsumeQueue, QueueEntry};
use crate::read::{Boundary, KeyQuery, ReadFilter, ReadLimits, ReadResult};
use crate::recovery::scan::{Scan, Step};
use crate::retention;
use parking_lot::Mutex;
use roxmq_protocol::record::Record;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// The topic of the records that say how the broker's state changed; only its queue 0 is used. The store writes and
/// reads the one that says a topic was deleted, all others are the broker's.
pub const STATE_TOPIC: &str = "rmq_sys_ROXMQ_STATE";

/// Dropped without [`shutdown`](Store::shutdown) it is as if the process had crashed.
pub struct Store {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Keeps other processes out until the store is gone.
    _lock: Box<dyn Send + Sync + std::fmt::Debug>,
}

impl Store {
    /// Opens or makes the store, recovers it, and starts its threads.
    pub fn open(
        files: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
    ) -> Result<(Arc<Store>, RecoveryReport), OpenError> {
        let opened = open::open(files, clock, options)?;
        let core = Arc::new(opened.core);
        let store = Store { threads: Mutex::new(Vec::new()), core: core.clone(), _lock: opened.lock };
        store.start().map_err(|source| OpenError::Io { path: core.options.root.clone(), source })?;
        Ok((Arc::new(store), opened.report))
    }

    fn start(&self) -> io::Result<()> {
        self.spawn("log-ahead", |core| core.log.run_ahead())?;
        self.spawn("log-flush", flush::run)?;
        self.spawn("store-behind", behind::run)?;
        if self.acknowledges_late() {
            self.spawn("log-timeouts", |core| core.log.waiters.run_timeouts())?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str, life: fn(&Core)) -> io::Result<()> {
        let core = self.core.clone();
        let thread = std::thread::Builder::new().name(name.to_string()).spawn(move || life(&core))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// To be set once, before the first append.
    pub fn set_arrival_listener(&self, listener: Arc<dyn ArrivalListener>) {
        let first = self.core.arrivals.set_listener(listener);
        debug_assert!(first, "the arrival listener is set once");
    }

    /// Places and writes the whole batch, or none of it. Returns the position one past its last record.
    /// With asynchronous flush it is then stored and visible; with synchronous flush it is once
    /// [`when_durable`](Self::when_durable) of that position says so.
    pub fn append(&self, batch: &mut AppendBatch) -> Result<PhyOffset, AppendError> {
        self.core.append(batch)
    }

    /// As [`append`](Self::append), but nobody who waits is told of the messages before [`announce`](Self::announce):
    /// for whoever holds a lock that they would take.
    pub fn append_unannounced(&self, batch: &mut AppendBatch) -> Result<PhyOffset, AppendError> {
        self.core.append_unannounced(batch)
    }

    /// Tells those who wait for messages of a batch that was appended unannounced.
    pub fn announce(&self, batch: &AppendBatch) {
        self.core.announce(batch);
    }

    /// Runs `then` as soon as everything before `end` may be acknowledged: now with asynchronous flush, else on the
    /// flushing thread after the disk has it, with an error if the flush failed or `syncFlushTimeout` passed.
    pub fn when_durable(&self, end: PhyOffset, then: Box<dyn FnOnce(Result<(), FlushError>) + Send>) {
        if self.acknowledges_late() { self.core.log.when_durable(end.0, then) } else { then(Ok(())) }
    }

    /// Waits until everything before `end` may be acknowledged, [or is late](FlushError::unless_late).
    pub fn wait_durable(&self, end: PhyOffset) -> Result<(), FlushError> {
        let (done, durable) = std::sync::mpsc::channel();
        self.when_durable(end, Box::new(move |flushed| drop(done.send(flushed))));
        let flushed = durable.recv().unwrap_or_else(|closed| Err(FlushError::Failed(closed.to_string())));
        FlushError::unless_late(flushed)
    }

    /// Whether acknowledgements wait for the disk (synchronous flush).
    pub fn acknowledges_late(&self) -> bool {
        self.core.log.mode() == FlushMode::Sync
    }

    pub fn queue(&self, topic: &str, id: QueueId) -> Option<Arc<ConsumeQueue>> {
        self.core.queues.get(topic, id)
    }

    /// The queue, made if it doesn't exist; no file until the first message.
    pub fn queue_or_create(&self, topic: &str, id: QueueId) -> Arc<ConsumeQueue> {
        self.core.queues.get_or_create(topic, id)
    }

    /// Every topic that has a queue.
    pub fn topics(&self) -> Vec<Arc<str>> {
        self.core.queues.topics()
    }

    /// How many light queues there are.
    pub fn lmq_count(&self) -> usize {
        self.core.queues.lmq_count()
    }

    /// The queues of a topic, in order of their ids.
    pub fn queues(&self, topic: &str) -> Vec<Arc<ConsumeQueue>> {
        self.core.queues.queues(topic)
    }

    /// Appends the records from `from` on that the filter passes to `out`, as many as the limits allow.
    pub fn read(
        &self,
        queue: &ConsumeQueue,
        from: QueueOffset,
        limits: ReadLimits,
        filter: &dyn ReadFilter,
        mode: ReadMode,
        out: &mut Vec<u8>,
    ) -> io::Result<ReadResult> {
        self.core.read(queue, from, limits, filter, mode, out)
    }

    /// The entries from `from` on, for tools and scans.
    pub fn entries(
        &self,
        queue: &ConsumeQueue,
        from: QueueOffset,
        max: usize,
    ) -> io::Result<Vec<QueueEntry>> {
        let mut entries = Vec::new();
        queue.read(from, max, &mut entries, ReadMode::Blocking)?;
        Ok(entries)
    }

    /// The record at a position of the log, or none if no record starts there.
    pub fn record(&self, at: PhyOffset) -> io::Result<Option<Vec<u8>>> {
        self.core.record(at)
    }

    /// Shows every whole record from a position on where one starts, until it is told to stop.
    pub fn scan(
        &self,
        from: PhyOffset,
        each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut scan = Scan::new(&self.core.log.segments, from.0);
        while let Step::Record(record) = scan.step()? {
            if each(&record).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The record that was stored next after the one at this position, and where it lies; none at the log's end.
    pub fn record_after(&self, at: PhyOffset) -> io::Result<Option<(PhyOffset, Vec<u8>)>> {
        self.core.record_after(at)
    }

    /// When the record of this queue offset was stored, if it is still there.
    pub fn store_time(&self, queue: &ConsumeQueue, at: QueueOffset) -> io::Result<Option<Millis>> {
        self.core.store_time(queue, at)
    }

    /// The offset for a point in time.
    pub fn offset_by_time(
        &self,
        queue: &ConsumeQueue,
        time: Millis,
        boundary: Boundary,
    ) -> io::Result<QueueOffset> {
        self.core.offset_by_time(queue, time, boundary)
    }

    /// Places of records whose key has this hash, newest first kept, ascending; hash collisions are the caller's.
    pub fn query_key(&self, hash: u32, begin: Millis, end: Millis, max: usize) -> io::Result<KeyQuery> {
        match &self.core.index {
            Some(index) => index.query(hash, begin, end, max),
            None => Ok(KeyQuery::default()),
        }
    }

    /// Deletes the log files that are expired now, at any hour, and what queues and index hold of them. Gives how
    /// many log files went.
    pub fn delete_expired_now(&self) -> io::Result<usize> {
        self.core.expire_topics()?;
        self.core.delete_files(retention::Deletion::Expired)
    }

    /// Forgets a topic whose queues nobody waits for and that never had a message.
    pub fn forget_unused(&self, topic: &str) -> Result<(), AppendError> {
        self.core.forget_unused(topic)
    }

    /// Hides what is expired by the times of single topics now.
    pub fn expire_topics_now(&self) -> io::Result<()> {
        self.core.expire_topics()
    }

    /// Grows whenever retention has taken messages from readers.
    pub fn removals(&self) -> u64 {
        self.core.removals.load(Ordering::Acquire)
    }

    /// Removes the queues of a topic for good: a restart, even after a crash, doesn't bring them back.
    pub fn delete_topic(&self, topic: &str) -> Result<Vec<Arc<ConsumeQueue>>, AppendError> {
        self.core.delete_topic(topic)
    }

    pub fn min_phy_offset(&self) -> PhyOffset {
        PhyOffset(self.core.log.segments.first())
    }

    /// One past the last byte written.
    pub fn max_phy_offset(&self) -> PhyOffset {
        PhyOffset(self.core.log.marks.appended())
    }

    /// One past the last byte known to be on the disk.
    pub fn flushed_phy_offset(&self) -> PhyOffset {
        PhyOffset(self.core.log.marks.flushed())
    }

    /// Makes log, queues, index and checkpoint durable now.
    pub fn flush(&self) -> io::Result<()> {
        self.core.checkpoint().map(drop)
    }

    /// Flushes, writes the checkpoint, removes `abort`, stops the threads. Appends fail from then on.
    pub fn shutdown(&self) -> io::Result<()> {
        if self.core.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.stop_threads();
        // Whatever goes wrong here leaves `abort` where it is, so that the next start looks closely.
        self.core.checkpoint()?;
        self.core.queues.close()?;
        open::remove_abort(&self.core)
    }

    fn stop_threads(&self) {
        self.core.log.ahead.signal.stop();
        self.core.log.flush_signal.stop();
        self.core.behind_signal.stop();
        self.core.log.waiters.stop();
        let me = std::thread::current().id();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // The last one to let go of the store may be an acknowledgement that runs on one of its threads.
            if thread.thread().id() != me && thread.join().is_err() {
                tracing::error!("a thread of the store had panicked");
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.core.closed.store(true, Ordering::SeqCst);
        self.stop_threads();
    }
}
