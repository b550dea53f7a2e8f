//! A client says that it leaves. Its telemetry stream is its own to close.

use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::registration;
use crate::schema::settings::PubSub;
use crate::schema::{Code, NotifyClientTerminationRequest, NotifyClientTerminationResponse};
use tonic::Request;

pub async fn handle(
    proxy: &Proxy,
    request: Request<NotifyClientTerminationRequest>,
) -> Result<NotifyClientTerminationResponse> {
    let client = proxy.client(&request)?;
    let Some(settings) = client.take_settings() else {
        return Err(Refusal::new(Code::UnrecognizedClientType, "the settings of this client are not known"));
    };
    if let Some(PubSub::Subscription(_)) = &settings.pub_sub {
        names::group(request.get_ref().group.as_ref())?;
    }
    registration::unregister(proxy, &client, &settings).await?;
    proxy.clients.forget(&client);
    proxy.release(&client).await;
    Ok(NotifyClientTerminationResponse { status: Some(ok()) })
}
