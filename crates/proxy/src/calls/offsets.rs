//! Offsets of queues and groups, for consumers that look after their offsets themselves.

use crate::invoker::success;
use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{
    Code, GetOffsetRequest, GetOffsetResponse, MessageQueue, QueryOffsetPolicy, QueryOffsetRequest,
    QueryOffsetResponse, UpdateOffsetRequest, UpdateOffsetResponse,
};
use crate::wire_time::ms_of;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

/// The offset of a group in a queue.
pub async fn get(proxy: &Proxy, request: Request<GetOffsetRequest>) -> Result<GetOffsetResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let queue = Queue::of(asked.message_queue.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    let query = queue.fields(client.request(request::QUERY_CONSUMER_OFFSET)).with("consumerGroup", group);
    let query = query.with("setZeroIfNotFound", false);
    let answer = client.call(queue.broker, query, TIMEOUT).await?;
    if answer.code == response::QUERY_NOT_FOUND {
        let text = format!("group {group} has no offset in queue {} of topic {}", queue.id, queue.topic);
        return Err(Refusal::new(Code::OffsetNotFound, text));
    }
    Ok(GetOffsetResponse { status: Some(ok()), offset: offset_of(answer)? })
}

/// A group's offset set.
pub async fn update(proxy: &Proxy, request: Request<UpdateOffsetRequest>) -> Result<UpdateOffsetResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let queue = Queue::of(asked.message_queue.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    check_offset(asked.offset)?;
    // A group that isn't there is made, if brokers make groups.
    proxy.facts.group(group).await?;
    let update = queue.fields(client.request(request::UPDATE_CONSUMER_OFFSET)).with("consumerGroup", group);
    success(client.call(queue.broker, update.with("commitOffset", asked.offset), TIMEOUT).await?)?;
    Ok(UpdateOffsetResponse { status: Some(ok()) })
}

/// The offset at a queue's beginning, at its end, or of a time.
pub async fn query(proxy: &Proxy, request: Request<QueryOffsetRequest>) -> Result<QueryOffsetResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let queue = Queue::of(asked.message_queue.as_ref())?;
    let query = match asked.query_offset_policy() {
        QueryOffsetPolicy::Beginning => client.request(request::GET_MIN_OFFSET),
        QueryOffsetPolicy::End => client.request(request::GET_MAX_OFFSET),
        QueryOffsetPolicy::Timestamp => {
            let time = asked.timestamp.as_ref();
            let time = time.ok_or_else(|| Refusal::new(Code::BadRequest, "the request has no timestamp"))?;
            client.request(request::SEARCH_OFFSET_BY_TIMESTAMP).with("timestamp", ms_of(time))
        }
    };
    let answer = client.call(queue.broker, queue.fields(query), TIMEOUT).await?;
    Ok(QueryOffsetResponse { status: Some(ok()), offset: offset_of(answer)? })
}

/// A queue that a request names.
pub struct Queue<'a> {
    pub topic: &'a str,
    pub broker: &'a str,
    pub id: i32,
}

impl<'a> Queue<'a> {
    pub fn of(queue: Option<&'a MessageQueue>) -> Result<Self> {
        let topic = names::topic(queue.and_then(|queue| queue.topic.as_ref()))?;
        let broker = queue.and_then(|queue| queue.broker.as_ref()).map_or("", |broker| broker.name.as_str());
        Ok(Queue { topic, broker, id: queue.map_or(0, |queue| queue.id) })
    }

    pub fn fields(&self, request: Command) -> Command {
        request.with("topic", self.topic).with("queueId", self.id)
    }
}

/// Of what a client asks for or sets.
pub fn check_offset(offset: i64) -> Result<()> {
    if offset < 0 {
        let text = format!("the offset is {offset}; it must be 0 or more");
        return Err(Refusal::new(Code::IllegalOffset, text));
    }
    Ok(())
}

fn offset_of(answer: Command) -> Result<i64> {
    let answer = success(answer)?;
    let offset = answer.field("offset").and_then(|text| text.parse().ok());
    offset.ok_or_else(|| Refusal::new(Code::InternalServerError, "the broker's answer has no offset"))
}
