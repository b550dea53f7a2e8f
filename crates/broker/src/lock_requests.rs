//! Orderly consumers lock their queues (41) and give them up (42).

use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::lock_batch::{LockBatchRequest, LockBatchResponse};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::{FromJson, ToJson};

/// Answers with the queues that the client owns now: all, some or none of those it wants.
pub(crate) fn lock(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let request = LockBatchRequest::from_json_bytes(frame.body)?;
    let (group, client_id) = owner(&request)?;
    let now = broker.clock.now();
    let owned = broker.locks.lock(group, client_id, request.mq_set.iter().cloned(), now);
    let body = LockBatchResponse { lock_ok_mq_set: owned.into_iter().collect() };
    Ok(Command::response(response::SUCCESS).body(body.to_json()))
}

pub(crate) fn unlock(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let request = LockBatchRequest::from_json_bytes(frame.body)?;
    let (group, client_id) = owner(&request)?;
    broker.locks.unlock(group, client_id, &request.mq_set);
    Ok(Command::response(response::SUCCESS))
}

/// The group and the client that the locks belong to.
fn owner(request: &LockBatchRequest) -> Result<(&str, &str), Refusal> {
    let group = need("consumerGroup", request.consumer_group.as_deref())?;
    let client_id = need("clientId", request.client_id.as_deref())?;
    Ok((group, client_id))
}

fn need<'a>(field: &'static str, value: Option<&'a str>) -> Result<&'a str, Refusal> {
    let filled = value.filter(|text| !text.is_empty());
    filled.ok_or_else(|| {
        Refusal::failed(format!("the request's body lacks the {field} that the locks belong to"))
    })
}
