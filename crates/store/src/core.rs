//! What the store's threads and callers share, and the append path.

use crate::append::AppendError;
use crate::arrivals::Arrivals;
use crate::batch::AppendBatch;
use crate::clock::Clock;
use crate::commit_log::CommitLog;
use crate::dispatch::Tombstone;
use crate::files::FileSystem;
use crate::index::KeyIndex;
use crate::options::{FlushMode, StoreOptions};
use crate::position::PhyOffset;
use crate::queue::{ConsumeQueue, QueueTable};
use crate::retention::DiskState;
use crate::signal::Signal;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

pub(crate) struct Core {
    pub files: Arc<dyn FileSystem>,
    pub clock: Arc<dyn Clock>,
    pub options: StoreOptions,
    pub log: CommitLog,
    pub queues: QueueTable,
    pub index: Option<KeyIndex>,
    pub arrivals: Arrivals,
    pub disk: DiskState,
    /// Wakes the thread that writes behind.
    pub behind_signal: Signal,
    /// What the next checkpoint says of the log's end; set under the log's lock.
    pub last: LastRecord,
    /// Held while a checkpoint is made and while a topic is deleted, as a checkpoint behind the record of a
    /// deletion promises that the topic's queues are gone.
    pub checkpointing: Mutex<()>,
    pub closed: AtomicBool,
    deletions: AtomicU64,
    /// Counts how often retention has taken messages from readers.
    pub removals: AtomicU64,
}

/// Where the newest record starts, and when it was stored.
#[derive(Debug, Default)]
pub(crate) struct LastRecord {
    pub start: AtomicI64,
    pub store_time: AtomicI64,
}

impl LastRecord {
    pub fn set(&self, start: i64, store_time: i64) {
        self.start.store(start, Ordering::Release);
        self.store_time.store(store_time, Ordering::Release);
    }
}

/// What recovery and loading have made.
pub(crate) struct Parts {
    pub log: CommitLog,
    pub queues: QueueTable,
    pub index: Option<KeyIndex>,
    pub last: LastRecord,
}

impl Core {
    pub fn new(
        files: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
        parts: Parts,
    ) -> Self {
        Core {
            files,
            clock,
            options,
            log: parts.log,
            queues: parts.queues,
            index: parts.index,
            arrivals: Arrivals::default(),
            disk: DiskState::default(),
            behind_signal: Signal::default(),
            last: parts.last,
            checkpointing: Mutex::default(),
            closed: AtomicBool::new(false),
            deletions: AtomicU64::new(0),
            removals: AtomicU64::new(0),
        }
    }

    pub fn append(&self, batch: &mut AppendBatch) -> Result<PhyOffset, AppendError> {
        let end = self.append_unannounced(batch)?;
        self.announce(batch);
        Ok(end)
    }

    pub fn append_unannounced(&self, batch: &mut AppendBatch) -> Result<PhyOffset, AppendError> {
        self.check_accepts()?;
        if batch.is_empty() {
            return Ok(PhyOffset(self.log.marks.appended()));
        }
        batch.check_sizes(self.options.commit_log_file_bytes)?;
        let end = {
            let mut log = self.log.appending()?;
            self.check_open()?;
            batch.write(self, &mut log)?;
            self.publish(&log, batch);
            log.position()
        };
        self.behind_signal.raise();
        self.log.flush_signal.raise();
        Ok(PhyOffset(end))
    }

    /// With synchronous flush the flush does it.
    pub fn announce(&self, batch: &AppendBatch) {
        if self.log.mode() == FlushMode::Async && !batch.is_empty() {
            batch.queues_written().for_each(|queue| self.arrivals.visible(queue));
        }
    }

    /// Under the log's lock, so that marks, last record and hidden arrivals move in the order of the log.
    fn publish(&self, log: &crate::commit_log::Appending<'_>, batch: &AppendBatch) {
        if let Some(last) = batch.last_stored() {
            self.last.set(last.phy_offset.0, last.store_time.0);
        }
        if self.log.mode() == FlushMode::Sync {
            batch.queues_written().for_each(|queue| self.arrivals.hide(log.position(), queue));
        }
        log.publish();
    }

    fn check_accepts(&self) -> Result<(), AppendError> {
        self.check_open()?;
        match self.disk.refused() {
            None => Ok(()),
            Some(used) => Err(AppendError::DiskFull {
                path: self.options.commit_log_dir.clone(),
                used,
                limit: self.options.retention.refuse_percent,
            }),
        }
    }

    fn check_open(&self) -> Result<(), AppendError> {
        if self.closed.load(Ordering::SeqCst) { Err(AppendError::ShutDown) } else { Ok(()) }
    }

    /// Makes the log durable up to here, lets go of who waited for that, and shows what may now be seen.
    pub fn sync_log(&self, target: i64) -> io::Result<()> {
        let result = self.log.sync(target);
        self.arrivals.reveal(self.log.marks.confirmed());
        result
    }

    /// How many topics were deleted since the start. A queue looked up before may not be the topic's any more.
    pub fn deletions(&self) -> u64 {
        self.deletions.load(Ordering::Acquire)
    }

    /// Under the log's lock, so that no batch that has looked a queue up before writes to one that isn't there any more.
    pub fn forget_unused(&self, topic: &str) -> Result<(), AppendError> {
        let _log = self.log.appending()?;
        if self.queues.remove_unused(topic) {
            self.deletions.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The record of the deletion is on the disk before the first file goes, and recovery does again what it says.
    /// All under the log's lock: what is appended behind the record belongs to a new topic of the same name.
    pub fn delete_topic(&self, topic: &str) -> Result<Vec<Arc<ConsumeQueue>>, AppendError> {
        let _no_checkpoint = self.checkpointing.lock();
        let mut batch = AppendBatch::new();
        Tombstone { topic }.push(self, &mut batch)?;
        self.check_open()?;
        let (end, removed) = {
            let mut log = self.log.appending()?;
            batch.write(self, &mut log)?;
            self.publish(&log, &batch);
            log.sync()
                .map_err(|source| AppendError::Io { path: self.options.commit_log_dir.clone(), source })?;
            let removed = self.queues.remove_topic(topic);
            // After the queues are gone, so that whoever sees the count finds the new ones.
            self.deletions.fetch_add(1, Ordering::AcqRel);
            let removed =
                removed.map_err(|source| AppendError::Remove { topic: topic.to_string(), source })?;
            (log.position(), removed)
        };
        self.behind_signal.raise();
        self.sync_log(end)
            .map_err(|source| AppendError::Io { path: self.options.commit_log_dir.clone(), source })?;
        batch.queues_written().for_each(|queue| self.arrivals.visible(queue));
        Ok(removed)
    }
}
