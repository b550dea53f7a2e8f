//! The right to pop from a queue: one pop of a group at a time reads there.

use super::queue::PopQueue;
use crate::Broker;
use roxmq_store::QueueId;
use std::sync::Arc;

/// Ends when it is dropped. Whoever passed the queue by meanwhile is told to look again.
pub(super) struct Claim {
    broker: Arc<Broker>,
    pub(super) queue: Arc<PopQueue>,
}

impl Claim {
    /// None if somebody has it.
    pub(super) fn of(broker: &Arc<Broker>, group: &str, topic: &str, id: QueueId) -> Option<Self> {
        let queue = broker.pops.table.get_or_create(group, topic, id);
        let claimed = queue.state().claim();
        claimed.then(|| Claim { broker: Arc::clone(broker), queue })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let missed = self.queue.state().release();
        if missed {
            let (group, topic) = (&self.queue.group, self.queue.normal_topic());
            self.broker.pop_waits.wake(&self.broker, group, topic, None);
        }
    }
}
