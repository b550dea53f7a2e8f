//! Clients that get every lite topic of a parent (`lite.sub.wildcard`): those that are there when they subscribe, and
//! those that come later, from their first message on.

use super::is_exclusive;
use super::state::{ClientKey, State};
use super::subscriptions::{Lite, watched};
use crate::Broker;
use crate::lmq;
use roxmq_store::multi_dispatch::lmq_names;
use std::sync::atomic::Ordering;

impl Lite {
    /// Notes whether the client gets the lite topics that are to come.
    pub(super) fn set_wildcard(&self, key: &ClientKey, parent: &str, wanted: bool) {
        if self.state.lock().set_wildcard(key, parent, wanted) {
            let _ = match wanted {
                true => self.wildcards.fetch_add(1, Ordering::SeqCst),
                false => self.wildcards.fetch_sub(1, Ordering::SeqCst),
            };
        }
    }

    /// A message is about to be entered into these light queues.
    pub(crate) fn coming(&self, broker: &Broker, list: &str) {
        if self.wildcards.load(Ordering::SeqCst) == 0 {
            return;
        }
        let limit = broker.config().max_lite_subscription_count;
        for queue in lmq_names(list) {
            let Some((parent, lite_topic)) = lmq::lite_parts(queue) else { continue };
            let mut state = self.state.lock();
            for key in without(broker, &state, parent, queue) {
                if let Err(refusal) = state.subscribe(&key, queue, limit, |name| watched(broker, name)) {
                    let (group, client_id) = (&*key.0, &*key.1);
                    tracing::debug!(group, client_id, parent, lite_topic, %refusal, "a lite topic has no reader");
                }
            }
        }
    }
}

/// The clients that want the parent's lite topics and haven't got this one.
fn without(broker: &Broker, state: &State, parent: &str, queue: &str) -> Vec<ClientKey> {
    let Some(wanting) = state.wildcards.get(parent) else { return Vec::new() };
    let having = state.queues.get(queue).map(|subscribed| &subscribed.clients);
    let has_group = |key: &ClientKey| {
        let is_taken = having.is_some_and(|clients| clients.iter().any(|other| other.0 == key.0));
        is_taken && broker.groups.get(&key.0).is_some_and(|group| is_exclusive(&group))
    };
    let lacks = |key: &&ClientKey| !having.is_some_and(|clients| clients.contains(*key)) && !has_group(key);
    wanting.iter().filter(lacks).cloned().collect()
}
