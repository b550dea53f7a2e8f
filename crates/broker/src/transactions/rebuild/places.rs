//! Where the half messages lie that may be pending.

use super::PAGE_MAX;
use crate::Broker;
use crate::transactions::HALF_QUEUE;
use roxmq_protocol::names;
use roxmq_store::{ConsumeQueue, PhyOffset, QueueEntry, QueueOffset};
use std::io;

const DONE: i64 = -1;
const GONE: i64 = -2;

pub(super) struct Places {
    pub(super) from: i64,
    /// By queue offset, from `from` on; negative for one that is done or was never there.
    phy_offsets: Vec<i64>,
}

impl Places {
    /// Those from the committed offset on.
    pub(super) fn find(broker: &Broker, queue: &ConsumeQueue) -> io::Result<Self> {
        let (min, max) = (queue.min_offset().0, queue.max_offset().0);
        let committed = broker.offsets.get(names::TRANS_CONSUMER_GROUP, names::TRANS_HALF_TOPIC, HALF_QUEUE);
        let from = committed.unwrap_or(min).clamp(min, max.max(min));
        let mut places = Places { from, phy_offsets: Vec::new() };
        loop {
            let next = QueueOffset(from + places.phy_offsets.len() as i64);
            let entries = broker.store.entries(queue, next, PAGE_MAX)?;
            if entries.is_empty() {
                return Ok(places);
            }
            let place = |entry: &QueueEntry| {
                if entry.is_valid() && !entry.is_filler() { entry.phy_offset.0 } else { GONE }
            };
            places.phy_offsets.extend(entries.iter().map(place));
        }
    }

    /// Marks one as done; false if it isn't among them.
    pub(super) fn take_out(&mut self, offset: i64) -> bool {
        let place = self.index(offset).and_then(|index| self.phy_offsets.get_mut(index));
        place.map(|place| *place = DONE).is_some()
    }

    pub(super) fn is_done(&self, offset: i64) -> bool {
        self.index(offset).and_then(|index| self.phy_offsets.get(index)) == Some(&DONE)
    }

    fn index(&self, offset: i64) -> Option<usize> {
        usize::try_from(offset.checked_sub(self.from)?).ok()
    }

    pub(super) fn first(&self) -> Option<PhyOffset> {
        self.phy_offsets.iter().find(|place| **place >= 0).map(|place| PhyOffset(*place))
    }

    /// The next run of pending ones at or behind an offset: its first, and how many.
    pub(super) fn run(&self, from: i64, max: usize) -> Option<(i64, usize)> {
        let index = usize::try_from(from - self.from).ok()?;
        let rest = self.phy_offsets.get(index..)?;
        let start = rest.iter().position(|place| *place >= 0)?;
        let count = rest[start..].iter().take(max).take_while(|place| **place >= 0).count();
        Some((from + start as i64, count))
    }
}
