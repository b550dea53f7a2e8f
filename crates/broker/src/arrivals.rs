//! Tells those who wait for messages that some have come.

use crate::Broker;
use roxmq_protocol::names;
use roxmq_store::ArrivalListener;
use roxmq_store::ConsumeQueue;
use std::sync::{Arc, Weak};

/// The store outlives nobody by this: it holds the broker weakly.
pub(crate) struct Arrivals(pub(crate) Weak<Broker>);

impl ArrivalListener for Arrivals {
    fn arrived(&self, queue: &Arc<ConsumeQueue>) {
        let Some(broker) = self.0.upgrade() else {
            return;
        };
        match queue.topic() {
            names::SCHEDULE_TOPIC => broker.schedule.arrived(&broker, queue),
            names::TIMER_TOPIC => broker.timers.arrived(),
            _ => {}
        }
        if queue.topic().starts_with(names::REVIVE_TOPIC_PREFIX) {
            broker.pops.revive_topic_arrived();
        }
        broker.holds.arrived(&broker, queue);
        broker.pop_waits.arrived(&broker, queue);
        broker.lite.arrived(queue);
    }
}
