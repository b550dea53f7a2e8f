//! The telemetry stream: settings both ways, and what brokers have to ask of a client.

mod outbound;

pub use outbound::{Outbound, OutboundStream};

use crate::client::Client;
use crate::invoker::{FromBroker, TakeFromBroker};
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::telemetry_command::Command;
use crate::schema::{Code, Settings, TelemetryCommand};
use crate::{registration, settings};
use std::sync::Arc;
use tonic::{Status, Streaming};

/// Takes the requests of brokers to the client that this stream leads to.
pub fn take_from_broker(_: &Arc<Outbound>) -> TakeFromBroker {
    Box::new(|FromBroker { broker, request }| {
        tracing::debug!(%broker, code = request.code, "a broker asks a client for something");
    })
}

/// Starts to listen to a client's stream; gives the stream to it.
pub fn open(proxy: Arc<Proxy>, client: Arc<Client>, inbound: Streaming<TelemetryCommand>) -> OutboundStream {
    let mut stream = client.telemetry.open();
    let (id, ended) = (stream.id(), stream.ended());
    tokio::spawn(async move {
        tokio::select! {
            () = listen(proxy, client, inbound, id) => {}
            _ = ended => {}
        }
    });
    stream
}

/// Until the client closes the stream, or breaks it.
async fn listen(
    proxy: Arc<Proxy>,
    client: Arc<Client>,
    mut inbound: Streaming<TelemetryCommand>,
    stream: u64,
) {
    loop {
        match inbound.message().await {
            Ok(Some(command)) => {
                client.seen();
                if let Err(refusal) = take(&proxy, &client, command).await {
                    tracing::warn!(client_id = %client.id, %refusal, "a telemetry command failed");
                    return client.telemetry.end(stream, Some(status_of(refusal)));
                }
            }
            Ok(None) => return client.telemetry.end(stream, None),
            Err(status) => {
                tracing::debug!(client_id = %client.id, %status, "a telemetry stream broke");
                return client.telemetry.end(stream, None);
            }
        }
    }
}

async fn take(proxy: &Proxy, client: &Arc<Client>, command: TelemetryCommand) -> Result<()> {
    match command.command {
        Some(Command::Settings(settings)) => take_settings(proxy, client, settings).await,
        _ => Ok(()),
    }
}

async fn take_settings(proxy: &Proxy, client: &Arc<Client>, sent: Settings) -> Result<()> {
    settings::check(&sent)?;
    client.set_settings(sent.clone());
    registration::register(proxy, client, &sent).await?;
    let answer = settings::answer(proxy, sent).await?;
    client.telemetry.send(TelemetryCommand { status: Some(ok()), command: Some(Command::Settings(answer)) });
    Ok(())
}

/// A stream that fails says so in the terms of gRPC.
fn status_of(refusal: Refusal) -> Status {
    let text = format!("process client telemetryCommand failed. {}", refusal.text);
    if (Code::BadRequest as i32..Code::InternalError as i32).contains(&(refusal.code as i32)) {
        Status::invalid_argument(text)
    } else {
        Status::internal(text)
    }
}
