//! A client says that it is alive, and to which groups it belongs (34).

use super::member::Client;
use super::{Announcement, Changed, agreement, notices};
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::heartbeat::{ConsumeType, ConsumerData, HeartbeatData};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;
use roxmq_remoting::Connection;
use std::sync::Arc;

/// A retry topic's flag that its consumers belong to a unit.
const SYS_FLAG_UNIT_SUBSCRIPTION: i32 = 2;

pub(crate) fn handle(broker: &Broker, caller: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let heartbeat = HeartbeatData::from_json_bytes(frame.body)?;
    if heartbeat.client_id.is_empty() {
        return Err(Refusal::failed("the heartbeat has no clientID"));
    }
    let client = Client {
        channel: Arc::clone(caller.connection),
        client_id: heartbeat.client_id,
        language: frame.header.language,
        version: frame.header.version,
    };
    let announcement =
        Announcement { fingerprint: heartbeat.heartbeat_fingerprint, without_sub: heartbeat.without_sub };
    // A client without fingerprints always sends everything, and is told that it has to.
    let mut resubscribe = announcement.fingerprint == 0;
    for data in &heartbeat.consumer_data_set {
        resubscribe |= consumer_seen(broker, &client, data, announcement).resubscribe;
    }
    for data in &heartbeat.producer_data_set {
        if !data.group_name.is_empty() {
            broker.clients.producer_seen(&client, &data.group_name, broker.clock.now());
        }
    }
    Ok(Command::response(response::SUCCESS)
        .with("IS_SUPPORT_HEART_BEAT_V2", true)
        .with("IS_SUB_CHANGE", resubscribe))
}

/// One consumer group of the heartbeat. A group that is not there and may not be made, or that pulls where that isn't
/// wanted, is passed over in silence: what its consumers ask next gets the refusal that says so.
fn consumer_seen(
    broker: &Broker,
    client: &Client<Arc<Connection>>,
    data: &ConsumerData,
    announcement: Announcement,
) -> Changed {
    if data.consume_type == ConsumeType::Actively && broker.config().reject_pull_consumer_enable {
        return Changed::default();
    }
    let Some(config) = broker.groups.get_or_create(&data.group_name) else {
        return Changed::default();
    };
    create_retry_topic(broker, data, config.retry_queue_nums);
    let (changed, group) = broker.clients.consumer_seen(client, data, announcement, broker.clock.now());
    if !announcement.without_sub {
        broker.filters.announce(&group.name, &data.subscription_data_set, broker.clock.now());
    }
    if changed.subscriptions
        && let Some(other) = agreement::other_than(&group, client.channel.id())
    {
        tracing::warn!(
            group = %group.name, client_id = client.client_id, other_client_id = other.client.client_id,
            subscriptions = agreement::describe(&data.subscription_data_set),
            "two consumers of a group subscribe to different things; neither gets all that it wants"
        );
    }
    if changed.rebalance {
        tracing::info!(
            group = %group.name, client_id = client.client_id, peer = %client.channel.remote(),
            "a consumer came, or its topics changed"
        );
        notices::members_changed(broker, &group);
    }
    changed
}

/// Where failed messages of the group come back from. Consumers subscribe to it from the start.
fn create_retry_topic(broker: &Broker, data: &ConsumerData, queues: i32) {
    let topic = names::retry_topic(&data.group_name);
    if broker.topics.get(&topic).is_some() {
        return;
    }
    let sys_flag = if data.unit_mode { SYS_FLAG_UNIT_SUBSCRIPTION } else { 0 };
    if let Err(error) = broker.topics.create_internal(&topic, queues, perm::READ | perm::WRITE, sys_flag) {
        tracing::warn!(topic, %error, "the retry topic of a group could not be created");
    }
}
