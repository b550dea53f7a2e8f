//! The telemetry stream: settings both ways, and what brokers have to ask of a client.

mod answers;
mod from_broker;
mod outbound;
mod questions;

pub use from_broker::take_from_broker;
pub use outbound::{Outbound, OutboundStream};
pub use questions::Questions;

use crate::access::StreamGuard;
use crate::client::Client;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::telemetry_command::Command;
use crate::schema::{ClientType, Code, Settings, TelemetryCommand};
use crate::{registration, settings};
use questions::Asked;
use std::sync::Arc;
use tonic::{Status, Streaming};

/// Starts to listen to a client's stream; gives the stream to it. Its commands have to pass the guard, if there is one.
pub fn open(
    proxy: Arc<Proxy>,
    client: Arc<Client>,
    guard: Option<StreamGuard>,
    inbound: Streaming<TelemetryCommand>,
) -> OutboundStream {
    let mut stream = client.telemetry.open();
    let (id, ended) = (stream.id(), stream.ended());
    // A future holds what it is given more than once.
    let (guard, inbound) = (guard.map(Box::new), Box::new(inbound));
    tokio::spawn(async move {
        tokio::select! {
            () = listen(proxy, client, guard, inbound, id) => {}
            _ = ended => {}
        }
    });
    stream
}

/// Until the client closes the stream, or breaks it.
async fn listen(
    proxy: Arc<Proxy>,
    client: Arc<Client>,
    guard: Option<Box<StreamGuard>>,
    mut inbound: Box<Streaming<TelemetryCommand>>,
    stream: u64,
) {
    let mut is_a = None;
    loop {
        let taken = match inbound.message().await {
            // Its room is large, and the stream mostly waits.
            Ok(Some(command)) => Box::pin(async {
                if let Some(guard) = &guard {
                    guard.check(&command).await?;
                }
                take(&proxy, &client, &mut is_a, command).await
            }),
            Ok(None) => return client.telemetry.end(stream, []),
            Err(status) => {
                tracing::debug!(client_id = %client.id, %status, "a telemetry stream broke");
                // It may be about what the client sent, if it is still there.
                return client.telemetry.end(stream, [Err(status)]);
            }
        };
        client.seen();
        if let Err(refusal) = taken.await {
            tracing::warn!(client_id = %client.id, %refusal, "a telemetry command failed");
            return refuse(&client, stream, refusal);
        }
    }
}

/// `is_a` is what the client has said that it is, on this stream.
async fn take(
    proxy: &Proxy,
    client: &Arc<Client>,
    is_a: &mut Option<ClientType>,
    command: TelemetryCommand,
) -> Result<()> {
    let TelemetryCommand { status, command } = command;
    match command {
        Some(Command::Settings(settings)) => {
            settings::check(&settings)?;
            check_same(*is_a.get_or_insert(settings.client_type()), settings.client_type())?;
            return take_settings(proxy, client, settings).await;
        }
        Some(Command::VerifyMessageResult(result)) => {
            let answer = answers::verified(status.as_ref());
            proxy.questions.answer(client, &result.nonce, Asked::Verify, answer);
        }
        Some(Command::ThreadStackTrace(trace)) => {
            let answer = answers::threads(client, status.as_ref(), trace.thread_stack_trace);
            proxy.questions.answer(client, &trace.nonce, Asked::Threads, answer);
        }
        // Nothing in it, or what only servers say: no reason to end the stream.
        _ => {}
    }
    Ok(())
}

/// What a client is doesn't change while it talks.
fn check_same(before: ClientType, now: ClientType) -> Result<()> {
    if before == now {
        return Ok(());
    }
    let text = format!(
        "the client said that it is a {}, and now that it is a {}",
        before.as_str_name(),
        now.as_str_name()
    );
    Err(Refusal::new(Code::UnrecognizedClientType, text))
}

async fn take_settings(proxy: &Proxy, client: &Arc<Client>, sent: Settings) -> Result<()> {
    client.set_settings(sent.clone());
    registration::register(proxy, client, &sent).await?;
    let answer = settings::answer(proxy, sent).await?;
    tell_settings(client, answer);
    Ok(())
}

/// Tells the client its settings again if they have changed since: somebody may have changed its group.
pub async fn refresh_settings(proxy: &Proxy, client: &Client, sent: &Settings) -> Result<()> {
    if !client.telemetry.is_open() {
        return Ok(());
    }
    let answer = settings::answer(proxy, sent.clone()).await?;
    if !client.was_told(&answer) {
        tell_settings(client, answer);
    }
    Ok(())
}

fn tell_settings(client: &Client, answer: Settings) {
    client.set_told(&answer);
    client.telemetry.send(TelemetryCommand { status: Some(ok()), command: Some(Command::Settings(answer)) });
}

/// Ends a stream. That somebody isn't let in is said in the protocol's own terms, as it is of calls. What kind of client
/// it is for is said in both terms: a client that is newer than this server can learn from it that it is.
fn refuse(client: &Client, stream: u64, refusal: Refusal) {
    let own_terms = || Ok(TelemetryCommand { status: Some(refusal.clone().into_status()), command: None });
    match refusal.code {
        Code::Unauthorized => client.telemetry.end(stream, [own_terms()]),
        Code::UnrecognizedClientType => client.telemetry.end(stream, [own_terms(), Err(status_of(refusal))]),
        _ => client.telemetry.end(stream, [Err(status_of(refusal))]),
    }
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
