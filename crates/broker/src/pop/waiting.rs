//! The pops that wait for messages.

use super::{PopRequest, answer, serve};
use crate::Broker;
use crate::group_waits::{GaveUp, GroupWaits, Limits, Looked, Waiter};
use roxmq_protocol::code::response;
use roxmq_remoting::{Connection, Output};
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

pub(crate) type PopWaits = GroupWaits<PopRequest>;

/// Takes a pop that found nothing: answers it when there is something, or at its deadline. What came between its
/// looking and this call is found by looking once more.
pub(super) fn park(broker: &Arc<Broker>, request: Box<PopRequest>) {
    broker.pop_waits.park(broker, request, limits(broker));
}

/// How many pops may wait.
pub(super) fn limits(broker: &Broker) -> Limits {
    let config = broker.config();
    Limits { of_lane: config.pop_polling_size, of_all: config.max_pop_polling_size }
}

/// Ends the waiting of pops whose time is up. Runs until its task is dropped.
pub(crate) async fn run_deadlines(broker: Arc<Broker>) {
    broker.pop_waits.run_deadlines(&broker).await;
}

impl Broker {
    /// How many pops wait for messages.
    pub fn waiting_pops(&self) -> usize {
        self.pop_waits.len()
    }
}

impl Waiter for PopRequest {
    fn group(&self) -> &str {
        &self.group.group_name
    }

    fn topic(&self) -> &str {
        &self.topic.topic_name
    }

    fn queue_id(&self) -> Option<QueueId> {
        self.queue_id
    }

    fn deadline(&self) -> Millis {
        self.deadline
    }

    fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    fn look(self: Box<Self>, broker: &Arc<Broker>) -> Looked<Self> {
        let connection = Arc::clone(&self.connection);
        let mut output = Output::default();
        let looked = serve(broker, self, &mut output);
        if !output.is_empty() {
            connection.send(output);
        }
        looked
    }

    fn give_up(self: Box<Self>, broker: &Broker, why: GaveUp) {
        let code = match why {
            GaveUp::TimeUp => response::POLLING_TIMEOUT,
            GaveUp::Full => response::POLLING_FULL,
        };
        let mut output = Output::default();
        answer::nothing(broker, &self, code, &mut output);
        self.connection.send(output);
    }
}
