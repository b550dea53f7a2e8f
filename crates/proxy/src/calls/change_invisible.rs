//! A received message made visible to others sooner or later.

use super::ack::check_broker;
use crate::invoker::settled;
use crate::names;
use crate::proxy::{Proxy, now_ms};
use crate::receipt::{Handle, Received};
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{ChangeInvisibleDurationRequest, ChangeInvisibleDurationResponse, Code};
use crate::wire_time::ms_of_duration;
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn handle(
    proxy: &Proxy,
    request: Request<ChangeInvisibleDurationRequest>,
) -> Result<ChangeInvisibleDurationResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let topic = names::topic(asked.topic.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    let invisible_ms = asked.invisible_duration.as_ref().map_or(0, ms_of_duration);
    let limit = proxy.config.invisible_ms_max;
    if !(0..=limit).contains(&invisible_ms) {
        let text = format!(
            "the message can't be invisible for {invisible_ms} ms, only for 0 to {limit} (maxInvisibleTimeMills)"
        );
        return Err(Refusal::new(Code::IllegalInvisibleTime, text));
    }
    let latest = proxy.renewals.latest(&client.id, group, &asked.receipt_handle).await;
    let handle = Handle::parse(latest.handle())?;
    check_broker(proxy, &handle)?;
    handle.check_expiry(now_ms())?;
    let received = Received { topic, group, lite_topic: asked.lite_topic.as_deref() };
    let change = handle.change_invisible(&client, received, invisible_ms);
    let change = change.with_some("suspend", asked.suspend.filter(|suspend| *suspend));
    let answer = settled(client.call(handle.broker(), change, TIMEOUT).await?)?;
    let receipt_handle = handle.renewed(&answer)?;
    // From here on the client says how long it takes.
    latest.done();
    Ok(ChangeInvisibleDurationResponse { status: Some(ok()), receipt_handle })
}
