//! All consume queues of a store.

use crate::files::FileSystem;
use crate::position::{PhyOffset, QueueId};
use crate::queue::ConsumeQueue;
use crate::store::OpenError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

#[derive(Debug)]
pub struct QueueTable {}

/// A queue that had more entries than its files hold. Replaying the log from `from` on puts them back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    pub topic: Arc<str>,
    pub id: QueueId,
    /// Everything of this queue before this position is there. 0 if nothing is known.
    pub from: PhyOffset,
}

impl QueueTable {
    /// Finds the queues under `root/consumequeue`. `visible` is where the log ends for readers: entries whose record
    /// ends behind it are not shown. `i64::MAX` shows everything.
    pub fn load(
        files: Arc<dyn FileSystem>,
        root: &Path,
        file_bytes: u64,
        visible: Arc<AtomicI64>,
    ) -> Result<QueueTable, OpenError> {
        let _ = (files, root, file_bytes, visible);
        unimplemented!()
    }

    /// Queues whose files were lost or cut since they were written, to be replayed before the store opens.
    pub fn incomplete(&self) -> &[Incomplete] {
        unimplemented!()
    }

    pub fn get(&self, topic: &str, id: QueueId) -> Option<Arc<ConsumeQueue>> {
        let _ = (topic, id);
        unimplemented!()
    }

    /// The queue, made if it doesn't exist; it has no file until its first entry is written behind.
    pub fn get_or_create(&self, topic: &str, id: QueueId) -> Arc<ConsumeQueue> {
        let _ = (topic, id);
        unimplemented!()
    }

    /// Every topic that has a queue, in no order.
    pub fn topics(&self) -> Vec<Arc<str>> {
        unimplemented!()
    }

    /// The queues of a topic, in order of their ids.
    pub fn queues(&self, topic: &str) -> Vec<Arc<ConsumeQueue>> {
        let _ = topic;
        unimplemented!()
    }

    /// Forgets the queues of a topic and removes their files. Who still holds one of them reads nothing from it.
    pub fn remove_topic(&self, topic: &str) -> io::Result<()> {
        let _ = topic;
        unimplemented!()
    }

    /// Drops the entries of records at or above `log_end`. Recovery calls it with the position up to which the files
    /// are known to be whole before it replays the log from there, and with the end of the log after a cut.
    pub fn truncate(&self, log_end: PhyOffset) -> io::Result<()> {
        let _ = log_end;
        unimplemented!()
    }

    /// Moves the minimum offsets behind the entries of records below `log_min`, and removes files that hold no others.
    /// The last file of a queue stays, so that the queue's maximum offset does.
    pub fn trim(&self, log_min: PhyOffset) -> io::Result<()> {
        let _ = log_min;
        unimplemented!()
    }

    /// Entries that are in memory only. Whoever pushes many calls [`write_behind`](Self::write_behind) when it grows.
    pub fn unwritten(&self) -> usize {
        unimplemented!()
    }

    /// Writes new entries to the files, without waiting for the disk, and frees the memory of queues that are idle.
    pub fn write_behind(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// Writes behind and makes every entry pushed before the call durable. After an error nothing is durable that
    /// wasn't before, and no later call succeeds unless only space was missing.
    pub fn sync(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// [`sync`](Self::sync), and writes down what each queue holds, so that the next load notices missing files.
    pub fn close(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// One past the record of the newest entry of any queue.
    pub fn max_phy_offset(&self) -> PhyOffset {
        unimplemented!()
    }
}
