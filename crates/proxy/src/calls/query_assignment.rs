//! What a push consumer is to receive from: every broker as a whole, or for a group that consumes in order every
//! queue. Nothing is shared out among the clients of a group: the brokers hand each message to one of them.

use super::query_route::{proxied, queue};
use super::sync_lite::BOUND_TOPIC;
use crate::addresses;
use crate::invoker::TopicBroker;
use crate::names;
use crate::proxy::{Proxy, call_site};
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{
    Assignment, Code, MessageQueue, Permission, QueryAssignmentRequest, QueryAssignmentResponse,
};
use roxmq_protocol::sys_flag::perm;
use tonic::Request;

/// The id of a broker's queues as a whole.
const ALL_QUEUES: i32 = -1;

pub async fn handle(
    proxy: &Proxy,
    request: Request<QueryAssignmentRequest>,
) -> Result<QueryAssignmentResponse> {
    proxy.client(&request)?;
    let asked = request.get_ref();
    let topic_name = names::topic(asked.topic.as_ref())?;
    let group_name = names::group(asked.group.as_ref())?;
    addresses::check(asked.endpoints.as_ref())?;
    let topic = proxy.facts.topic(topic_name).await?;
    let by_queue = match proxy.facts.group(group_name).await {
        Ok(group) => group.consume_message_orderly && !group.attributes.contains_key(BOUND_TOPIC),
        // A group that isn't there yet is no reason: receiving makes it.
        Err(refusal) if refusal.code == Code::ConsumerGroupNotFound => false,
        Err(refusal) => return Err(refusal),
    };
    let here = addresses::here(call_site(&request)?, asked.endpoints.as_ref());
    let resource = asked.topic.clone().unwrap_or_default();
    let mut assignments = Vec::new();
    for broker in topic.brokers.iter().filter(|broker| is_read_from(broker)) {
        let whole = MessageQueue {
            permission: permission(broker).into(),
            ..queue(&resource, proxied(broker, &here))
        };
        let ids = if by_queue { 0..broker.read_queues } else { ALL_QUEUES..ALL_QUEUES + 1 };
        assignments
            .extend(ids.map(|id| Assignment { message_queue: Some(MessageQueue { id, ..whole.clone() }) }));
    }
    if assignments.is_empty() {
        return Err(Refusal::new(
            Code::Forbidden,
            format!("topic {topic_name} has no queue that can be read"),
        ));
    }
    Ok(QueryAssignmentResponse { status: Some(ok()), assignments })
}

fn is_read_from(broker: &TopicBroker) -> bool {
    broker.id == 0 && perm::is_readable(broker.perm) && broker.read_queues > 0
}

fn permission(broker: &TopicBroker) -> Permission {
    if perm::is_writeable(broker.perm) { Permission::ReadWrite } else { Permission::Read }
}
