//! Clients' answers as the tools that asked for them read them.

use super::questions::code_of;
use crate::client::Client;
use crate::proxy::now_ms;
use crate::registration;
use crate::schema::settings::PubSub;
use crate::schema::{ClientType, Code, Settings, Status};
use roxmq_protocol::body::consumer_answers::{ConsumeMessageDirectlyResult, ConsumeResult, RunningInfo};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use std::collections::BTreeMap;

/// How a client fared with the message that it was given to consume.
pub fn verified(status: Option<&Status>) -> Command {
    let result = match code_of(status) {
        Code::Ok => Some(ConsumeResult::Success),
        Code::FailedToConsumeMessage => Some(ConsumeResult::Later),
        Code::MessageCorrupted => Some(ConsumeResult::ReturnNull),
        _ => None,
    };
    let Some(consume_result) = result else { return failed(status, "the client didn't consume the message") };
    let said = status.map(|status| status.message.clone()).filter(|text| !text.is_empty());
    let body = ConsumeMessageDirectlyResult {
        consume_result: Some(consume_result),
        remark: Some(said.unwrap_or_else(|| "from gRPC client".to_owned())),
        ..ConsumeMessageDirectlyResult::default()
    };
    Command::response(response::SUCCESS).body(body.to_json())
}

/// What a client's threads do, with what else is known of it.
pub fn threads(client: &Client, status: Option<&Status>, stacks: Option<String>) -> Command {
    match code_of(status) {
        Code::Ok => running_info(client, Some(stacks.unwrap_or_default())),
        _ => failed(status, "the client didn't show its threads"),
    }
}

fn failed(status: Option<&Status>, what: &str) -> Command {
    let code = match code_of(status) {
        Code::VerifyFifoMessageUnsupported => response::NO_PERMISSION,
        _ => response::SYSTEM_ERROR,
    };
    let said = status.map_or("", |status| status.message.as_str());
    Command::response(code).remark(format!("{what}: {} {said}", code_of(status).as_str_name()))
}

/// What is known of a consumer without asking it.
pub fn running_info(client: &Client, jstack: Option<String>) -> Command {
    let Some(settings) = client.settings() else {
        let text = format!("the settings of the client {} are not known", client.id);
        return Command::response(response::SYSTEM_ERROR).remark(text);
    };
    let subscriptions = match &settings.pub_sub {
        Some(PubSub::Subscription(subscription)) => registration::subscriptions(subscription),
        _ => Ok(Vec::new()),
    };
    match subscriptions {
        Ok(subscriptions) => {
            let info = RunningInfo { jstack, properties: properties(client, &settings), subscriptions };
            Command::response(response::SUCCESS).body(info.to_json())
        }
        Err(refusal) => Command::response(response::SYSTEM_ERROR).remark(refusal.text),
    }
}

fn properties(client: &Client, settings: &Settings) -> BTreeMap<String, String> {
    let fifo = match &settings.pub_sub {
        Some(PubSub::Subscription(subscription)) => subscription.fifo(),
        _ => false,
    };
    let consume_type = match settings.client_type() {
        ClientType::SimpleConsumer => "CONSUME_ACTIVELY",
        _ => "CONSUME_PASSIVELY",
    };
    let agent = settings.user_agent.as_ref();
    let version = agent.map_or("", |agent| agent.version.as_str());
    let started = now_ms().saturating_sub(client.known_for().as_millis().try_into().unwrap_or(i64::MAX));
    [
        (RunningInfo::CONSUME_ORDERLY, fifo.to_string()),
        (RunningInfo::CONSUME_TYPE, consume_type.to_owned()),
        (RunningInfo::CLIENT_VERSION, version.to_owned()),
        (RunningInfo::START_TIMESTAMP, started.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
