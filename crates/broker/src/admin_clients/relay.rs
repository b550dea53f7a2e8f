//! Requests that a consumer answers, passed on to it: its running info (307), one message to consume now (309).

use crate::Broker;
use crate::clients::member::Client;
use crate::dispatch::Answer;
use crate::query::may_be_shown;
use crate::refusal::Refusal;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::request::client::{ConsumeMessageDirectly, ConsumerRunningInfo};
use roxmq_protocol::version;
use roxmq_remoting::{CallError, Connection};
use roxmq_store::PhyOffset;
use std::sync::Arc;
use std::time::Duration;

/// How long a consumer has for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn running_info(broker: Arc<Broker>, _: Arc<Connection>, asked: Command) -> Answer {
    Box::pin(async move {
        let (group, client_id) = {
            let fields = asked.ext_fields();
            let header = ConsumerRunningInfo::decode(&fields)?;
            (header.consumer_group.into_owned(), header.client_id.into_owned())
        };
        let client = find(&broker, &group, Some(&client_id))?;
        let passed_on = pass_on(request::GET_CONSUMER_RUNNING_INFO, asked);
        call(&group, &client, passed_on).await
    })
}

pub(crate) fn consume_directly(broker: Arc<Broker>, _: Arc<Connection>, asked: Command) -> Answer {
    Box::pin(async move {
        let (group, client_id, message, topic) = {
            let fields = asked.ext_fields();
            let header = ConsumeMessageDirectly::decode(&fields)?;
            let id: OffsetMessageId = fields.need_str("msgId")?.parse().map_err(
                |error: roxmq_protocol::message_id::InvalidMessageId| Refusal::failed(error.to_string()),
            )?;
            let client_id = header.client_id.map(|id| id.into_owned());
            (header.consumer_group.into_owned(), client_id, id, header.topic.map(|topic| topic.into_owned()))
        };
        let client = find(&broker, &group, client_id.as_deref())?;
        let record = read_record(&broker, message, topic.as_deref()).await?;
        let topic = topic.and_then(|topic| broker.topics.get(&topic));
        let config = broker.groups.get(&group);
        let passed_on = pass_on(request::CONSUME_MESSAGE_DIRECTLY, asked)
            .with("brokerName", &broker.config().broker_name)
            .with_some("topicSysFlag", topic.map(|topic| topic.topic_sys_flag))
            .with_some("groupSysFlag", config.map(|config| config.group_sys_flag))
            .body(record);
        call(&group, &client, passed_on).await
    })
}

/// The consumer, if it is online and new enough to understand what is passed on.
fn find(broker: &Broker, group: &str, client_id: Option<&str>) -> Result<Client<Arc<Connection>>, Refusal> {
    let online = broker.clients.consumer_group(group);
    let member = online.as_ref().zip(client_id).and_then(|(group, id)| group.members.by_client_id(id));
    let client_id = client_id.unwrap_or_default();
    let Some(member) = member else {
        return Err(Refusal::failed(format!("The Consumer <{group}> <{client_id}> not online")));
    };
    let client = member.client.clone();
    if client.version < version::V3_1_8_SNAPSHOT {
        return Err(Refusal::failed(format!(
            "The Consumer <{client_id}> Version <{}> too low to finish, please upgrade it to {}",
            version::name(client.version),
            version::name(version::V3_1_8_SNAPSHOT)
        )));
    }
    Ok(client)
}

async fn read_record(
    broker: &Arc<Broker>,
    message: OffsetMessageId,
    topic: Option<&str>,
) -> Result<Vec<u8>, Refusal> {
    let store = Arc::clone(&broker.store);
    let read = move || store.record(PhyOffset(message.phy_offset));
    let record = broker.disk_work.run(read).await??;
    record.filter(|record| may_be_shown(broker, record, topic)).ok_or_else(|| {
        Refusal::failed(format!(
            "there is no message {message} (any more) at {} of the log",
            message.phy_offset
        ))
    })
}

/// The same request under the broker's name: its fields as they came, its body.
fn pass_on(code: i32, asked: Command) -> Command {
    Command { ext: asked.ext, body: asked.body, ..Command::request(code) }
}

/// The consumer's answer, as it is.
async fn call(group: &str, client: &Client<Arc<Connection>>, passed_on: Command) -> Result<Command, Refusal> {
    let client_id = &client.client_id;
    client.channel.call(passed_on, ANSWER_TIMEOUT).await.map_err(|error| match error {
        CallError::Timeout(_) => Refusal::new(
            response::CONSUME_MSG_TIMEOUT,
            format!("consumer <{group}> <{client_id}> Timeout: {error}"),
        ),
        _ => Refusal::failed(format!("invoke consumer <{group}> <{client_id}> failed: {error}")),
    })
}
