//! Whether a message may come in, and which queue it goes to. The order of the rules is that of the Java server.

use super::rules;
use super::topics::{KnownTopics, TopicIndex};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use crate::retry;
use crate::topics::{CreateError, Topic};
use roxmq_protocol::code::response;
use roxmq_protocol::names;
use roxmq_protocol::request::send::SendHeader;
use roxmq_protocol::sys_flag;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::QueueId;
use std::sync::Arc;

/// A message that the rules have let through.
pub(super) struct Admitted {
    pub(super) topic: TopicIndex,
    pub(super) queue_id: QueueId,
    /// It has failed too often, or its group consumes in order: the topic is the group's dead-letter topic.
    pub(super) dead_letter: bool,
}

/// `turn` chooses the queue of a message that names none.
pub(super) fn admit(
    broker: &Broker,
    config: &BrokerConfig,
    topics: &mut KnownTopics,
    header: &SendHeader<'_>,
    client_version: i32,
    turn: u32,
) -> Result<Admitted, Refusal> {
    rules::check_broker_writable(config.broker_permission, &config.broker_name)?;
    rules::check_open(&header.topic)?;
    let topic = match topics.find(broker, &header.topic) {
        Some(topic) => topic,
        None => topics.add(create_topic(broker, header)?),
    };
    rules::check_topic_writable(&topics[topic])?;
    let queue_id = rules::choose_queue(&topics[topic], header.queue_id, turn)?;
    rules::check_sys_flag(header.sys_flag)?;
    let Some(group) = names::group_of_retry_topic(&header.topic) else {
        return Ok(Admitted { topic, queue_id, dead_letter: false });
    };
    if header.batch {
        return Err(rules::illegal(format!("batch request does not support retry group [{}]", header.topic)));
    }
    if is_given_up(broker, header, group, client_version)? {
        return Ok(Admitted {
            topic: topics.add(dead_letter_topic(broker, group)?),
            queue_id: QueueId(0),
            dead_letter: true,
        });
    }
    Ok(Admitted { topic, queue_id, dead_letter: false })
}

/// A topic that its first message makes.
fn create_topic(broker: &Broker, header: &SendHeader<'_>) -> Result<Arc<Topic>, Refusal> {
    const RETRY_QUEUES: i32 = 1;
    let name = &*header.topic;
    names::check_topic(name).map_err(|error| Refusal::invalid(error.to_string()))?;
    if let Some(group) = names::group_of_retry_topic(name) {
        // A retry topic is made for a group only, so that nobody fills the table with topics of nobody's.
        broker.groups.get_or_create(group).ok_or_else(|| Refusal::group_missing(group))?;
        let unit = if header.unit_mode { sys_flag::topic::UNIT_SUB } else { 0 };
        let created = broker.topics.create_internal(name, RETRY_QUEUES, perm::READ | perm::WRITE, unit);
        return created.map_err(|error| Refusal::failed(error.to_string()));
    }
    let unit = if header.unit_mode { sys_flag::topic::UNIT } else { 0 };
    let queues = header.default_topic_queue_nums;
    broker.topics.create_by_send(name, &header.default_topic.decode(), queues, unit).map_err(|error| match error {
        CreateError::State(error) => Refusal::failed(error.to_string()),
        missing => Refusal::new(
            response::TOPIC_NOT_EXIST,
            format!(
                "{missing}; apply first please!\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
            ),
        ),
    })
}

/// Whether a message sent to a retry topic goes to the dead-letter topic instead.
fn is_given_up(
    broker: &Broker,
    header: &SendHeader<'_>,
    group_name: &str,
    client_version: i32,
) -> Result<bool, Refusal> {
    let group = broker.groups.get_or_create(group_name).ok_or_else(|| Refusal::group_missing(group_name))?;
    let attempts_max = retry::attempts_max(group.retry_max_times, header.max_reconsume_times, client_version);
    let in_order = broker.locks.any_live(group_name, broker.clock.now());
    Ok(retry::is_dead_letter(header.reconsume_times, attempts_max, in_order))
}

/// The topic of what a group has given up on, made with its first message.
pub(crate) fn dead_letter_topic(broker: &Broker, group: &str) -> Result<Arc<Topic>, Refusal> {
    let name = names::dlq_topic(group);
    let topic = broker.topics.create_internal(&name, retry::DLQ_QUEUES, perm::READ | perm::WRITE, 0);
    topic.map_err(|error| Refusal::failed(error.to_string()))
}
