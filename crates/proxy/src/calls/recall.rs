//! A message taken back before it is delivered.

use super::ack::check_broker_name;
use crate::invoker::success;
use crate::message::kind::accepted_types;
use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{Code, MessageType, RecallMessageRequest, RecallMessageResponse};
use roxmq_protocol::code::request;
use roxmq_protocol::recall_handle::RecallHandle;
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn handle(proxy: &Proxy, request: Request<RecallMessageRequest>) -> Result<RecallMessageResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let name = names::topic(asked.topic.as_ref())?;
    let topic = proxy.facts.topic(name).await?;
    if proxy.config.check_message_type && !accepted_types(&topic).contains(&MessageType::Delay) {
        let text = format!("topic {name} takes no messages for later, so there is none to take back");
        return Err(Refusal::new(Code::MessagePropertyConflictWithType, text));
    }
    let handle = RecallHandle::decode(&asked.recall_handle)
        .map_err(|error| Refusal::new(Code::InternalServerError, error.to_string()))?;
    check_broker_name(proxy, &handle.broker_name, Code::BadRequest)?;
    let recall = client
        .request(request::RECALL_MESSAGE)
        .with("producerGroup", name)
        .with("topic", name)
        .with("recallHandle", &asked.recall_handle);
    let answer = success(client.call(&handle.broker_name, recall, TIMEOUT).await?)?;
    let message_id = answer.field("msgId").unwrap_or(&handle.uniq_key).to_owned();
    Ok(RecallMessageResponse { status: Some(ok()), message_id })
}
