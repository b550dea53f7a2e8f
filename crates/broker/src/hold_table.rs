//! Requests that wait: each under a key, until a deadline, for whoever asked.
//!
//! Knows no socket and no clock. A hold is in the table at most once, and whoever takes it out answers it or puts it
//! back; so a message, the deadline and a closing connection can race for it and only one of them wins.

use foldhash::HashMap;
use roxmq_store::Millis;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// Holds in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HoldId(u64);

/// Who waits for an answer: a request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asker {
    pub(crate) connection: u64,
    pub(crate) opaque: i32,
}

/// What decides when it is a hold's turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) id: HoldId,
    asker: Asker,
    pub(crate) deadline: Millis,
}

#[derive(Debug)]
pub(crate) struct Held<T> {
    pub(crate) turn: Turn,
    pub(crate) value: T,
}

#[derive(Debug)]
pub(crate) struct HoldTable<K, T> {
    /// The holds of each key in order of their ids.
    by_key: HashMap<K, SmallVec<[Held<T>; 1]>>,
    /// Every hold once, the next to run out first.
    deadlines: BTreeSet<(Millis, HoldId, K)>,
    /// Every hold once, by who waits for it.
    askers: BTreeMap<(Asker, HoldId), K>,
    next_id: u64,
    holds_max: usize,
}

impl<K: Copy + Ord + Hash, T> HoldTable<K, T> {
    pub(crate) fn new(holds_max: usize) -> Self {
        HoldTable {
            by_key: HashMap::default(),
            deadlines: BTreeSet::new(),
            askers: BTreeMap::new(),
            next_id: 0,
            holds_max,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// How many wait under a key.
    pub(crate) fn count(&self, key: K) -> usize {
        self.by_key.get(&key).map_or(0, SmallVec::len)
    }

    /// Puts a hold in, or gives it back if the table is full.
    pub(crate) fn insert(&mut self, key: K, asker: Asker, deadline: Millis, value: T) -> Result<HoldId, T> {
        if self.len() >= self.holds_max {
            return Err(value);
        }
        let turn = self.new_turn(asker, deadline);
        self.put_back(key, Held { turn, value });
        Ok(turn.id)
    }

    /// A turn after all others, for a hold that is put in later.
    pub(crate) fn new_turn(&mut self, asker: Asker, deadline: Millis) -> Turn {
        let id = HoldId(self.next_id);
        self.next_id += 1;
        Turn { id, asker, deadline }
    }

    /// Puts a hold that was taken where it was.
    pub(crate) fn put_back(&mut self, key: K, held: Held<T>) {
        let Turn { id, asker, deadline } = held.turn;
        self.deadlines.insert((deadline, id, key));
        self.askers.insert((asker, id), key);
        let holds = self.by_key.entry(key).or_default();
        let at = holds.partition_point(|other| other.turn.id < id);
        holds.insert(at, held);
    }

    /// Takes one hold, if nobody was faster.
    pub(crate) fn take(&mut self, key: K, id: HoldId) -> Option<Held<T>> {
        let at = self.by_key.get(&key)?.binary_search_by_key(&id, |held| held.turn.id).ok()?;
        self.take_at(key, at)
    }

    /// Takes the hold that has waited under the key for longest.
    pub(crate) fn take_first(&mut self, key: K) -> Option<Held<T>> {
        self.take_at(key, 0)
    }

    fn take_at(&mut self, key: K, at: usize) -> Option<Held<T>> {
        let holds = self.by_key.get_mut(&key)?;
        let held = holds.remove(at);
        if holds.is_empty() {
            self.by_key.remove(&key);
        }
        self.forget(key, held.turn);
        Some(held)
    }

    /// A hold has left its key.
    fn forget(&mut self, key: K, turn: Turn) {
        self.deadlines.remove(&(turn.deadline, turn.id, key));
        self.askers.remove(&(turn.asker, turn.id));
    }

    /// Takes every hold of a key, each with its deadline.
    pub(crate) fn take_key(&mut self, key: K) -> SmallVec<[(Millis, T); 1]> {
        let holds = self.by_key.remove(&key).unwrap_or_default();
        for held in &holds {
            self.forget(key, held.turn);
        }
        holds.into_iter().map(|held| (held.turn.deadline, held.value)).collect()
    }

    /// Takes every hold whose time is up.
    pub(crate) fn take_due(&mut self, now: Millis) -> Vec<(K, T)> {
        let mut due = Vec::new();
        while let Some(&(deadline, id, key)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            due.extend(self.take(key, id).map(|held| (key, held.value)));
        }
        due
    }

    /// Takes every hold of a connection.
    pub(crate) fn take_connection(&mut self, connection: u64) -> Vec<(K, T)> {
        let asker = |opaque| Asker { connection, opaque };
        self.take_asked(asker(i32::MIN), asker(i32::MAX))
    }

    /// Takes the hold of a request.
    pub(crate) fn take_request(&mut self, asker: Asker) -> Vec<(K, T)> {
        self.take_asked(asker, asker)
    }

    fn take_asked(&mut self, first: Asker, last: Asker) -> Vec<(K, T)> {
        let asked = self.askers.range((first, HoldId(0))..=(last, HoldId(u64::MAX)));
        let asked: Vec<(HoldId, K)> = asked.map(|((_, id), key)| (*id, *key)).collect();
        let take = |(id, key)| self.take(key, id).map(|held| (key, held.value));
        asked.into_iter().filter_map(take).collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<(K, T)> {
        self.take_due(Millis(i64::MAX))
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|(deadline, ..)| *deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: char = 'a';
    const B: char = 'b';

    fn asker(connection: u64, opaque: i32) -> Asker {
        Asker { connection, opaque }
    }

    fn table() -> HoldTable<char, &'static str> {
        let mut table = HoldTable::new(4);
        for (key, asker, deadline, value) in [
            (A, asker(1, 7), 300, "a1"),
            (A, asker(2, 7), 100, "a2"),
            (B, asker(1, 8), 200, "b1"),
            (B, asker(1, -9), 200, "b1 again"),
        ] {
            table.insert(key, asker, Millis(deadline), value).expect("there is room");
        }
        table
    }

    fn values(taken: Vec<(char, &'static str)>) -> Vec<&'static str> {
        taken.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn all_holds_of_a_key_are_taken_in_order_and_no_others() {
        let mut table = table();
        let taken: Vec<_> = table.take_key(A).into_iter().collect();
        assert_eq!(taken, [(Millis(300), "a1"), (Millis(100), "a2")]);
        assert_eq!(table.len(), 2);
        assert!(table.take_key(A).is_empty());
        assert_eq!(values(table.take_all()), ["b1", "b1 again"]);
        assert_eq!(table.next_deadline(), None);
    }

    #[test]
    fn deadlines_come_in_order_and_never_early() {
        let mut table = table();
        assert_eq!(table.next_deadline(), Some(Millis(100)));
        assert!(table.take_due(Millis(99)).is_empty());
        assert_eq!(table.take_due(Millis(100)), [(A, "a2")]);
        assert_eq!(table.take_due(Millis(299)), [(B, "b1"), (B, "b1 again")]);
        assert_eq!(values(table.take_due(Millis(i64::MAX))), ["a1"]);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_closed_connection_loses_its_holds_and_no_others() {
        let mut table = table();
        assert_eq!(table.take_connection(1), [(B, "b1 again"), (A, "a1"), (B, "b1")]);
        assert!(table.take_connection(1).is_empty());
        assert!(table.take_connection(3).is_empty());
        assert_eq!(values(table.take_due(Millis(1000))), ["a2"]);
    }

    #[test]
    fn a_request_loses_its_hold_and_no_other() {
        let mut table = table();
        assert_eq!(table.take_request(asker(1, 8)), [(B, "b1")]);
        assert!(table.take_request(asker(1, 8)).is_empty());
        assert!(table.take_request(asker(2, 8)).is_empty());
        assert_eq!(values(table.take_all()), ["a2", "b1 again", "a1"]);
    }

    #[test]
    fn one_hold_is_taken_once_and_a_full_table_takes_no_more() {
        let mut table = HoldTable::new(1);
        let id = table.insert(A, asker(1, 7), Millis(5), "first").expect("there is room");
        assert_eq!(table.insert(A, asker(1, 7), Millis(5), "second"), Err("second"));
        assert_eq!(table.take(A, id).map(|held| held.value), Some("first"));
        assert!(table.take(A, id).is_none());
        table.insert(A, asker(1, 7), Millis(5), "second").expect("there is room again");
    }

    #[test]
    fn who_waits_for_longest_is_first_and_keeps_its_place() {
        let mut table = table();
        assert_eq!((table.count(A), table.count('c')), (2, 0));
        let first = table.take_first(A).expect("a hold");
        assert_eq!(first.value, "a1");
        table.put_back(A, first);
        let first = table.take_first(A).expect("a hold");
        let second = table.take_first(A).expect("a hold");
        assert_eq!((first.value, second.value), ("a1", "a2"));
        assert!(table.take_first(A).is_none());
        table.put_back(A, second);
        table.put_back(A, first);
        assert_eq!(table.take_first(A).map(|held| held.value), Some("a1"));
        assert_eq!(table.take_due(Millis(100)), [(A, "a2")]);
    }
}
