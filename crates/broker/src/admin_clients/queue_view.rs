//! A queue as tools see it, also before its first message: its ends, its times, and how far a group is in it.

use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::consume_stats::OffsetWrapper;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_store::read::Boundary;
use roxmq_store::{ConsumeQueue, Millis, QueueId, QueueOffset};
use std::sync::Arc;

pub(crate) struct QueueView<'a> {
    broker: &'a Broker,
    topic: &'a str,
    id: QueueId,
    /// None before the first message.
    queue: Option<Arc<ConsumeQueue>>,
}

impl<'a> QueueView<'a> {
    pub(crate) fn of(broker: &'a Broker, topic: &'a str, id: i32) -> Self {
        let id = QueueId(id);
        QueueView { broker, topic, id, queue: broker.store.queue(topic, id) }
    }

    /// The queue under the name that bodies give it.
    pub(super) fn name(&self) -> MessageQueue {
        MessageQueue::new(self.topic, &self.broker.config().broker_name, self.id.0)
    }

    pub(super) fn min(&self) -> i64 {
        self.queue.as_ref().map_or(0, |queue| queue.min_offset().0)
    }

    pub(super) fn max(&self) -> i64 {
        self.queue.as_ref().map_or(0, |queue| queue.max_offset().0)
    }

    /// When the message of this offset was stored, in ms; none if there is no such message (any more).
    pub(super) fn store_time(&self, offset: i64) -> Result<Option<i64>, Refusal> {
        match &self.queue {
            Some(queue) if (self.min()..self.max()).contains(&offset) => {
                let time = self.broker.store.store_time(queue, QueueOffset(offset))?;
                Ok(time.map(|time| time.0))
            }
            _ => Ok(None),
        }
    }

    /// The offset to go to for a time in ms: of the first message stored then or later, else the end. A negative
    /// time stands for the end.
    pub(super) fn offset_at(&self, time: i64) -> Result<i64, Refusal> {
        match &self.queue {
            Some(queue) if time >= 0 => {
                let offset = self.broker.store.offset_by_time(queue, Millis(time), Boundary::Lower)?;
                Ok(offset.0.max(0))
            }
            _ => Ok(self.max()),
        }
    }

    /// The next offset of the group, if it has one. A reset that the consumer hasn't taken up yet counts already.
    pub(super) fn consumed(&self, group: &str) -> Option<i64> {
        let reset = self.broker.resets.get(group, self.topic, self.id);
        reset.or_else(|| self.broker.offsets.get(group, self.topic, self.id))
    }

    /// The group's next offset, and the first one that it isn't done with: what it has popped and not acknowledged isn't
    /// consumed yet. Offsets beyond the end, left by a topic that was deleted and made again, count as the end: a backlog
    /// is never negative.
    fn reached(&self, group: &str) -> (i64, i64) {
        let next = self.consumed(group).unwrap_or(0).clamp(0, self.max());
        let first_in_flight = self.broker.pops.table.first_pending(group, self.topic, self.id);
        (next, first_in_flight.map_or(next, |first| first.clamp(0, next)))
    }

    /// How many messages the group isn't done with.
    pub(crate) fn lag(&self, group: &str) -> i64 {
        self.max() - self.reached(group).1.max(self.min())
    }

    /// How far the group is.
    pub(super) fn progress(&self, group: &str) -> Result<OffsetWrapper, Refusal> {
        let (next, consumed) = self.reached(group);
        let end = self.max().max(next);
        let pulled = self.broker.offsets.pulled(group, self.topic, self.id).unwrap_or(0).max(next);
        Ok(OffsetWrapper {
            broker_offset: end,
            consumer_offset: consumed,
            last_timestamp: self.store_time(consumed - 1)?.unwrap_or(0),
            pull_offset: pulled.clamp(consumed, end),
        })
    }
}
