//! One request to several brokers, for what each of them has to know.

use crate::client::Client;
use crate::invoker::{Unanswered, success};
use crate::join::join_all;
use crate::refusal::Result;
use roxmq_protocol::command::Command;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Asks all of them at the same time. Those that give no answer are passed over as long as others do: clients say
/// again and again what brokers must know. A refusal counts, whoever else agrees.
pub async fn to_all(client: &Client, brokers: &[Arc<str>], request: &Command) -> Result<()> {
    let calls = brokers.iter().map(|broker| Box::pin(client.call(broker, request.clone(), TIMEOUT)));
    let mut unanswered: Option<Unanswered> = None;
    let mut is_answered = false;
    for answer in join_all(calls.collect()).await {
        match answer {
            Ok(answer) => {
                success(answer)?;
                is_answered = true;
            }
            Err(failure) => {
                tracing::debug!(client_id = %client.id, code = request.code, %failure, "a broker isn't told");
                unanswered = Some(failure);
            }
        }
    }
    match unanswered {
        Some(failure) if !is_answered => Err(failure.into()),
        _ => Ok(()),
    }
}
