//! The queue that messages go to, and another if the broker of the first can't be reached.
//!
//! A client whose send fails sends again, so a message may come twice when a connection breaks between a broker and its
//! answer; trying elsewhere here makes that no worse. What is bound to a queue by its group is never tried elsewhere,
//! and half messages only if the broker surely hasn't seen them: the half that is left over would be asked for.

use crate::invoker::{Topic, Unanswered};
use crate::message::queue_choice::{self, Queue};
use crate::proxy::Proxy;
use crate::schema::{Message, MessageType};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub struct Choice<'a> {
    topic: &'a Topic,
    /// Binds the message to a queue.
    group: Option<&'a str>,
    /// Brokers that failed.
    failed: Vec<Arc<str>>,
}

impl<'a> Choice<'a> {
    pub fn of(messages: &'a [Message], topic: &'a Topic) -> Self {
        Choice { topic, group: group(messages), failed: Vec::new() }
    }

    /// Brokers that are known to be out of reach have no turn, as long as there are others.
    pub fn next(&self, proxy: &Proxy) -> Option<Queue> {
        if let Some(group) = self.group {
            return queue_choice::by_group(self.topic, group);
        }
        let turn = proxy.turn.fetch_add(1, Ordering::Relaxed);
        let is_new = |broker: &str| !self.failed.iter().any(|failed| **failed == *broker);
        let reachable = |broker: &str| is_new(broker) && proxy.invoker.is_reachable(broker);
        queue_choice::by_turn(self.topic, turn, reachable)
            .or_else(|| queue_choice::by_turn(self.topic, turn, is_new))
    }

    /// Whether there is another queue to try after this failure.
    pub fn goes_on_without(&mut self, queue: &Queue, failure: &Unanswered, kind: MessageType) -> bool {
        let may_go_elsewhere = match kind {
            MessageType::Transaction => failure.is_unasked(),
            _ => failure.is_of_connection(),
        };
        if self.group.is_some() || !may_go_elsewhere {
            return false;
        }
        self.failed.push(Arc::clone(&queue.broker));
        let is_new = |broker: &str| !self.failed.iter().any(|failed| **failed == *broker);
        queue_choice::by_turn(self.topic, 0, is_new).is_some()
    }
}

/// What a message alone in its request names as its group, or as its lite topic.
fn group(messages: &[Message]) -> Option<&str> {
    let [Message { system_properties: Some(system), .. }] = messages else { return None };
    let names = [&system.message_group, &system.lite_topic];
    names.into_iter().filter_map(|name| name.as_deref()).find(|name| !name.is_empty())
}
