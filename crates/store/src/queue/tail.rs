//! The newest entries of a queue, in memory, as they go to the file.
//!
//! What isn't written yet is always here; what is written may be, for readers. Knows no files.

use crate::position::PhyOffset;
use crate::queue::entry::{EntryBytes, QueueEntry};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Tail {
    entries: VecDeque<EntryBytes>,
    /// The offset of the first of them, or of the next to come.
    start: i64,
    /// The offset of the first that isn't in the file.
    written: i64,
}

impl Tail {
    /// A tail behind what the files hold.
    pub(super) fn behind(written: i64) -> Tail {
        Tail { entries: VecDeque::new(), start: written, written }
    }

    pub(super) fn start(&self) -> i64 {
        self.start
    }

    pub(super) fn written(&self) -> i64 {
        self.written
    }

    pub(super) fn next(&self) -> i64 {
        self.start + self.entries.len() as i64
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn push(&mut self, entry: &QueueEntry) {
        self.entries.push_back(entry.encode());
    }

    pub(super) fn get(&self, offset: i64) -> Option<QueueEntry> {
        let at = usize::try_from(offset - self.start).ok()?;
        self.entries.get(at).map(QueueEntry::decode)
    }

    /// Appends to `out` the entries from `from` to `to`, both in the tail.
    pub(super) fn copy(&self, from: i64, to: i64, out: &mut Vec<QueueEntry>) {
        let range = (from - self.start) as usize..(to - self.start) as usize;
        out.extend(self.entries.range(range).map(QueueEntry::decode));
    }

    /// Replaces `out` by the bytes of the unwritten entries before `to`.
    pub(super) fn unwritten(&self, to: i64, out: &mut Vec<u8>) {
        out.clear();
        let range = (self.written - self.start) as usize..(to.min(self.next()) - self.start) as usize;
        for entry in self.entries.range(range) {
            out.extend_from_slice(entry);
        }
    }

    pub(super) fn set_written(&mut self, written: i64) {
        self.written = written;
    }

    /// One past the last entry whose record ends at or before `visible`.
    pub(super) fn visible_until(&self, visible: PhyOffset) -> i64 {
        self.start + self.entries.partition_point(|bytes| QueueEntry::decode(bytes).end() <= visible) as i64
    }

    /// Frees all but the newest `keep` entries, as far as they are before `limit` and in the file.
    pub(super) fn shrink(&mut self, keep: usize, limit: i64) {
        let free_to = (self.next() - keep as i64).min(limit).min(self.written);
        if free_to <= self.start {
            return;
        }
        self.entries.drain(..(free_to - self.start) as usize);
        self.start = free_to;
        // A burst's room goes back once it is mostly empty; growing again costs little.
        if self.entries.len() * 4 <= self.entries.capacity() {
            self.entries.shrink_to_fit();
        }
    }

    /// Forgets the entries at and behind `next`.
    pub(super) fn truncate(&mut self, next: i64) {
        if next <= self.start {
            *self = Tail::behind(next);
        } else {
            self.entries.truncate((next - self.start) as usize);
            self.written = self.written.min(next);
        }
    }
}
