//! Messages from an offset on. The consumer keeps its offset; nothing is out of sight for others.

use super::offsets::{Queue, check_offset};
use crate::caller::deadline;
use crate::message::stored::{self, Delivery};
use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::pull_message_response::Content;
use crate::schema::{Code, FilterExpression, FilterType, PullMessageRequest, PullMessageResponse};
use crate::waiting::{Nothing, Waiting};
use crate::wire_time::ms_of_duration;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::record::Records;
use roxmq_protocol::subscription::{EXPRESSION_SQL92, EXPRESSION_TAG, SUB_ALL};
use roxmq_protocol::sys_flag::pull::{SUBSCRIPTION, SUSPEND};
use std::time::Duration;
use tonic::Request;

/// What the broker gets for its answer beyond the time that it waits for messages.
const ANSWER_TIME: Duration = Duration::from_secs(3);
/// What is left of the client's time when the answer sets out, in milliseconds.
const ANSWER_MS: i64 = 200;

/// A status first, then messages, then where to go on.
pub async fn handle(proxy: &Proxy, request: Request<PullMessageRequest>) -> Vec<PullMessageResponse> {
    let contents = match pull(proxy, &request).await {
        Ok(contents) => contents,
        Err(refused) => return refusal(refused),
    };
    contents.into_iter().map(|content| PullMessageResponse { content: Some(content) }).collect()
}

pub fn refusal(refusal: Refusal) -> Vec<PullMessageResponse> {
    vec![PullMessageResponse { content: Some(Content::Status(refusal.into_status())) }]
}

async fn pull(proxy: &Proxy, request: &Request<PullMessageRequest>) -> Result<Vec<Content>> {
    let client = proxy.client(request)?;
    let asked = request.get_ref();
    let queue = Queue::of(asked.message_queue.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    check_offset(asked.offset)?;
    let wait_ms = wait_ms(proxy, request);
    let (kind, expression) = expression(asked.filter_expression.as_ref());
    let pull = queue
        .fields(client.request(request::PULL_MESSAGE))
        .with("consumerGroup", group)
        .with("queueOffset", asked.offset)
        .with("maxMsgNums", asked.batch_size.clamp(1, proxy.config.receive_batch_max))
        .with("sysFlag", SUSPEND | SUBSCRIPTION)
        .with("commitOffset", 0)
        .with("suspendTimeoutMillis", wait_ms)
        .with("subscription", expression)
        .with("subVersion", 0)
        .with("expressionType", kind);
    let timeout = Duration::from_millis(wait_ms.unsigned_abs()) + ANSWER_TIME;
    let answer = Waiting::start(client, queue.broker.into(), pull, timeout, Nothing).await?;
    contents(&answer, queue.topic)
}

fn contents(answer: &Command, topic: &str) -> Result<Vec<Content>> {
    let next_offset =
        answer.field("nextBeginOffset").and_then(|text| text.parse().ok()).map(Content::NextOffset);
    let refusal = match answer.code {
        response::SUCCESS => None,
        response::PULL_NOT_FOUND | response::PULL_RETRY_IMMEDIATELY => {
            Some(Refusal::new(Code::MessageNotFound, "no new message"))
        }
        response::PULL_OFFSET_MOVED => {
            Some(Refusal::new(Code::IllegalOffset, "there is no message at the offset (any more)"))
        }
        _ => return Err(Refusal::from_broker(answer)),
    };
    let mut contents = vec![Content::Status(refusal.map_or_else(ok, Refusal::into_status))];
    for record in Records::new(&answer.body) {
        let record = record.map_err(|error| Refusal::new(Code::InternalServerError, error.to_string()))?;
        let delivery = Delivery { topic, ..Delivery::default() };
        contents.push(Content::Message(stored::message(&answer.body, &record, delivery)));
    }
    contents.extend(next_offset);
    Ok(contents)
}

/// As long as the client wants to wait, as the server lets it, and as its call lasts.
fn wait_ms(proxy: &Proxy, request: &Request<PullMessageRequest>) -> i64 {
    let wanted = request.get_ref().long_polling_timeout.as_ref().map_or(0, ms_of_duration);
    let left =
        deadline(request.metadata()).map_or(i64::MAX, |left| left.as_millis().try_into().unwrap_or(i64::MAX));
    wanted.min(proxy.config.polling_ms_max).min(left.saturating_sub(ANSWER_MS)).max(0)
}

fn expression(filter: Option<&FilterExpression>) -> (&'static str, &str) {
    match filter {
        Some(filter) if filter.r#type() == FilterType::Sql => (EXPRESSION_SQL92, &filter.expression),
        Some(filter) if !filter.expression.is_empty() => (EXPRESSION_TAG, &filter.expression),
        _ => (EXPRESSION_TAG, SUB_ALL),
    }
}
