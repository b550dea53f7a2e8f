//! Finds offsets by the time their records were stored, and the other way round.

use crate::by_position::{int, long};
use crate::core::Core;
use crate::files::ReadMode;
use crate::position::{Millis, QueueOffset};
use crate::queue::ConsumeQueue;
use crate::read::Boundary;
use roxmq_protocol::record::{Layout, offset};
use std::io;

/// Enough of a record to know when it was stored, whatever its hosts' address families.
const HEAD_BYTES: usize = 91;

impl Core {
    pub fn store_time(&self, queue: &ConsumeQueue, at: QueueOffset) -> io::Result<Option<Millis>> {
        let mut entries = Vec::with_capacity(1);
        if queue.read(at, 1, &mut entries, ReadMode::Blocking)? == 0 {
            return Ok(None);
        }
        let place = entries[0].phy_offset.0;
        let mut head = [0; HEAD_BYTES];
        if place < 0 || !self.fill(&mut head, place)? {
            return Ok(None);
        }
        let layout = Layout::of(int(&head, offset::SYS_FLAG));
        Ok(Some(Millis(long(&head, layout.store_timestamp))))
    }

    /// Lower: the first offset stored at the time or later, the maximum if there is none. Upper: the last stored at
    /// the time or earlier, the minimum if there is none.
    pub fn offset_by_time(
        &self,
        queue: &ConsumeQueue,
        time: Millis,
        boundary: Boundary,
    ) -> io::Result<QueueOffset> {
        let (min, max) = (queue.min_offset().0, queue.max_offset().0);
        let is_before = |at: i64| -> io::Result<bool> {
            // What the log no longer has is older than what it has.
            let Some(stored) = self.store_time(queue, QueueOffset(at))? else { return Ok(true) };
            Ok(match boundary {
                Boundary::Lower => stored < time,
                Boundary::Upper => stored <= time,
            })
        };
        let behind = partition_point(min, max, is_before)?;
        Ok(QueueOffset(match boundary {
            Boundary::Lower => behind,
            Boundary::Upper => (behind - 1).max(min),
        }))
    }
}

/// The first of `from..to` that isn't before, all that are coming first.
fn partition_point(from: i64, to: i64, is_before: impl Fn(i64) -> io::Result<bool>) -> io::Result<i64> {
    let (mut from, mut to) = (from, to);
    while from < to {
        let middle = from + (to - from) / 2;
        if is_before(middle)? {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from)
}
