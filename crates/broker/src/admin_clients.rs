//! What tools ask about producers, consumers and their offsets, and what they change of it.

pub(crate) mod clone_offsets;
pub(crate) mod connections;
pub(crate) mod consume_queue;
pub(crate) mod consume_stats;
pub(crate) mod consumer_status;
pub(crate) mod correction_offsets;
pub(crate) mod forbidden;
pub(crate) mod offset_tables;
pub(crate) mod queue_view;
pub(crate) mod relay;
pub(crate) mod reset_by_push;
pub(crate) mod reset_offset;
pub(crate) mod subscriptions;
pub(crate) mod time_span;
pub(crate) mod topic_stats;

use crate::Broker;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;

fn answer(body: &impl ToJson) -> Command {
    Command::response(response::SUCCESS).body(body.to_json())
}

/// Whether a topic that the group has offsets of still counts: of a group that is online, only what it subscribes
/// to does. Offsets of topics it gave up would show a backlog that nobody will ever work off.
pub(crate) fn is_read_by(broker: &Broker, topic: &str, group: &str) -> bool {
    let online = broker.clients.consumer_group(group);
    online
        .is_none_or(|group| group.info.subscriptions().is_empty() || group.info.subscription(topic).is_some())
}
