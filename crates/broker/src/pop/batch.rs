//! The messages that one pop took from one queue.

use roxmq_store::Millis;

/// Messages of one batch at most: each has a bit.
pub(crate) const BATCH_MESSAGES_MAX: usize = 32;

/// How a receipt names a batch: where the pop began to read, and when. Unique in a queue of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchKey {
    pub(crate) start: i64,
    pub(crate) pop_time: i64,
}

/// Which of a batch's messages: the bit of each by its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Messages(pub(crate) u32);

impl Messages {
    pub(crate) const fn first(count: usize) -> Self {
        match count {
            0 => Messages(0),
            1..BATCH_MESSAGES_MAX => Messages((1 << count) - 1),
            _ => Messages(u32::MAX),
        }
    }

    pub(crate) const fn one(index: usize) -> Self {
        Messages(1 << index)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn and(self, other: Messages) -> Self {
        Messages(self.0 & other.0)
    }

    pub(crate) const fn with(self, other: Messages) -> Self {
        Messages(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Messages) -> Self {
        Messages(self.0 & !other.0)
    }

    pub(crate) const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The indexes, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..BATCH_MESSAGES_MAX).filter(move |index| self.0 & (1 << index) != 0)
    }
}

/// The offsets of a batch's messages, ascending, as distances from where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Distances {
    /// 0, 1, 2, … : so many. What a filter passes over makes gaps; mostly there is none.
    Run(u8),
    Each(Box<[u32]>),
}

impl Distances {
    /// Of at most [`BATCH_MESSAGES_MAX`] offsets; what is beyond them, or too far away, is left out.
    pub(crate) fn of(start: i64, offsets: impl Iterator<Item = i64> + Clone) -> Self {
        let offsets = offsets.take(BATCH_MESSAGES_MAX);
        let distances = offsets.filter_map(|offset| u32::try_from(offset.checked_sub(start)?).ok());
        if distances.clone().enumerate().all(|(index, distance)| index as u32 == distance) {
            return Distances::Run(distances.count() as u8);
        }
        Distances::Each(distances.collect())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Distances::Run(count) => usize::from(*count),
            Distances::Each(distances) => distances.len(),
        }
    }

    fn get(&self, index: usize) -> Option<u32> {
        match self {
            Distances::Run(count) => (index < usize::from(*count)).then_some(index as u32),
            Distances::Each(distances) => distances.get(index).copied(),
        }
    }

    fn index_of(&self, distance: u32) -> Option<usize> {
        match self {
            Distances::Run(count) => (distance < u32::from(*count)).then_some(distance as usize),
            Distances::Each(distances) => distances.binary_search(&distance).ok(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) distances: Distances,
    /// When what isn't acknowledged comes again.
    pub(crate) visible_at: Millis,
    /// In the receipts; the Java server looks for acknowledgements in the revive queue of this number.
    pub(crate) revive_queue: u8,
    /// Neither acknowledged nor moved.
    pub(crate) pending: Messages,
    /// Their invisible time was changed: they are in batches of their own, under new receipts.
    pub(crate) moved: Messages,
}

impl Batch {
    pub(crate) fn new(distances: Distances, visible_at: Millis, revive_queue: u8) -> Self {
        let pending = Messages::first(distances.len());
        Batch { distances, visible_at, revive_queue, pending, moved: Messages::default() }
    }

    /// Nothing is left that a receipt could be for.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty() && self.moved.is_empty()
    }

    pub(crate) fn index_of(&self, start: i64, offset: i64) -> Option<usize> {
        let distance = u32::try_from(offset.checked_sub(start)?).ok()?;
        self.distances.index_of(distance)
    }

    /// The offsets of these messages.
    pub(crate) fn offsets(&self, start: i64, messages: Messages) -> impl Iterator<Item = (usize, i64)> + '_ {
        messages.iter().filter_map(move |index| {
            Some((index, start.saturating_add(i64::from(self.distances.get(index)?))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_with_and_without_gaps() {
        let check = |offsets: &[i64], expected: Distances| {
            let distances = Distances::of(10, offsets.iter().copied());
            assert_eq!(distances, expected, "{offsets:?}");
            let batch = Batch::new(distances, Millis(0), 0);
            let back: Vec<_> = batch.offsets(10, batch.pending).collect();
            assert_eq!(back, offsets.iter().copied().enumerate().collect::<Vec<_>>());
            for (index, offset) in back {
                assert_eq!(batch.index_of(10, offset), Some(index));
            }
            for other in [i64::MIN, 9, 15, 11 + offsets.len() as i64 * 7, i64::MAX] {
                assert_eq!(batch.index_of(10, other), None, "{other} of {offsets:?}");
            }
        };
        check(&[], Distances::Run(0));
        check(&[10, 11, 12], Distances::Run(3));
        check(&[11, 12], Distances::Each([1, 2].into()));
        check(&[10, 14, 2000], Distances::Each([0, 4, 1990].into()));
    }

    #[test]
    fn bits() {
        assert_eq!(Messages::first(0), Messages(0));
        assert_eq!(Messages::first(3), Messages(0b111));
        assert_eq!(Messages::first(32), Messages(u32::MAX));
        assert_eq!(Messages(0b1010).iter().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(Messages::first(3).without(Messages::one(1)), Messages(0b101));
        assert_eq!(Messages(u32::MAX).count(), 32);
    }
}
