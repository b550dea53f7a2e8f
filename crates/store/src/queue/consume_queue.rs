//! One consume queue, as readers and the one writer see it.
//!
//! Always: `min_offset <= max_offset <= next_offset`. Entries before the tail's start are in the files and visible.

use crate::files::ReadMode;
use crate::position::{PhyOffset, QueueId, QueueOffset};
use crate::queue::queue_files::QueueFiles;
use crate::queue::tail::Tail;
use crate::queue::{QueueEntry, cut};
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

pub struct ConsumeQueue {
    /// How many wait for messages of this queue. The broker counts; the store only tells it who was appended to.
    pub waiters: AtomicU32,
    id: QueueId,
    topic: Arc<str>,
    /// Tells this queue's open files from those of others, also of one that had its name before.
    pub(super) serial: u64,
    pub(super) files: Arc<QueueFiles>,
    min: AtomicI64,
    next: AtomicI64,
    /// Where the newest entry's record ends. Stored before `next`, so that whoever sees the one sees the other.
    last_end: AtomicI64,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) tail: Tail,
    /// The offset at which the first file begins.
    pub(super) first_file: i64,
    /// The position of the record at the minimum offset; at or after the log's end if there is none.
    pub(super) first_phy: PhyOffset,
    /// Whether the list of queues with something in memory has this one.
    pub(super) active: bool,
    /// Rounds of writing behind since the last push.
    pub(super) idle_rounds: u8,
    /// What is behind the written entries of the last file isn't known to be zeros.
    pub(super) dirty_rest: bool,
    pub(super) removed: bool,
}

/// What loading found out about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first_file: i64,
    pub(super) min: i64,
    pub(super) next: i64,
    pub(super) first_phy: PhyOffset,
    pub(super) last_end: PhyOffset,
}

impl Extent {
    pub(super) const EMPTY: Extent =
        Extent { first_file: 0, min: 0, next: 0, first_phy: PhyOffset(i64::MAX), last_end: PhyOffset(0) };
}

/// A queue that entries are pushed to: with the last of them, when this is dropped, all are there for readers.
pub(crate) struct Pushing<'a> {
    queue: &'a Arc<ConsumeQueue>,
    state: MutexGuard<'a, State>,
    /// Where the record of the last entry ends.
    end: Option<PhyOffset>,
}

impl Pushing<'_> {
    pub fn push(&mut self, entry: QueueEntry) {
        let state = &mut *self.state;
        if state.removed {
            return;
        }
        if self.queue.min.load(Ordering::Relaxed) == state.tail.next() {
            state.first_phy = entry.phy_offset;
        }
        state.tail.push(&entry);
        self.end = Some(entry.end());
    }
}

impl Drop for Pushing<'_> {
    fn drop(&mut self) {
        let Some(end) = self.end else { return };
        let state = &mut *self.state;
        state.idle_rounds = 0;
        self.queue.last_end.store(end.0, Ordering::Release);
        self.queue.next.store(state.tail.next(), Ordering::Release);
        if !state.active {
            state.active = true;
            self.queue.files.activate(Arc::clone(self.queue));
        }
    }
}

impl ConsumeQueue {
    pub(super) fn new(files: Arc<QueueFiles>, topic: Arc<str>, id: QueueId, extent: Extent) -> ConsumeQueue {
        ConsumeQueue {
            waiters: AtomicU32::new(0),
            id,
            topic,
            serial: files.next_serial(),
            min: AtomicI64::new(extent.min),
            next: AtomicI64::new(extent.next),
            last_end: AtomicI64::new(extent.last_end.0),
            state: Mutex::new(State {
                tail: Tail::behind(extent.next),
                first_file: extent.first_file,
                first_phy: extent.first_phy,
                active: false,
                idle_rounds: 0,
                dirty_rest: extent.next % files.file_entries() != 0,
                removed: false,
            }),
            files,
        }
    }

    pub fn topic(&self) -> &str {
        &self.topic
    }

    pub(crate) fn shared_topic(&self) -> Arc<str> {
        Arc::clone(&self.topic)
    }

    pub fn id(&self) -> QueueId {
        self.id
    }

    /// The first offset that can still be read.
    pub fn min_offset(&self) -> QueueOffset {
        QueueOffset(self.min.load(Ordering::Acquire))
    }

    /// One past the newest message that readers may see.
    pub fn max_offset(&self) -> QueueOffset {
        let next = self.next.load(Ordering::Acquire);
        let visible = self.files.visible();
        if self.last_end() <= visible {
            return QueueOffset(next);
        }
        let max = self.state.lock().tail.visible_until(visible);
        QueueOffset(max.max(self.min.load(Ordering::Acquire)))
    }

    /// Where the record of the minimum offset lies; at or behind the log's end if there is none.
    pub(crate) fn first_phy(&self) -> PhyOffset {
        self.state.lock().first_phy
    }

    /// The offset that the next entry gets, seen or not.
    pub fn next_offset(&self) -> QueueOffset {
        QueueOffset(self.next.load(Ordering::Acquire))
    }

    /// Whether the topic was deleted: nothing comes here any more.
    pub fn is_removed(&self) -> bool {
        self.state.lock().removed
    }

    pub(super) fn last_end(&self) -> PhyOffset {
        PhyOffset(self.last_end.load(Ordering::Acquire))
    }

    /// Appends an entry at [`next_offset`](Self::next_offset). One writer at a time, in the order of the log.
    pub fn push(self: &Arc<Self>, entry: QueueEntry) {
        self.pushing().push(entry);
    }

    /// For several entries.
    pub(crate) fn pushing(self: &Arc<Self>) -> Pushing<'_> {
        Pushing { queue: self, state: self.state.lock(), end: None }
    }

    /// Appends the entry of a record found in the log at recovery, in the order of the log; false if the queue has
    /// it already. Offsets that the log no longer has are bridged by filler entries, as the Java server does. A queue
    /// that begins behind `offset` has lost its first entries: it begins anew with this one, and the log brings the
    /// others again. An offset that no file could have is an error of kind `InvalidData`.
    pub fn replay(self: &Arc<Self>, offset: QueueOffset, entry: QueueEntry) -> io::Result<bool> {
        let next = self.next_offset();
        if self.min_offset() <= offset && offset < next {
            return Ok(false);
        }
        if offset != next {
            cut::skip_to(self, offset)?;
        }
        self.push(entry);
        Ok(true)
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
        let end = from.0.saturating_add(i64::try_from(max).unwrap_or(i64::MAX)).min(self.max_offset().0);
        if from < self.min_offset() {
            return Ok(0);
        }
        let before = out.len();
        let mut at = from.0;
        while at < end {
            let written = {
                let state = self.state.lock();
                if at >= state.tail.start() {
                    state.tail.copy(at, end.min(state.tail.next()), out);
                    break;
                }
                state.tail.start()
            };
            match self.files.read(self, at..end.min(written), written, out, mode) {
                Ok(count) => at += count as i64,
                // What was read before is an answer; whoever asks for the rest finds the same error.
                Err(_) if out.len() > before => break,
                // The files went away with a removal of their messages or of the topic since we looked.
                Err(e) if e.kind() == io::ErrorKind::NotFound && from < self.min_offset() => return Ok(0),
                Err(e) => return Err(e),
            }
        }
        Ok(out.len() - before)
    }

    /// The entry at an offset that is in the tail or the files.
    pub(super) fn entry(&self, offset: i64) -> io::Result<QueueEntry> {
        if let Some(entry) = self.state.lock().tail.get(offset) {
            return Ok(entry);
        }
        self.files.read_one(self, offset)
    }

    /// Moves the minimum offset; `first_phy` is the position of its record if it isn't in the tail.
    pub(super) fn set_min(&self, min: i64, first_phy: PhyOffset) {
        let mut state = self.state.lock();
        // It may have been pushed since the caller looked.
        state.first_phy = state.tail.get(min).map_or(first_phy, |entry| entry.phy_offset);
        self.min.store(min, Ordering::Release);
    }

    /// Goes on at a later offset, to which the files were filled; without anything to read before it if `emptied`.
    pub(super) fn jump(&self, next: i64, emptied: bool) {
        let mut state = self.state.lock();
        state.tail = Tail::behind(next);
        self.next.store(next, Ordering::Release);
        if emptied {
            state.first_phy = PhyOffset(i64::MAX);
            self.min.store(next, Ordering::Release);
        }
    }

    /// Ends the queue before `next`; what is in the files behind it is the caller's.
    pub(super) fn set_next(&self, next: i64, last_end: PhyOffset) {
        let mut state = self.state.lock();
        state.tail.truncate(next);
        if self.min.fetch_min(next, Ordering::AcqRel) >= next {
            state.first_phy = PhyOffset(i64::MAX);
        }
        self.last_end.store(last_end.0, Ordering::Release);
        self.next.store(next, Ordering::Release);
    }

    /// Removes a queue that never had an entry, unless somebody waits for one. Who begins to wait and then finds the
    /// queue removed has to look it up again.
    pub(super) fn remove_if_unused(&self) -> bool {
        let mut state = self.state.lock();
        let is_unused = state.tail.next() == 0 && self.waiters.load(Ordering::SeqCst) == 0;
        state.removed |= is_unused;
        is_unused
    }

    /// Lets go of everything; readers find an empty queue from now on, pushes go nowhere.
    pub(super) fn mark_removed(&self) {
        let mut state = self.state.lock();
        state.removed = true;
        let next = state.tail.next();
        state.tail = Tail::behind(next);
        self.min.store(next, Ordering::Release);
    }
}

impl fmt::Debug for ConsumeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}..{}", self.topic, self.id, self.min_offset(), self.next_offset())
    }
}
