//! Where the consumers of a group stand by their own account (223): each is asked (221).

use super::answer;
use crate::Broker;
use crate::clients::member::Member;
use crate::dispatch::Answer;
use crate::refusal::Refusal;
use roxmq_protocol::body::offset_table::ConsumerStatus;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_protocol::request::group::GetConsumerStatus;
use roxmq_protocol::version;
use roxmq_remoting::Connection;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long each consumer has for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn handle(broker: Arc<Broker>, _: Arc<Connection>, asked: Command) -> Answer {
    Box::pin(async move {
        let (members, question) = {
            let fields = asked.ext_fields();
            let header = GetConsumerStatus::decode(&fields)?;
            let question = Command::request(request::GET_CONSUMER_STATUS_FROM_CLIENT)
                .with("topic", &header.topic)
                .with("group", &header.group);
            (reachable(&broker, &header)?, question)
        };
        let mut calls = JoinSet::new();
        for member in members {
            let question = question.clone();
            calls.spawn(async move { ask(&member, question).await });
        }
        // Who doesn't answer is missing in the table.
        let mut status = ConsumerStatus::default();
        while let Some(answered) = calls.join_next().await {
            status.consumer_table.extend(answered.ok().flatten());
        }
        Ok(answer(&status))
    })
}

/// The consumers that are meant, if all of the group are new enough to be asked.
fn reachable(
    broker: &Broker,
    header: &GetConsumerStatus<'_>,
) -> Result<Vec<Arc<Member<Arc<Connection>>>>, Refusal> {
    let Some(group) = broker.clients.consumer_group(&header.group) else {
        return Err(Refusal::failed(format!(
            "No Any Consumer online in the consumer group: [{}]",
            header.group
        )));
    };
    if let Some(old) = group.members.iter().find(|member| member.client.version < version::V3_0_7_SNAPSHOT) {
        return Err(Refusal::failed(format!(
            "the client does not support this feature. version={} client={}",
            version::name(old.client.version),
            old.client.client_id
        )));
    }
    let meant = |member: &&Arc<Member<_>>| {
        header.client_id.as_deref().is_none_or(|client_id| member.client.client_id == client_id)
    };
    Ok(group.members.iter().filter(meant).cloned().collect())
}

async fn ask(
    member: &Member<Arc<Connection>>,
    question: Command,
) -> Option<(String, BTreeMap<MessageQueue, i64>)> {
    let client_id = &member.client.client_id;
    match member.client.channel.call(question, ANSWER_TIMEOUT).await {
        Ok(answered) if answered.code == response::SUCCESS => {
            let status = ConsumerStatus::from_json_bytes(&answered.body);
            let status = status
                .inspect_err(|error| tracing::warn!(client_id, %error, "a consumer's status can't be read"));
            Some((client_id.clone(), status.ok()?.message_queue_table))
        }
        Ok(answered) => {
            tracing::warn!(client_id, code = answered.code, "a consumer didn't tell its status");
            None
        }
        Err(error) => {
            tracing::warn!(client_id, %error, "a consumer didn't tell its status");
            None
        }
    }
}
