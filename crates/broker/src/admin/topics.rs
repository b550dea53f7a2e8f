//! Topics made, changed, deleted and shown: 17, 18, 215, 21, 351.

use super::{answer, success, table_part, topic_attributes};
use crate::Broker;
use crate::dispatch::Answer;
use crate::refusal::Refusal;
use crate::service::Caller;
use crate::state::STATE_TOPIC;
use crate::topics::{QUEUES_MAX, TopicConfig, TopicFilterType};
use roxmq_protocol::body::attributes::{AttributeChanges, changes_of, parse_changes};
use roxmq_protocol::body::topic_config::TopicConfigList;
use roxmq_protocol::body::topic_table::TopicTableAndMapping;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::{FromJson, Map};
use roxmq_protocol::names;
use roxmq_protocol::request::topic::{CreateTopic, TablePart, TopicHeader};
use roxmq_remoting::Connection;
use std::sync::Arc;

/// Read, write, inherit, priority.
const PERM_MAX: i32 = 15;

/// Makes or changes a topic (17).
pub(crate) fn update(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    let made = update_now(&broker, &connection, &request);
    answer_once_told(broker, made)
}

/// Makes or changes several topics (18): all of them, or none if one can't be.
pub(crate) fn update_list(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    let made = update_list_now(&broker, &connection, &request);
    answer_once_told(broker, made)
}

/// Whoever has made a topic asks the name servers for it next.
fn answer_once_told(broker: Arc<Broker>, made: Result<(), Refusal>) -> Answer {
    Box::pin(async move {
        made?;
        broker.topic_changes.wait_told().await;
        Ok(success())
    })
}

fn update_now(broker: &Broker, connection: &Connection, request: &Command) -> Result<(), Refusal> {
    let fields = request.ext_fields();
    let header = CreateTopic::decode(&fields)?;
    let changes = parse_changes(header.attributes.as_deref().unwrap_or_default())?;
    let filter_type = header.topic_filter_type.as_deref().map(TopicFilterType::from_name);
    let config = TopicConfig {
        attributes: Default::default(),
        order: header.order,
        perm: header.perm,
        read_queue_nums: header.read_queue_nums,
        topic_filter_type: filter_type.unwrap_or(TopicFilterType::SingleTag),
        topic_name: header.topic.into_owned(),
        topic_sys_flag: header.topic_sys_flag,
        write_queue_nums: header.write_queue_nums,
        extra: Map::new(),
    };
    put(broker, resolve(broker, config, &changes)?, connection)
}

fn update_list_now(broker: &Broker, connection: &Connection, request: &Command) -> Result<(), Refusal> {
    let list = TopicConfigList::from_json_bytes(&request.body)?;
    let mut resolved = Vec::new();
    for config in list.topic_config_list {
        let changes = changes_of(&config.attributes)?;
        resolved.push(resolve(broker, config, &changes)?);
    }
    resolved.into_iter().try_for_each(|config| put(broker, config, connection))
}

/// The configuration as it will be kept, if it may be.
fn resolve(broker: &Broker, config: TopicConfig, changes: &AttributeChanges) -> Result<TopicConfig, Refusal> {
    let topic = &config.topic_name;
    names::check_topic(topic)?;
    check_not_system(broker, topic)?;
    let limits = [
        ("readQueueNums", config.read_queue_nums, QUEUES_MAX),
        ("writeQueueNums", config.write_queue_nums, QUEUES_MAX),
        ("perm", config.perm, PERM_MAX),
    ];
    for (field, value, limit) in limits {
        if !(0..=limit).contains(&value) {
            return Err(Refusal::invalid(format!(
                "{field} of topic {topic} should be from 0 to {limit} but is {value}"
            )));
        }
    }
    let known = broker.topics.get(topic);
    let current = known.as_ref().map(|known| &known.attributes);
    let attributes = topic_attributes::change(current, changes, broker.config().enable_mixed_message_type)?;
    Ok(TopicConfig { attributes, ..config })
}

fn put(broker: &Broker, config: TopicConfig, connection: &Connection) -> Result<(), Refusal> {
    // Light queues come with their messages and are what they are. As with the Java server that is no error.
    if names::is_lmq(&config.topic_name) {
        return Ok(());
    }
    if broker.topics.get(&config.topic_name).is_some_and(|known| known.config == config) {
        return Ok(());
    }
    let topic = broker.topics.put(config)?;
    // Pops wait for the queues that there were. They ask again.
    broker.pop_waits.finish_topic(broker, &topic.topic_name);
    tracing::info!(
        topic = topic.topic_name,
        read_queues = topic.read_queue_nums,
        write_queues = topic.write_queue_nums,
        perm = topic.perm,
        caller = %connection.remote(),
        "a topic was made or changed"
    );
    Ok(())
}

/// Deletes a topic with everything that belongs to it (215). An unknown one may still have queues or offsets.
pub(crate) fn delete(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let topic = TopicHeader::decode(&fields)?.topic;
    if topic.trim().is_empty() {
        return Err(Refusal::invalid("The specified topic is blank."));
    }
    check_not_system(broker, &topic)?;
    if broker.config().clear_retry_topic_when_delete_topic {
        broker.delete_pop_retry_topics(&topic)?;
    }
    broker.delete_topic(&topic)?;
    tracing::info!(%topic, "a topic was deleted");
    Ok(success())
}

fn check_not_system(broker: &Broker, topic: &str) -> Result<(), Refusal> {
    let is_protected =
        broker.config().validate_system_topic_when_update_topic && broker.topics.is_system(topic);
    // As a topic the broker's own records could be read, and they have passwords.
    if is_protected || topic == STATE_TOPIC {
        return Err(Refusal::invalid(format!("The topic[{topic}] is conflict with system topic.")));
    }
    Ok(())
}

/// The table of topics, or a part of it (21).
pub(crate) fn table(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let part = TablePart::decode_topics(&fields)?;
    let data_version = broker.topics.data_version();
    let topics = broker.topics.all();
    let range = table_part::range(&part, &broker.config(), data_version, topics.len())?;
    let table = TopicTableAndMapping {
        data_version,
        topic_config_table: topics[range]
            .iter()
            .map(|topic| (topic.topic_name.clone(), topic.config.clone()))
            .collect(),
        ..TopicTableAndMapping::default()
    };
    Ok(answer(&table).with("totalTopicNum", topics.len()))
}

/// One topic's settings (351).
pub(crate) fn show(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let topic = TopicHeader::decode(&frame.header.ext)?.topic;
    let Some(known) = broker.topics.get(&topic) else {
        let remark = format!("No topic in this broker. topic: {topic}");
        return Err(Refusal::new(response::TOPIC_NOT_EXIST, remark));
    };
    Ok(answer(&known.config.clone().with_mapping(None)))
}
