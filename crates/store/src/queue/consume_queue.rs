//! One consume queue.

use crate::files::ReadMode;
use crate::position::{QueueId, QueueOffset};
use crate::queue::QueueEntry;
use std::io;
use std::sync::atomic::AtomicU32;

#[derive(Debug)]
pub struct ConsumeQueue {
    /// How many wait for messages of this queue. The broker counts; the store only tells it who was appended to.
    pub waiters: AtomicU32,
}

impl ConsumeQueue {
    pub fn topic(&self) -> &str {
        unimplemented!()
    }

    pub fn id(&self) -> QueueId {
        unimplemented!()
    }

    /// The first offset that can still be read.
    pub fn min_offset(&self) -> QueueOffset {
        unimplemented!()
    }

    /// One past the newest message that readers may see.
    pub fn max_offset(&self) -> QueueOffset {
        unimplemented!()
    }

    /// The offset that the next entry gets, seen or not.
    pub fn next_offset(&self) -> QueueOffset {
        unimplemented!()
    }

    /// Appends an entry at [`next_offset`](Self::next_offset). One writer at a time, in the order of the log.
    pub fn push(&self, entry: QueueEntry) {
        let _ = entry;
        unimplemented!()
    }

    /// Appends the entry of a record found in the log at recovery, in the order of the log; false if the queue has
    /// it already. Offsets that the log no longer has are bridged by filler entries, as the Java server does.
    pub fn replay(&self, offset: QueueOffset, entry: QueueEntry) -> io::Result<bool> {
        let _ = (offset, entry);
        unimplemented!()
    }

    /// Appends to `out` up to `max` visible entries from `from` on, and says how many; none if there is no visible
    /// entry at `from`. With [`ReadMode::Cached`] an error of kind `WouldBlock` if the disk would have to be waited for.
    pub fn read(
        &self,
        from: QueueOffset,
        max: usize,
        out: &mut Vec<QueueEntry>,
        mode: ReadMode,
    ) -> io::Result<usize> {
        let _ = (from, max, out, mode);
        unimplemented!()
    }
}
