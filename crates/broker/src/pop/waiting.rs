//! Who waits for a group's messages: pops, and those who only ask whether there are any.

use super::deferred::{self, WakeUp};
use super::notification::Notification;
use super::{PopRequest, answer, serve};
use crate::Broker;
use crate::group_waits::{GaveUp, GroupWaits, Limits, Looked, Wait, Waiter};
use crate::hold_table::Asker;
use roxmq_protocol::code::response;
use roxmq_remoting::Output;
use roxmq_store::{ConsumeQueue, QueueId};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct PopWaits {
    pops: GroupWaits<PopRequest>,
    notifications: GroupWaits<Notification>,
}

impl PopWaits {
    /// Takes a pop that found nothing: answers it when there is something, or at its deadline. What came between its
    /// looking and this call is found by looking once more.
    pub(super) fn park(&self, broker: &Arc<Broker>, request: Box<PopRequest>) {
        self.pops.park(broker, request, limits(broker));
    }

    pub(super) fn park_notification(&self, broker: &Arc<Broker>, request: Box<Notification>) {
        self.notifications.park(broker, request, limits(broker));
    }

    /// Messages have come to the queue.
    pub(crate) fn arrived(&self, broker: &Arc<Broker>, queue: &Arc<ConsumeQueue>) {
        deferred::busy(broker, || {
            self.pops.arrived(broker, queue);
            self.notifications.arrived(broker, queue);
        });
    }

    /// There may be something for the group in a queue of the topic (never a retry topic's: the topic they belong to),
    /// or in any: an invisible time ended, an ordered queue is free again, or a pop left some behind.
    pub(crate) fn wake(&self, broker: &Arc<Broker>, group: &str, topic: &str, queue_id: Option<QueueId>) {
        let wake_up = || WakeUp { group: group.into(), topic: topic.into(), queue_id };
        if !deferred::defer(wake_up) {
            deferred::busy(broker, || self.wake_now(broker, group, topic, queue_id));
        }
    }

    pub(super) fn wake_now(&self, broker: &Arc<Broker>, group: &str, topic: &str, queue_id: Option<QueueId>) {
        self.pops.wake(broker, group, topic, queue_id);
        self.notifications.wake(broker, group, topic, queue_id);
    }

    /// How many pops wait for the queue, or for any.
    pub(super) fn count(&self, group: &str, topic: &str, queue_id: Option<QueueId>) -> usize {
        self.pops.count(group, topic, queue_id)
    }

    /// Nobody reads the answers any more.
    pub(crate) fn drop_connection(&self, connection: u64) {
        self.pops.drop_connection(connection);
        self.notifications.drop_connection(connection);
    }

    /// Nobody wants what the request waits for.
    pub(crate) fn call_off(&self, broker: &Broker, asker: Asker) {
        self.pops.call_off(broker, asker);
        self.notifications.call_off(broker, asker);
    }

    /// Ends the waiting for a topic that is gone.
    pub(crate) fn finish_topic(&self, broker: &Broker, topic: &str) {
        self.pops.finish_topic(broker, topic);
        self.notifications.finish_topic(broker, topic);
    }

    /// Ends the waiting of a group that is gone.
    pub(crate) fn finish_group(&self, broker: &Broker, group: &str) {
        self.pops.finish_group(broker, group);
        self.notifications.finish_group(broker, group);
    }

    /// Ends all waiting for good, as if every deadline had come.
    pub(crate) fn finish_all(&self, broker: &Broker) {
        self.pops.finish_all(broker);
        self.notifications.finish_all(broker);
    }
}

fn limits(broker: &Broker) -> Limits {
    let config = broker.config();
    Limits { of_lane: config.pop_polling_size, of_all: config.max_pop_polling_size }
}

/// Ends the waiting of those whose time is up. Runs until its task is dropped.
pub(crate) async fn run_deadlines(broker: Arc<Broker>) {
    let waits = &broker.pop_waits;
    tokio::join!(waits.pops.run_deadlines(&broker), waits.notifications.run_deadlines(&broker));
}

impl Broker {
    /// How many pops wait for messages.
    pub fn waiting_pops(&self) -> usize {
        self.pop_waits.pops.len()
    }

    /// How many wait to be told that there are messages.
    pub fn waiting_notifications(&self) -> usize {
        self.pop_waits.notifications.len()
    }
}

impl Waiter for PopRequest {
    fn wait(&self) -> &Wait {
        &self.wait
    }

    fn look(self: Box<Self>, broker: &Arc<Broker>) -> Looked<Self> {
        let connection = Arc::clone(&self.wait.connection);
        let mut output = Output::default();
        let looked = serve(broker, self, &mut output);
        if !output.is_empty() {
            connection.send_now(output);
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
        self.wait.connection.send(output);
    }
}
