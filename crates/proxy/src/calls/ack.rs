//! Messages acknowledged: each entry is answered for itself.

use crate::client::Client;
use crate::invoker::{Unanswered, settled};
use crate::names;
use crate::proxy::{Proxy, now_ms};
use crate::receipt::{Handle, Received};
use crate::refusal::{Refusal, Result, common, ok};
use crate::schema::{AckMessageEntry, AckMessageRequest, AckMessageResponse, AckMessageResultEntry, Code};
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn handle(proxy: &Proxy, request: Request<AckMessageRequest>) -> Result<AckMessageResponse> {
    let client = proxy.client(&request)?;
    let AckMessageRequest { group, topic, entries } = request.into_inner();
    let topic = names::topic(topic.as_ref())?;
    let group = names::group(group.as_ref())?;
    let mut results = Vec::with_capacity(entries.len());
    for entry in entries {
        let acked = ack(proxy, &client, topic, group, &entry).await;
        results.push(AckMessageResultEntry {
            message_id: entry.message_id,
            receipt_handle: entry.receipt_handle,
            status: Some(acked.map_or_else(Refusal::into_status, |()| ok())),
        });
    }
    let status = common(results.iter().filter_map(|entry| entry.status.as_ref())).ok_or_else(|| {
        Refusal::new(Code::InternalServerError, "there is nothing to acknowledge in the request")
    })?;
    Ok(AckMessageResponse { status: Some(status), entries: results })
}

async fn ack(
    proxy: &Proxy,
    client: &Client,
    topic: &str,
    group: &str,
    entry: &AckMessageEntry,
) -> Result<()> {
    let latest = proxy.renewals.latest(&client.id, group, &entry.receipt_handle).await;
    let handle = Handle::parse(latest.handle())?;
    check_broker(proxy, &handle)?;
    handle.check_expiry(now_ms())?;
    let received = Received { topic, group, lite_topic: entry.lite_topic.as_deref() };
    let request = handle.ack(client, received);
    settled(client.call(handle.broker(), request, TIMEOUT).await?)?;
    latest.done();
    Ok(())
}

/// Clients try again for ever what fails for a while; a handle of a broker that isn't there is no such thing.
pub fn check_broker(proxy: &Proxy, handle: &Handle<'_>) -> Result<()> {
    check_broker_name(proxy, handle.broker(), Code::InvalidReceiptHandle)
}

/// Refused with the code if there is no such broker.
pub fn check_broker_name(proxy: &Proxy, name: &str, code: Code) -> Result<()> {
    if proxy.invoker.knows(name) {
        return Ok(());
    }
    Err(Refusal { code, ..Unanswered::NoBroker(name.into()).into() })
}
