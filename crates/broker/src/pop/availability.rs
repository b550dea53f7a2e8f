//! Whether a pop would find anything, by where its group stands in the queues.

use super::notification::Notification;
use super::order;
use crate::Broker;
use crate::filter::MessageFilter;
use roxmq_protocol::names;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{ReadLimits, ReadStatus};
use roxmq_store::{ConsumeQueue, QueueId, QueueOffset};

pub(super) struct Availability<'a> {
    broker: &'a Broker,
    question: &'a Notification,
}

impl<'a> Availability<'a> {
    pub(super) fn of(broker: &'a Broker, question: &'a Notification) -> Self {
        Availability { broker, question }
    }

    pub(super) fn has_messages(&self) -> bool {
        let wait = &self.question.wait;
        let (group, topic) = (wait.group_name(), wait.topic_name());
        let of_topic = match wait.queue_id {
            Some(queue_id) => self.has(topic, queue_id),
            None => self.has_any(topic),
        };
        // What is popped in order comes again in its own queue.
        let retries = || {
            let retry_topic = |v2| names::pop_retry_topic(topic, group, v2);
            [false, true].into_iter().any(|v2| self.has_any(&retry_topic(v2)))
        };
        of_topic || (!self.question.order && retries())
    }

    fn has_any(&self, topic: &str) -> bool {
        let queues = self.broker.topics.get(topic).map_or(0, |topic| topic.read_queue_nums);
        (0..queues).any(|id| self.has(topic, QueueId(id)))
    }

    fn has(&self, topic: &str, id: QueueId) -> bool {
        let Some(queue) = self.broker.store.queue(topic, id) else { return false };
        if self.question.order && self.is_blocked(topic, id) {
            return false;
        }
        let committed = self.broker.offsets.get(self.question.wait.group_name(), topic, id);
        let position = committed.unwrap_or(0).max(queue.min_offset().0);
        queue.max_offset().0 > position && self.is_wanted(&queue, QueueOffset(position))
    }

    /// Whether an ordered queue gives nothing because of what is out already.
    fn is_blocked(&self, topic: &str, id: QueueId) -> bool {
        let table = &self.broker.pops.table;
        let Some(queue) = table.get(self.question.wait.group_name(), topic, id) else { return false };
        let attempt = self.question.attempt_id.as_deref();
        let now = self.broker.clock.now();
        queue.state().order.as_ref().is_some_and(|out| order::is_blocked(out, attempt, now))
    }

    /// Whether the filter passes any of the messages, as far as one look sees.
    fn is_wanted(&self, queue: &ConsumeQueue, position: QueueOffset) -> bool {
        if let MessageFilter::All = self.question.filter {
            return true;
        }
        const FIRST: ReadLimits = ReadLimits { count_max: 1, bytes_max: 1, scan_max: 800 };
        let (mode, mut record) = (ReadMode::Cached, Vec::new());
        match self.broker.store.read(queue, position, FIRST, &self.question.filter, mode, &mut record) {
            Ok(result) if result.status == ReadStatus::NoMatchedMessage => {
                result.next_offset < result.max_offset
            }
            // What isn't in memory may be wanted, and an error is for the pop to report.
            _ => true,
        }
    }
}
