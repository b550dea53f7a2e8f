//! Where a pop begins to read a queue.

use super::Taking;
use crate::offset_requests::starts_at_zero;
use roxmq_protocol::receipt::PopOrigin;
use roxmq_store::QueueId;
use std::io;

impl Taking<'_> {
    /// Where an operator has set the group to, if it isn't there yet.
    pub(super) fn reset(&self, topic: &str, id: QueueId) -> Option<i64> {
        if !self.config.use_server_side_reset_offset {
            return None;
        }
        self.broker.resets.get(self.request.wait.group_name(), topic, id)
    }

    /// Where the group goes on in the queue; a group that is new to it begins there.
    pub(super) fn position(&self, topic: &str, id: QueueId) -> io::Result<i64> {
        let (broker, group) = (self.broker, self.request.wait.group_name());
        if let Some(offset) = self.reset(topic, id) {
            return Ok(offset);
        }
        if let Some(offset) = broker.offsets.get(group, topic, id).filter(|offset| *offset >= 0) {
            return Ok(offset);
        }
        let first = self.first_position(topic, id)?;
        broker.offsets.commit(group, topic, id, first);
        Ok(first)
    }

    fn first_position(&self, topic: &str, id: QueueId) -> io::Result<i64> {
        let Some(queue) = self.broker.store.queue(topic, id) else { return Ok(0) };
        let from_end = self.request.from_end && PopOrigin::of(topic) == PopOrigin::Topic;
        if !from_end {
            return Ok(queue.min_offset().0);
        }
        let young =
            self.config.init_pop_offset_by_check_msg_in_mem && starts_at_zero(self.broker, topic, id)?;
        // The last message comes, too.
        Ok(if young { 0 } else { (queue.max_offset().0 - 1).max(0) })
    }
}
