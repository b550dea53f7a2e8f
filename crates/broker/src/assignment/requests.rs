//! The requests: a client asks for its queues (400), an operator sets how a group reads a topic (401), tools and
//! replicas ask for all such settings (402).

use super::queues;
use super::strategy::{self, Strategy};
use crate::Broker;
use crate::dispatch::Answer;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::assignment::{
    AssignmentAnswer, MessageQueueAssignment, MessageRequestMode, MessageRequestModeSetting,
    MessageRequestModeTable, QueryAssignment,
};
use roxmq_protocol::body::heartbeat::MessageModel;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::{FromJson, ToJson};
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_protocol::names;
use roxmq_remoting::Connection;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The queues of a client (400).
pub(crate) fn query(broker: Arc<Broker>, _: Arc<Connection>, request: Command) -> Answer {
    Box::pin(async move {
        let question = QueryAssignment::from_json_bytes(&request.body)?;
        let setting = setting(&broker, &question.topic, &question.consumer_group);
        let assigned = assign(&broker, &question, &setting).await?;
        let assignments = assigned.map(|queues| {
            let mode = setting.mode;
            queues.into_iter().map(|message_queue| MessageQueueAssignment { message_queue, mode }).collect()
        });
        let answer = AssignmentAnswer { message_queue_assignments: assignments };
        Ok(Command::response(response::SUCCESS).body(answer.to_json()))
    })
}

/// How the group reads the topic: as an operator has set it, else by the broker's default. What a group gets back
/// after failures it pulls in any case.
fn setting(broker: &Broker, topic: &str, group: &str) -> MessageRequestModeSetting {
    if let Some(set) = broker.request_modes.get(topic, group) {
        return set;
    }
    let config = broker.config();
    let mode = if names::is_retry_topic(topic) {
        MessageRequestMode::Pull
    } else {
        config.default_message_request_mode
    };
    MessageRequestModeSetting {
        consumer_group: group.to_owned(),
        mode,
        pop_share_queue_num: config.default_pop_share_queue_num,
        topic: topic.to_owned(),
    }
}

/// The client's queues; none if the question can't be answered, and the client is to keep what it has.
async fn assign(
    broker: &Broker,
    question: &QueryAssignment,
    setting: &MessageRequestModeSetting,
) -> Result<Option<BTreeSet<MessageQueue>>, Refusal> {
    let all = queues::of_topic(broker, &question.topic).await;
    match question.message_model {
        MessageModel::Broadcasting => return Ok(all),
        MessageModel::Clustering => {}
        MessageModel::LiteSelective => return Ok(None),
        MessageModel::Unknown => {
            return Err(Refusal::failed(
                "the messageModel is missing or is neither CLUSTERING nor BROADCASTING",
            ));
        }
    }
    if !broker.config().server_load_balancer_enable {
        return Ok(all);
    }
    let strategy = question.strategy_name.as_deref().and_then(Strategy::named);
    let online = broker.clients.consumer_group(&question.consumer_group);
    let (Some(all), Some(strategy), Some(online)) = (all, strategy, online) else { return Ok(None) };
    let all: Vec<MessageQueue> = all.into_iter().collect();
    let clients = online.members.client_ids();
    let client = &question.client_id;
    Ok(match setting.mode {
        MessageRequestMode::Pop => {
            strategy::to_pop(strategy, &all, &clients, client, setting.pop_share_queue_num)
        }
        _ => strategy::to_pull(strategy, &all, &clients, client).map(BTreeSet::from_iter),
    })
}

/// Sets how a group reads a topic (401).
pub(crate) fn set_mode(broker: &Broker, caller: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let setting = MessageRequestModeSetting::from_json_bytes(frame.body)?;
    let (topic, group) = (&setting.topic, &setting.consumer_group);
    if names::is_retry_topic(topic) {
        return Err(Refusal::denied("retry topic is not allowed to set mode"));
    }
    if broker.topics.get(topic).is_none() {
        return Err(Refusal::new(response::TOPIC_NOT_EXIST, format!("topic[{topic}] not exist")));
    }
    if broker.groups.get_or_create(group).is_none() {
        return Err(Refusal::group_missing(group));
    }
    if setting.mode == MessageRequestMode::Unknown {
        return Err(Refusal::invalid("the mode should be PULL or POP"));
    }
    tracing::info!(
        %topic, %group, mode = setting.mode.name(), pop_share_queue_num = setting.pop_share_queue_num,
        caller = %caller.connection.remote(), "how a group reads a topic was set"
    );
    broker.request_modes.put(setting)?;
    Ok(Command::response(response::SUCCESS))
}

/// Every such setting (402).
pub(crate) fn modes(broker: &Broker, _: &Caller<'_>, _: &Frame<'_>) -> Result<Command, Refusal> {
    let table = MessageRequestModeTable { message_request_mode_map: broker.request_modes.all() };
    Ok(Command::response(response::SUCCESS).body(table.to_json()))
}
