//! What of one queue is in flight in one group, apart from ordered pops.
//!
//! A batch is here while it has a message that is neither acknowledged nor come again. Every change here stands in
//! the state log already; making one twice is the same as making it once.

use super::batch::{Batch, BatchKey, Messages};
use roxmq_store::Millis;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct InFlight {
    batches: BTreeMap<BatchKey, Batch>,
    /// The same, by when each comes again.
    by_time: BTreeSet<(Millis, BatchKey)>,
    pending: usize,
}

/// What a receipt is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// The message is in flight under this receipt.
    Held(usize),
    /// Its invisible time was changed, and the message is in flight under the receipt of that.
    Moved,
    /// It was acknowledged, came again, or was never given under this receipt.
    Gone,
}

impl InFlight {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Messages that nobody has acknowledged.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&BatchKey, &Batch)> {
        self.batches.iter()
    }

    /// The first offset that nobody has acknowledged.
    pub(crate) fn first_pending(&self) -> Option<i64> {
        // Batches lie in the order of their starts; only a gap can make a later one begin with an earlier message.
        let first = |(key, batch): (&BatchKey, &Batch)| {
            batch.offsets(key.start, batch.pending).next().map(|(_, offset)| offset)
        };
        self.batches.iter().find_map(first)
    }

    /// When the next batch comes again.
    pub(crate) fn next_time(&self) -> Option<Millis> {
        self.by_time.first().map(|(time, _)| *time)
    }

    pub(crate) fn holding(&self, key: BatchKey, offset: i64) -> Holding {
        let Some(batch) = self.batches.get(&key) else {
            return Holding::Gone;
        };
        match batch.index_of(key.start, offset) {
            Some(index) if !batch.pending.and(Messages::one(index)).is_empty() => Holding::Held(index),
            Some(index) if !batch.moved.and(Messages::one(index)).is_empty() => Holding::Moved,
            _ => Holding::Gone,
        }
    }

    /// Which of a batch's messages are in flight, of those at the offsets.
    pub(crate) fn held(&self, key: BatchKey, offsets: impl Iterator<Item = i64>) -> Messages {
        offsets.fold(Messages::default(), |held, offset| match self.holding(key, offset) {
            Holding::Held(index) => held.with(Messages::one(index)),
            Holding::Moved | Holding::Gone => held,
        })
    }

    /// Whether a batch can't be told apart from another by its key.
    pub(crate) fn is_taken(&self, key: BatchKey) -> bool {
        self.batches.contains_key(&key)
    }

    pub(crate) fn revive_queue(&self, key: BatchKey) -> Option<u8> {
        self.batches.get(&key).map(|batch| batch.revive_queue)
    }

    pub(crate) fn insert(&mut self, key: BatchKey, batch: Batch) {
        self.remove(key);
        if batch.is_done() {
            return;
        }
        self.pending += batch.pending.count();
        self.by_time.insert((batch.visible_at, key));
        self.batches.insert(key, batch);
    }

    /// These messages are done with: acknowledged, or put where they come again from.
    pub(crate) fn finish(&mut self, key: BatchKey, messages: Messages) {
        let Some(batch) = self.batches.get_mut(&key) else {
            return;
        };
        self.pending -= batch.pending.and(messages).count();
        batch.pending = batch.pending.without(messages);
        if batch.is_done() {
            self.remove(key);
        }
    }

    /// One message goes into a batch of its own.
    pub(crate) fn move_one(&mut self, from: BatchKey, index: usize, to: BatchKey, batch: Batch) {
        if let Some(old) = self.batches.get_mut(&from) {
            let message = Messages::one(index);
            self.pending -= old.pending.and(message).count();
            old.pending = old.pending.without(message);
            old.moved = old.moved.with(message);
        }
        self.insert(to, batch);
    }

    /// The batches whose time has come, with the messages that nobody acknowledged: of at most `messages_max`
    /// messages, and of one batch at least. A batch without such messages is dropped here.
    pub(crate) fn due(&mut self, now: Millis, messages_max: usize) -> Vec<(BatchKey, Batch)> {
        let mut due = Vec::new();
        let (mut count, mut empty) = (0, Vec::new());
        for (_, key) in self.by_time.iter().take_while(|(time, _)| *time <= now) {
            let Some(batch) = self.batches.get(key) else {
                continue;
            };
            if batch.pending.is_empty() {
                empty.push(*key);
                continue;
            }
            if count >= messages_max {
                break;
            }
            count += batch.pending.count();
            due.push((*key, batch.clone()));
        }
        empty.into_iter().for_each(|key| self.remove(key));
        due
    }

    /// What of these messages is still pending.
    pub(crate) fn still_pending(&self, key: BatchKey, messages: Messages) -> Messages {
        self.batches.get(&key).map_or(Messages::default(), |batch| batch.pending.and(messages))
    }

    fn remove(&mut self, key: BatchKey) {
        if let Some(batch) = self.batches.remove(&key) {
            self.pending -= batch.pending.count();
            self.by_time.remove(&(batch.visible_at, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::Distances;
    use super::*;

    fn key(start: i64, pop_time: i64) -> BatchKey {
        BatchKey { start, pop_time }
    }

    fn batch(count: u8, visible_at: i64) -> Batch {
        Batch::new(Distances::Run(count), Millis(visible_at), 1)
    }

    fn two_batches() -> InFlight {
        let mut flight = InFlight::default();
        flight.insert(key(0, 5), batch(3, 100));
        flight.insert(key(3, 6), batch(2, 50));
        flight
    }

    #[test]
    fn acknowledged_messages_leave_and_their_batch_with_the_last() {
        let mut flight = two_batches();
        assert_eq!((flight.pending(), flight.first_pending()), (5, Some(0)));
        assert_eq!(flight.holding(key(0, 5), 1), Holding::Held(1));
        flight.finish(key(0, 5), Messages(0b011));
        flight.finish(key(0, 5), Messages(0b001));
        assert_eq!((flight.pending(), flight.first_pending()), (3, Some(2)));
        for (at, offset) in [(key(0, 5), 1), (key(0, 6), 0), (key(0, 5), 3), (key(3, 6), 2), (key(9, 9), 9)] {
            assert_eq!(flight.holding(at, offset), Holding::Gone, "{at:?} {offset}");
        }
        flight.finish(key(0, 5), Messages(0b100));
        flight.finish(key(3, 6), Messages(0b11));
        assert!(flight.is_empty());
        assert_eq!((flight.pending(), flight.next_time(), flight.first_pending()), (0, None, None));
    }

    #[test]
    fn batches_come_again_in_the_order_of_their_times() {
        let mut flight = two_batches();
        assert_eq!(flight.next_time(), Some(Millis(50)));
        assert!(flight.due(Millis(49), 100).is_empty());
        let keys = |due: Vec<(BatchKey, Batch)>| due.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(flight.due(Millis(50), 100)), [key(3, 6)]);
        assert_eq!(keys(flight.due(Millis(100), 100)), [key(3, 6), key(0, 5)]);
        assert_eq!(keys(flight.due(Millis(100), 1)), [key(3, 6)]);
        flight.finish(key(3, 6), Messages(0b01));
        assert_eq!(flight.still_pending(key(3, 6), Messages(0b11)), Messages(0b10));
        assert_eq!(flight.still_pending(key(7, 7), Messages(0b11)), Messages(0));
    }

    #[test]
    fn a_moved_message_is_known_under_its_old_receipt_until_that_ran_out() {
        let mut flight = two_batches();
        flight.move_one(key(0, 5), 1, key(1, 7), batch(1, 300));
        assert_eq!(flight.pending(), 5);
        assert_eq!(flight.holding(key(0, 5), 1), Holding::Moved);
        assert_eq!(flight.holding(key(1, 7), 1), Holding::Held(0));
        flight.finish(key(0, 5), Messages(0b101));
        assert_eq!(flight.holding(key(0, 5), 1), Holding::Moved);
        flight.finish(key(3, 6), Messages(0b11));
        assert!(flight.due(Millis(299), 100).is_empty());
        assert_eq!(flight.holding(key(0, 5), 1), Holding::Gone);
        assert_eq!((flight.pending(), flight.next_time()), (1, Some(Millis(300))));
    }

    #[test]
    fn every_change_may_be_made_twice() {
        let mut flight = two_batches();
        flight.insert(key(0, 5), batch(3, 100));
        flight.move_one(key(0, 5), 0, key(0, 8), batch(1, 400));
        flight.move_one(key(0, 5), 0, key(0, 8), batch(1, 400));
        assert_eq!(flight.pending(), 5);
        flight.insert(key(3, 6), batch(2, 50));
        flight.finish(key(3, 6), Messages(0b11));
        flight.finish(key(3, 6), Messages(0b11));
        assert_eq!((flight.pending(), flight.next_time()), (3, Some(Millis(100))));
    }
}
