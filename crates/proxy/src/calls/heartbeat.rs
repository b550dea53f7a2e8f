//! A client says that it is still there.

use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::registration;
use crate::schema::settings::PubSub;
use crate::schema::{Code, HeartbeatRequest, HeartbeatResponse};
use crate::telemetry;
use tonic::Request;

pub async fn handle(proxy: &Proxy, request: Request<HeartbeatRequest>) -> Result<HeartbeatResponse> {
    let client = proxy.client(&request)?;
    // What the client is, its settings say and not the request.
    let Some(settings) = client.settings() else {
        return Err(Refusal::new(
            Code::UnrecognizedClientType,
            "the settings of this client are not known; it has to send them over its telemetry stream",
        ));
    };
    if let Some(PubSub::Subscription(_)) = &settings.pub_sub {
        names::group(request.get_ref().group.as_ref())?;
    }
    registration::register(proxy, &client, &settings).await?;
    telemetry::refresh_settings(proxy, &client, &settings).await?;
    Ok(HeartbeatResponse { status: Some(ok()) })
}
