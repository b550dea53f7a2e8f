//! The messages of one lite topic that are out for one group, as they were given in the last pop.
//!
//! Values only. While one of them is out and its time isn't up, nothing else of the lite topic is given; then the pop
//! that comes next starts with the first that wasn't acknowledged.

use roxmq_store::Millis;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pop_time: i64,
    attempt_id: Option<Box<str>>,
    /// In order of their offsets, without a gap.
    messages: Vec<Out>,
    /// Acknowledged messages behind the first that isn't, from earlier pops.
    done: BTreeSet<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Out {
    offset: i64,
    acked: bool,
    /// How often it was given before.
    count: i32,
    /// When it may be given again.
    visible: Millis,
}

/// What an acknowledgement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acked {
    /// The group goes on at this offset.
    Next(i64),
    /// The message was given again since, or is done with.
    Late,
}

impl Order {
    /// After a pop of these offsets, of which some may have been given in the one before.
    pub(super) fn after(
        before: Option<&Order>,
        offsets: impl IntoIterator<Item = i64>,
        pop_time: Millis,
        visible: Millis,
        attempt_id: Option<Box<str>>,
    ) -> Order {
        let out = |offset| Out {
            offset,
            acked: false,
            count: before.map_or(0, |order| order.count_of(offset)),
            visible,
        };
        let messages: Vec<Out> = offsets.into_iter().map(out).collect();
        let last = messages.last().map_or(i64::MIN, |out| out.offset);
        let done = before.into_iter().flat_map(Order::acked).filter(|offset| *offset > last).collect();
        Order { pop_time: pop_time.0, attempt_id, messages, done }
    }

    fn count_of(&self, offset: i64) -> i32 {
        let before = self.messages.iter().find(|out| out.offset == offset && !out.acked);
        before.map_or(0, |out| out.count.saturating_add(1))
    }

    fn acked(&self) -> impl Iterator<Item = i64> + '_ {
        let acked = self.messages.iter().filter(|out| out.acked).map(|out| out.offset);
        acked.chain(self.done.iter().copied())
    }

    /// How often each message was given before.
    pub(super) fn counts(&self) -> impl Iterator<Item = i32> + '_ {
        self.messages.iter().map(|out| out.count)
    }

    /// Whether nothing may be given now. The same attempt gets its messages again.
    pub(super) fn blocks(&self, attempt_id: Option<&str>, now: Millis) -> bool {
        let is_same = attempt_id.is_some() && attempt_id == self.attempt_id.as_deref();
        !is_same && self.free_at().is_some_and(|free_at| now < free_at)
    }

    /// When it stops to block; none if all is acknowledged.
    pub(super) fn free_at(&self) -> Option<Millis> {
        self.messages.iter().filter(|out| !out.acked).map(|out| out.visible).max()
    }

    pub(super) fn is_attempt(&self, attempt_id: &str) -> bool {
        self.attempt_id.as_deref() == Some(attempt_id)
    }

    /// How many messages from the offset on may be given before one that was acknowledged.
    pub(super) fn run_from(&self, offset: i64) -> usize {
        let next = self.acked().filter(|acked| *acked >= offset).min();
        next.map_or(usize::MAX, |next| usize::try_from(next - offset).unwrap_or(usize::MAX))
    }

    pub(super) fn ack(&mut self, offset: i64, pop_time: i64) -> Acked {
        let Some(out) = self.out(offset, pop_time) else { return Acked::Late };
        out.acked = true;
        Acked::Next(self.next())
    }

    /// The first offset that isn't acknowledged.
    fn next(&self) -> i64 {
        if let Some(first) = self.messages.iter().find(|out| !out.acked) {
            return first.offset;
        }
        let mut next = self.messages.last().map_or(0, |out| out.offset + 1);
        while self.done.contains(&next) {
            next += 1;
        }
        next
    }

    /// Changes when a message may be given again; false if it was given again since.
    pub(super) fn change(&mut self, offset: i64, pop_time: i64, visible: Millis) -> bool {
        let out = self.out(offset, pop_time);
        out.is_some_and(|out| {
            out.visible = visible;
            true
        })
    }

    /// Holds everything back until then, without counting that as an attempt.
    pub(super) fn suspend(&mut self, pop_time: i64, visible: Millis) -> bool {
        if self.pop_time != pop_time {
            return false;
        }
        for out in &mut self.messages {
            out.visible = visible;
            out.count = (out.count - 1).max(0);
        }
        true
    }

    fn out(&mut self, offset: i64, pop_time: i64) -> Option<&mut Out> {
        if self.pop_time != pop_time {
            return None;
        }
        self.messages.iter_mut().find(|out| out.offset == offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(before: Option<&Order>, offsets: std::ops::Range<i64>, now: i64) -> Order {
        Order::after(before, offsets, Millis(now), Millis(now + 100), Some("a".into()))
    }

    #[test]
    fn it_blocks_until_all_are_acknowledged_or_their_time_is_up() {
        let mut order = order(None, 5..7, 1000);
        let check = |order: &Order, attempt, now, expected| {
            assert_eq!(order.blocks(attempt, Millis(now)), expected, "{attempt:?} at {now}");
        };
        check(&order, None, 1000, true);
        check(&order, Some("b"), 1099, true);
        check(&order, Some("a"), 1000, false);
        check(&order, None, 1100, false);
        assert!(order.change(6, 1000, Millis(1500)));
        check(&order, None, 1499, true);
        assert_eq!(order.ack(6, 1000), Acked::Next(5));
        check(&order, None, 1100, false);
        assert_eq!(order.ack(5, 1000), Acked::Next(7));
        check(&order, None, 1000, false);
        assert_eq!(order.free_at(), None);
    }

    #[test]
    fn late_acknowledgements_change_nothing() {
        let mut order = order(None, 5..7, 1000);
        assert_eq!(order.ack(5, 999), Acked::Late);
        assert_eq!(order.ack(9, 1000), Acked::Late);
        assert!(!order.change(5, 999, Millis(1)));
        assert!(!order.suspend(999, Millis(1)));
        assert_eq!(order.ack(5, 1000), Acked::Next(6));
    }

    #[test]
    fn what_comes_again_is_counted_and_what_was_acknowledged_is_left_out() {
        let mut first = order(None, 0..5, 1000);
        assert_eq!(first.counts().collect::<Vec<_>>(), [0; 5]);
        for offset in [0, 2, 3] {
            first.ack(offset, 1000);
        }
        assert_eq!(first.run_from(1), 1);
        let mut second = order(Some(&first), 1..2, 2000);
        assert_eq!(second.counts().collect::<Vec<_>>(), [1]);
        assert_eq!(second.ack(1, 2000), Acked::Next(4));
        assert_eq!(second.run_from(4), usize::MAX);
        let third = order(Some(&second), 4..9, 3000);
        assert_eq!(third.counts().collect::<Vec<_>>(), [0; 5]);
    }

    #[test]
    fn a_suspension_is_no_attempt() {
        let first = order(None, 0..2, 1000);
        let mut second = order(Some(&first), 0..2, 2000);
        assert!(second.suspend(2000, Millis(9000)));
        assert_eq!(second.counts().collect::<Vec<_>>(), [0, 0]);
        assert!(second.blocks(None, Millis(8999)));
    }
}
