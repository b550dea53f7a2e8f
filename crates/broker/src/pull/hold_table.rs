//! Pulls that wait for a message: who waits on which queue, and until when.
//!
//! Knows no socket and no clock. A hold is in the table exactly once, and whoever takes it out answers it; so a
//! message, the deadline and a closing connection can race for it and only one of them wins.

use foldhash::HashMap;
use roxmq_store::Millis;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A queue, by the address of its object; the holds keep that object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueKey(pub(crate) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HoldId(u64);

#[derive(Debug)]
struct Held<T> {
    id: HoldId,
    /// The connection that waits for the answer.
    owner: u64,
    deadline: Millis,
    value: T,
}

#[derive(Debug)]
pub(crate) struct HoldTable<T> {
    by_queue: HashMap<QueueKey, SmallVec<[Held<T>; 1]>>,
    /// Every hold once, the next to run out first.
    deadlines: BTreeSet<(Millis, HoldId, QueueKey)>,
    next_id: u64,
    holds_max: usize,
}

impl<T> HoldTable<T> {
    pub(crate) fn new(holds_max: usize) -> Self {
        HoldTable { by_queue: HashMap::default(), deadlines: BTreeSet::new(), next_id: 0, holds_max }
    }

    pub(crate) fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// Puts a hold in, or gives it back if the table is full.
    pub(crate) fn insert(
        &mut self,
        queue: QueueKey,
        owner: u64,
        deadline: Millis,
        value: T,
    ) -> Result<HoldId, T> {
        if self.len() >= self.holds_max {
            return Err(value);
        }
        let id = HoldId(self.next_id);
        self.next_id += 1;
        self.deadlines.insert((deadline, id, queue));
        self.by_queue.entry(queue).or_default().push(Held { id, owner, deadline, value });
        Ok(id)
    }

    /// Takes one hold, if nobody was faster.
    pub(crate) fn take(&mut self, queue: QueueKey, id: HoldId) -> Option<T> {
        let holds = self.by_queue.get_mut(&queue)?;
        let at = holds.iter().position(|held| held.id == id)?;
        let held = holds.swap_remove(at);
        if holds.is_empty() {
            self.by_queue.remove(&queue);
        }
        self.deadlines.remove(&(held.deadline, id, queue));
        Some(held.value)
    }

    /// Takes every hold of a queue, each with its deadline.
    pub(crate) fn take_queue(&mut self, queue: QueueKey) -> SmallVec<[(Millis, T); 1]> {
        let holds = self.by_queue.remove(&queue).unwrap_or_default();
        for held in &holds {
            self.deadlines.remove(&(held.deadline, held.id, queue));
        }
        holds.into_iter().map(|held| (held.deadline, held.value)).collect()
    }

    /// Takes every hold whose time is up.
    pub(crate) fn take_due(&mut self, now: Millis) -> Vec<T> {
        let mut due = Vec::new();
        while let Some(&(deadline, id, queue)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            due.extend(self.take(queue, id));
        }
        due
    }

    /// Takes what a connection has on a queue.
    pub(crate) fn take_owner(&mut self, queue: QueueKey, owner: u64) -> Vec<T> {
        let mine = |held: &Held<T>| (held.owner == owner).then_some(held.id);
        let ids: SmallVec<[HoldId; 4]> =
            self.by_queue.get(&queue).into_iter().flatten().filter_map(mine).collect();
        ids.into_iter().filter_map(|id| self.take(queue, id)).collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.deadlines.clear();
        self.by_queue.drain().flat_map(|(_, holds)| holds).map(|held| held.value).collect()
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|(deadline, ..)| *deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: QueueKey = QueueKey(1);
    const B: QueueKey = QueueKey(2);

    fn table() -> HoldTable<&'static str> {
        let mut table = HoldTable::new(4);
        for (queue, owner, deadline, value) in
            [(A, 1, 300, "a1"), (A, 2, 100, "a2"), (B, 1, 200, "b1"), (B, 1, 200, "b1 again")]
        {
            table.insert(queue, owner, Millis(deadline), value).expect("there is room");
        }
        table
    }

    fn sorted(mut values: Vec<&'static str>) -> Vec<&'static str> {
        values.sort_unstable();
        values
    }

    #[test]
    fn a_message_takes_the_holds_of_its_queue_only() {
        let mut table = table();
        assert_eq!(sorted(table.take_queue(A).into_iter().map(|(_, value)| value).collect()), ["a1", "a2"]);
        assert_eq!(table.len(), 2);
        assert!(table.take_queue(A).is_empty());
        assert_eq!(sorted(table.take_all()), ["b1", "b1 again"]);
        assert_eq!(table.next_deadline(), None);
    }

    #[test]
    fn deadlines_come_in_order_and_never_early() {
        let mut table = table();
        assert_eq!(table.next_deadline(), Some(Millis(100)));
        assert!(table.take_due(Millis(99)).is_empty());
        assert_eq!(table.take_due(Millis(100)), ["a2"]);
        assert_eq!(sorted(table.take_due(Millis(299))), ["b1", "b1 again"]);
        assert_eq!(table.take_due(Millis(i64::MAX)), ["a1"]);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_closed_connection_loses_its_holds_and_no_others() {
        let mut table = table();
        assert_eq!(sorted(table.take_owner(B, 1)), ["b1", "b1 again"]);
        assert_eq!(table.take_owner(A, 1), ["a1"]);
        assert!(table.take_owner(A, 1).is_empty());
        assert_eq!(table.take_due(Millis(1000)), ["a2"]);
    }

    #[test]
    fn one_hold_is_taken_once_and_a_full_table_takes_no_more() {
        let mut table = HoldTable::new(1);
        let id = table.insert(A, 1, Millis(5), "first").expect("there is room");
        assert_eq!(table.insert(A, 1, Millis(5), "second"), Err("second"));
        assert_eq!(table.take(A, id), Some("first"));
        assert_eq!(table.take(A, id), None);
        table.insert(A, 1, Millis(5), "second").expect("there is room again");
    }
}
