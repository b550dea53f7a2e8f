//! The queue that messages go to, and another if the broker of the first can't be reached.
//!
//! A client whose send fails sends again, so a message may come twice when a connection breaks between a broker and its
//! answer; trying elsewhere here makes that no worse. Half messages go elsewhere only if the broker surely hasn't seen
//! them: the half that is left over would be asked for.
//!
//! What is bound to a queue by its group stays with the queue's broker, and waits for it for as long as a restart takes, if
//! the call has the time. Then the group goes on at another broker, and comes back with its own: nothing is known of what
//! the broker that is away still has of the group, which may be received later than what was sent after it. With the
//! Java server it is the same as soon as the name servers have dropped the broker; until then it refuses the group's
//! messages.

use crate::caller::deadline;
use crate::invoker::{Topic, Unanswered};
use crate::message::queue_choice::{self, Queue};
use crate::proxy::Proxy;
use crate::schema::{Message, MessageType};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tonic::metadata::MetadataMap;

/// How long a message waits for its broker at most.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Between two tries at least.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

pub struct Choice<'a> {
    topic: &'a Topic,
    group: Option<Group<'a>>,
    /// Brokers that failed.
    failed: Vec<Arc<str>>,
    /// A broker that broke the connection was asked a second time.
    asked_again: bool,
}

/// Binds the message to a queue.
struct Group<'a> {
    name: &'a str,
    /// Until then it may wait for its broker.
    patience: Instant,
}

impl<'a> Choice<'a> {
    /// The metadata is the call's.
    pub fn of(messages: &'a [Message], topic: &'a Topic, metadata: &MetadataMap) -> Self {
        let group = group(messages).map(|name| Group { name, patience: Instant::now() + wait(metadata) });
        Choice { topic, group, failed: Vec::new(), asked_again: false }
    }

    /// Brokers that are known to be out of reach have no turn, as long as there are others.
    pub async fn next(&self, proxy: &Proxy) -> Option<Queue> {
        if self.group.is_some()
            && let Some(own) = self.choose(0, |broker| self.is_new(broker))
            && let Some(retry) = self.retry(proxy, &own.broker)
        {
            tokio::time::sleep_until(retry.into()).await;
            return Some(own);
        }
        // What has its own queue takes nobody's turn.
        let turn = if self.group.is_none() { proxy.turn.fetch_add(1, Ordering::Relaxed) } else { 0 };
        self.choose(turn, |broker| self.is_new(broker) && proxy.invoker.is_reachable(broker))
            .or_else(|| self.choose(turn, |broker| self.is_new(broker)))
    }

    /// Whether there is a queue to try after this failure.
    pub fn goes_on_after(
        &mut self,
        proxy: &Proxy,
        queue: &Queue,
        failure: &Unanswered,
        kind: MessageType,
    ) -> bool {
        let may_be_sent_again = match kind {
            MessageType::Transaction => failure.is_unasked(),
            _ => failure.is_of_connection(),
        };
        if !may_be_sent_again {
            return false;
        }
        // A broker that takes connections again has the group's messages from before.
        if self.group.is_some() && !failure.is_unasked() && !self.asked_again {
            self.asked_again = true;
            return true;
        }
        if self.retry(proxy, &queue.broker).is_some() {
            return true;
        }
        self.failed.push(Arc::clone(&queue.broker));
        self.choose(0, |broker| self.is_new(broker)).is_some()
    }

    /// When to try the broker of a group again that may be restarting.
    fn retry(&self, proxy: &Proxy, broker: &str) -> Option<Instant> {
        let patience = self.group.as_ref()?.patience;
        let retry = proxy.invoker.retry(broker)?.max(Instant::now() + RETRY_PAUSE);
        (retry < patience).then_some(retry)
    }

    fn choose(&self, turn: usize, fits: impl Fn(&str) -> bool) -> Option<Queue> {
        match &self.group {
            Some(group) => queue_choice::by_group(self.topic, group.name, fits),
            None => queue_choice::by_turn(self.topic, turn, fits),
        }
    }

    fn is_new(&self, broker: &str) -> bool {
        !self.failed.iter().any(|failed| **failed == *broker)
    }
}

/// Half of the time that the client has for the call is left for a second choice.
fn wait(metadata: &MetadataMap) -> Duration {
    deadline(metadata).map_or(WAIT_MAX, |time| WAIT_MAX.min(time / 2))
}

/// What a message alone in its request names as its group, or as its lite topic.
fn group(messages: &[Message]) -> Option<&str> {
    let [Message { system_properties: Some(system), .. }] = messages else { return None };
    let names = [&system.message_group, &system.lite_topic];
    names.into_iter().filter_map(|name| name.as_deref()).find(|name| !name.is_empty())
}
