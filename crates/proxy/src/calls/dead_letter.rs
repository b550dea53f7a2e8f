//! A received message given up on.

use super::ack::check_broker;
use crate::client::Client;
use crate::invoker::success;
use crate::names;
use crate::proxy::Proxy;
use crate::receipt::{Handle, Received};
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{Code, ForwardMessageToDeadLetterQueueRequest, ForwardMessageToDeadLetterQueueResponse};
use roxmq_protocol::code::request;
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);
/// A delay level that stands for the dead-letter queue.
const NO_MORE_ATTEMPTS: i32 = -1;

pub async fn handle(
    proxy: &Proxy,
    request: Request<ForwardMessageToDeadLetterQueueRequest>,
) -> Result<ForwardMessageToDeadLetterQueueResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let topic = names::topic(asked.topic.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    let latest = proxy.renewals.latest(&client.id, group, &asked.receipt_handle).await;
    let handle = Handle::parse(latest.handle())?;
    check_broker(proxy, &handle)?;
    let received = Received { topic, group, lite_topic: asked.lite_topic.as_deref() };
    bury(&client, received, &handle, &asked.message_id).await?;
    latest.done();
    Ok(ForwardMessageToDeadLetterQueueResponse { status: Some(ok()) })
}

/// Puts the message into the group's dead-letter queue, and acknowledges it.
pub async fn bury(
    client: &Client,
    received: Received<'_>,
    handle: &Handle<'_>,
    message_id: &str,
) -> Result<()> {
    let Some(phy_offset) = handle.phy_offset else {
        let text = "the receipt handle doesn't say where the message lies";
        return Err(Refusal::new(Code::InvalidReceiptHandle, text));
    };
    let send_back = client
        .request(request::CONSUMER_SEND_MSG_BACK)
        .with("offset", phy_offset)
        .with("group", received.group)
        .with("delayLevel", NO_MORE_ATTEMPTS)
        .with("originMsgId", message_id)
        .with("originTopic", handle.real_topic(received.topic, received.group))
        .with("unitMode", false)
        .with("maxReconsumeTimes", 0);
    success(client.call(handle.broker(), send_back, TIMEOUT).await?)?;
    success(client.call(handle.broker(), handle.ack(client, received), TIMEOUT).await?)?;
    Ok(())
}
