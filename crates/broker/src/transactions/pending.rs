//! The half messages that nobody has decided on, in memory: an entry each, by queue offset and by when to ask next.
//!
//! An entry goes only after the record of its end is in the log: whoever decides claims it, writes, and then settles
//! or releases it. Two lists, one lock; nothing here reads or writes the log.

use super::recent::Recent;
use parking_lot::Mutex;
use roxmq_store::{Millis, PhyOffset};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What becomes of a half message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Commit,
    Rollback,
    /// Nobody decided in time.
    GiveUp,
}

#[derive(Default)]
pub(super) struct PendingTable {
    inner: Mutex<Inner>,
    /// For a look without the lock.
    len: AtomicUsize,
}

#[derive(Default)]
struct Inner {
    by_offset: BTreeMap<i64, Entry>,
    /// When the producer of which entry is asked next. Entries that somebody works on aren't in it.
    by_due: BTreeSet<(Millis, i64)>,
    /// The lowest offsets that appends under way may get.
    appending: Vec<i64>,
    /// Entries that their producer knows under the offset of an earlier record: those that a Java server wrote again.
    aliases: BTreeMap<i64, i64>,
    recent: Recent,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    phy_offset: PhyOffset,
    due: Millis,
    checks: u32,
    claimed: bool,
}

/// A half message that waits for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) offset: i64,
    pub(super) phy_offset: PhyOffset,
    /// When its producer is asked next.
    pub(super) due: Millis,
    /// How often it has been asked.
    pub(super) checks: u32,
}

/// Where the half messages begin that aren't done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) offset: i64,
    /// Where the first one lies; none if there is none, or if it is only being appended.
    pub(super) place: Option<PhyOffset>,
    /// Nothing is pending: this is the end of the queue.
    pub(super) is_all: bool,
}

/// Why nobody can decide on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclaimed {
    /// It was decided on before.
    Decided(Decision),
    /// Somebody is deciding at this moment.
    Claimed,
    /// It was decided long ago, or never was one.
    Unknown,
    /// The half message of this queue offset lies elsewhere.
    Elsewhere,
}

/// Appends under way, which count as pending as long as this lives.
pub(crate) struct Appending<'a> {
    table: &'a PendingTable,
    first: i64,
}

impl Drop for Appending<'_> {
    fn drop(&mut self) {
        let appending = &mut self.table.inner.lock().appending;
        if let Some(at) = appending.iter().position(|first| *first == self.first) {
            appending.swap_remove(at);
        }
    }
}

impl PendingTable {
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// `next` gives the next offset of the half topic's queue.
    pub(super) fn appending(&self, next: impl FnOnce() -> i64) -> Appending<'_> {
        let mut inner = self.inner.lock();
        let first = next();
        inner.appending.push(first);
        Appending { table: self, first }
    }

    pub(super) fn insert(&self, offset: i64, phy_offset: PhyOffset, due: Millis, checks: u32) {
        let mut inner = self.inner.lock();
        inner.by_offset.insert(offset, Entry { phy_offset, due, checks, claimed: false });
        inner.by_due.insert((due, offset));
        self.len.store(inner.by_offset.len(), Ordering::Relaxed);
    }

    /// The producer of the half message at `offset` knows it as the one at `first`.
    pub(super) fn add_alias(&self, first: i64, offset: i64) {
        self.inner.lock().aliases.insert(first, offset);
    }

    /// The right to decide on the half message that a producer knows by these places. It is to be settled or released
    /// under the offset that this gives.
    pub(super) fn claim(&self, offset: i64, phy_offset: PhyOffset) -> Result<Waiting, Unclaimed> {
        let mut inner = self.inner.lock();
        let known = inner.aliases.get(&offset).copied();
        let actual = known.unwrap_or(offset);
        let Some(entry) = inner.by_offset.get_mut(&actual) else {
            return Err(inner.recent.get(offset).map_or(Unclaimed::Unknown, Unclaimed::Decided));
        };
        if known.is_none() && entry.phy_offset != phy_offset {
            return Err(Unclaimed::Elsewhere);
        }
        if std::mem::replace(&mut entry.claimed, true) {
            return Err(Unclaimed::Claimed);
        }
        let waiting = entry.waiting(actual);
        inner.by_due.remove(&(waiting.due, actual));
        Ok(waiting)
    }

    /// The end of a claimed half message is in the log.
    pub(super) fn settle(&self, offset: i64, decision: Decision) {
        let mut inner = self.inner.lock();
        if inner.by_offset.remove(&offset).is_none() {
            return;
        }
        inner.recent.note(offset, decision);
        if !inner.aliases.is_empty() {
            let known: Vec<i64> = inner
                .aliases
                .iter()
                .filter(|(_, actual)| **actual == offset)
                .map(|(first, _)| *first)
                .collect();
            for first in known {
                inner.aliases.remove(&first);
                inner.recent.note(first, decision);
            }
        }
        self.len.store(inner.by_offset.len(), Ordering::Relaxed);
    }

    /// The log didn't take the end of a claimed half message: it waits as before.
    pub(super) fn release(&self, offset: i64) {
        let mut inner = self.inner.lock();
        let Some(entry) = inner.by_offset.get_mut(&offset) else { return };
        entry.claimed = false;
        let due = entry.due;
        inner.by_due.insert((due, offset));
    }

    /// Takes those that are due, the longest due first. Each is to be put off or claimed.
    pub(super) fn take_due(&self, now: Millis, max: usize) -> Vec<Waiting> {
        let mut inner = self.inner.lock();
        let mut due = Vec::new();
        while due.len() < max
            && let Some(&(time, offset)) = inner.by_due.first()
            && time <= now
        {
            inner.by_due.pop_first();
            due.extend(inner.by_offset.get(&offset).map(|entry| entry.waiting(offset)));
        }
        due
    }

    /// Notes when to ask next and how often that was done; nothing if it isn't pending any more.
    pub(super) fn put_off(&self, offset: i64, due: Millis, checks: u32) {
        let mut inner = self.inner.lock();
        let Some(entry) = inner.by_offset.get_mut(&offset) else { return };
        let before = std::mem::replace(&mut entry.due, due);
        entry.checks = checks;
        let claimed = entry.claimed;
        inner.by_due.remove(&(before, offset));
        if !claimed {
            inner.by_due.insert((due, offset));
        }
    }

    /// Whether nobody has begun to decide on it.
    pub(super) fn is_undecided(&self, offset: i64) -> bool {
        self.inner.lock().by_offset.get(&offset).is_some_and(|entry| !entry.claimed)
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.inner.lock().by_due.first().map(|(due, _)| *due)
    }

    /// The lowest offset that is pending or may be about to be; `next` gives the queue's next offset.
    pub(super) fn first(&self, next: impl FnOnce() -> i64) -> First {
        let inner = self.inner.lock();
        let appending = inner.appending.iter().min().copied();
        let waiting = inner.by_offset.first_key_value();
        match (waiting, appending) {
            (Some((offset, entry)), appending) if appending.is_none_or(|other| *offset <= other) => {
                First { offset: *offset, place: Some(entry.phy_offset), is_all: false }
            }
            (_, Some(offset)) => First { offset, place: None, is_all: false },
            (_, None) => First { offset: next(), place: None, is_all: true },
        }
    }

    /// Those from an offset on, in order.
    pub(super) fn page(&self, from: i64, max: usize) -> Vec<Waiting> {
        let inner = self.inner.lock();
        inner.by_offset.range(from..).take(max).map(|(offset, entry)| entry.waiting(*offset)).collect()
    }
}

impl Entry {
    fn waiting(self, offset: i64) -> Waiting {
        Waiting { offset, phy_offset: self.phy_offset, due: self.due, checks: self.checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(offsets: &[i64]) -> PendingTable {
        let table = PendingTable::default();
        for offset in offsets {
            table.insert(*offset, PhyOffset(offset * 100), Millis(offset * 10), 0);
        }
        table
    }

    fn offsets(waiting: &[Waiting]) -> Vec<i64> {
        waiting.iter().map(|waiting| waiting.offset).collect()
    }

    #[test]
    fn the_first_decision_is_the_only_one() {
        let table = table(&[5]);
        let claim = |phy: i64| table.claim(5, PhyOffset(phy)).map(|waiting| waiting.offset);
        assert_eq!(claim(501), Err(Unclaimed::Elsewhere));
        assert_eq!(claim(500), Ok(5));
        assert_eq!(claim(500), Err(Unclaimed::Claimed));
        table.release(5);
        assert_eq!(claim(500), Ok(5));
        table.settle(5, Decision::Rollback);
        assert_eq!(claim(500), Err(Unclaimed::Decided(Decision::Rollback)));
        assert_eq!(table.claim(6, PhyOffset(600)), Err(Unclaimed::Unknown));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn what_is_due_is_taken_once_and_comes_again_when_it_was_put_off() {
        let table = table(&[1, 2, 3, 4]);
        table.claim(2, PhyOffset(200)).expect("pending");
        assert_eq!(offsets(&table.take_due(Millis(30), 9)), [1, 3]);
        assert!(table.take_due(Millis(30), 9).is_empty());
        assert_eq!(table.next_due(), Some(Millis(40)));
        table.put_off(3, Millis(35), 1);
        table.settle(1, Decision::Commit);
        table.put_off(1, Millis(35), 1);
        assert_eq!(offsets(&table.take_due(Millis(50), 1)), [3]);
        assert_eq!(offsets(&table.take_due(Millis(50), 1)), [4]);
        // Released after its time, it is due at once.
        table.release(2);
        assert_eq!(offsets(&table.take_due(Millis(50), 9)), [2]);
        assert!(table.is_undecided(2) && !table.is_undecided(1));
    }

    #[test]
    fn what_is_put_off_while_somebody_decides_comes_again_when_it_is_released() {
        let table = table(&[1]);
        assert_eq!(offsets(&table.take_due(Millis(10), 9)), [1]);
        table.claim(1, PhyOffset(100)).expect("pending");
        table.put_off(1, Millis(40), 1);
        assert_eq!(table.next_due(), None);
        table.release(1);
        assert_eq!(table.next_due(), Some(Millis(40)));
    }

    #[test]
    fn what_is_being_appended_counts_as_pending() {
        let table = table(&[7, 9]);
        let appending = table.appending(|| 5);
        let later = table.appending(|| 8);
        let first = || {
            let First { offset, place, is_all } = table.first(|| 12);
            (offset, place, is_all)
        };
        assert_eq!(first(), (5, None, false));
        drop(appending);
        assert_eq!(first(), (7, Some(PhyOffset(700)), false));
        table.settle(7, Decision::Commit);
        assert_eq!(first(), (8, None, false));
        drop(later);
        table.settle(9, Decision::Commit);
        assert_eq!(first(), (12, None, true));
    }

    #[test]
    fn a_producer_may_know_a_half_message_by_an_earlier_offset() {
        let table = table(&[8]);
        table.add_alias(3, 8);
        let claimed = table.claim(3, PhyOffset(300)).expect("pending");
        assert_eq!(claimed.offset, 8);
        table.settle(8, Decision::Commit);
        for offset in [3, 8] {
            assert_eq!(
                table.claim(offset, PhyOffset(0)),
                Err(Unclaimed::Decided(Decision::Commit)),
                "{offset}"
            );
        }
    }
}
