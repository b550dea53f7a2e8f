//! The ways in which clients leave: on their own (35), with their connection, or by falling silent.

use super::{ConsumerGroup, notices};
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::client::UnregisterClient;
use roxmq_remoting::Connection;
use std::sync::Arc;

/// The client takes back its membership in the groups it names.
pub(crate) fn unregister(
    broker: &Broker,
    caller: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let header = UnregisterClient::decode(&frame.header.ext)?;
    if let Some(group) = header.producer_group {
        broker.clients.producer_leaves(&group, caller.connection);
    }
    if let Some(name) = header.consumer_group
        && let Some(group) = broker.clients.consumer_leaves(&name, caller.connection)
    {
        tracing::info!(group = %group.name, client_id = %header.client_id, "a consumer left");
        left(broker, &group);
    }
    Ok(Command::response(response::SUCCESS))
}

/// To be called when a connection is closed, whoever closed it.
pub(crate) fn disconnected(broker: &Broker, connection: &Arc<Connection>) {
    for group in broker.clients.disconnect(connection) {
        tracing::info!(group = %group.name, peer = %connection.remote(), "the connection of a consumer closed");
        left(broker, &group);
    }
}

/// To be called every few seconds: ends the memberships of clients that have been silent for
/// `channelExpiredTimeout`, and drops dead queue locks.
pub(crate) fn expire(broker: &Broker) {
    let now = broker.clock.now();
    let timeout_ms = i64::try_from(broker.config().channel_expired_timeout_ms).unwrap_or(i64::MAX);
    let (groups, connections) = broker.clients.expire(now, timeout_ms);
    for group in groups {
        tracing::warn!(group = %group.name, timeout_ms, "consumers of the group sent no heartbeat in time");
        left(broker, &group);
    }
    for connection in connections {
        tracing::warn!(peer = %connection.remote(), timeout_ms, "closing a connection without heartbeats");
        connection.close();
    }
    broker.locks.expire(now);
}

/// The group has lost a member.
fn left(broker: &Broker, group: &ConsumerGroup) {
    if group.members.is_empty() {
        broker.filters.group_left(&group.name, broker.clock.now());
    }
    notices::members_changed(broker, group);
}
