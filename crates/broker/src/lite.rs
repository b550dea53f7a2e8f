//! Lite topics: very many small topics inside one, made by their first message and gone when nobody uses them.
//!
//! A topic with `message.type=LITE` is the *parent*. A message with the property `__LITE_TOPIC` is stored there and
//! entered into the light queue of its lite topic ([`lmq`](crate::lmq)). A client of a group that is bound to the
//! parent (`lite.bind.topic`) subscribes to lite topics (200071) and pops from all of them at once (200070), in order
//! for each: while messages of a lite topic are out, its group gets no others of it.
//!
//! Subscriptions and what is out are kept in memory only: clients renew the ones, and what was out comes again from the
//! committed offset after a restart.

mod admin;
mod control;
mod expiry;
mod order;
mod pop;
mod receipts;
mod state;
mod subscriptions;
mod turns;
mod wildcards;

pub(crate) use admin::{broker_info, client_info, group_info, parent_info, topic_info, trigger};
pub(crate) use control::control;
pub(crate) use expiry::{expire_subscriptions, expire_topics, run_deadlines};
pub(crate) use pop::pop;
pub(crate) use receipts::{ack, change_invisible_time};
pub(crate) use subscriptions::Lite;

use crate::Broker;
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use crate::topics::{Topic, attributes};
use std::sync::Arc;

/// Attributes of groups.
const BIND_TOPIC: &str = "lite.bind.topic";
const SUB_MODEL: &str = "lite.sub.model";
const RESET_ON_TAKE_OVER: &str = "lite.sub.reset.offset.exclusive";
const RESET_ON_UNSUBSCRIBE: &str = "lite.sub.reset.offset.unsubscribe";
const WILDCARD: &str = "lite.sub.wildcard";

/// The parent topic that the group is bound to.
fn bind_topic(group: &SubscriptionGroupConfig) -> Option<&str> {
    group.attributes.get(BIND_TOPIC).map(String::as_str).filter(|topic| !topic.is_empty())
}

fn is_true(group: &SubscriptionGroupConfig, attribute: &str) -> bool {
    group.attributes.get(attribute).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Whether a lite topic has one client of the group at most: the last that subscribed to it.
fn is_exclusive(group: &SubscriptionGroupConfig) -> bool {
    group.attributes.get(SUB_MODEL).is_some_and(|model| model.eq_ignore_ascii_case("Exclusive"))
}

/// A topic that is there and is a parent of lite topics.
fn parent(broker: &Broker, topic: &str) -> Result<Arc<Topic>, Refusal> {
    let known = broker.topics.get(topic).ok_or_else(|| Refusal::topic_missing(topic))?;
    if !attributes::is_lite(&known.attributes) {
        return Err(Refusal::invalid(format!(
            "the topic [{topic}] message type not match: its attribute message.type is not LITE"
        )));
    }
    Ok(known)
}

/// A group that is there and is bound to the topic.
fn bound_group(broker: &Broker, group: &str, topic: &str) -> Result<Arc<SubscriptionGroupConfig>, Refusal> {
    let known = broker.groups.get(group).ok_or_else(|| Refusal::group_missing(group))?;
    if bind_topic(&known) != Some(topic) {
        let bound = bind_topic(&known).unwrap_or("no topic");
        return Err(Refusal::invalid(format!(
            "subscription bind topic not match, {group}: its attribute lite.bind.topic names {bound}, not {topic}"
        )));
    }
    Ok(known)
}
