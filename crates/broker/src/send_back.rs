//! Messages that a consumer could not handle and gives back: request 36.
//!
//! The broker stores a copy for another attempt, after the delay of a level, or for the group's dead-letter topic.

use crate::Broker;
use crate::dispatch::Answer;
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use crate::retry::{self, Fate};
use crate::send;
use crate::topics::Topic;
use roxmq_access::{Action, Need};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::properties::{PROPERTIES_BYTES_MAX, name, rewrite};
use roxmq_protocol::record::Record;
use roxmq_protocol::request::send_back::SendBack;
use roxmq_protocol::sys_flag::perm;
use roxmq_protocol::{java_hash, names, sys_flag};
use roxmq_remoting::Connection;
use roxmq_store::{AppendBatch, IndexKeys, Millis, NewMessage, PhyOffset, QueueId, STATE_TOPIC};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) fn handle(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    Box::pin(async move {
        let returning = Arc::clone(&broker);
        broker.disk_work.run(move || send_back(&returning, &connection, &request)).await?
    })
}

fn send_back(broker: &Broker, connection: &Connection, request: &Command) -> Result<Command, Refusal> {
    let ext = request.ext_fields();
    let header = SendBack::decode(&ext)?;
    let group =
        broker.groups.get_or_create(&header.group).ok_or_else(|| Refusal::group_missing(&header.group))?;
    let config = broker.config();
    if !perm::is_writeable(config.broker_permission) {
        return Err(Refusal::denied(format!(
            "the broker[{}] sending message is forbidden: brokerPermission is {}",
            config.broker_name, config.broker_permission
        )));
    }
    if group.retry_queue_nums <= 0 {
        // The group has said that it wants no retries.
        return Ok(Command::response(response::SUCCESS));
    }
    let raw = broker.store.record(PhyOffset(header.offset))?;
    let not_there = || Refusal::failed(format!("look message by offset failed, {}", header.offset));
    let raw = raw.ok_or_else(not_there)?;
    let record = Record::decode(&raw).map_err(|_| not_there())?;
    if record.topic == STATE_TOPIC {
        // Whoever makes an offset up is not to be handed the broker's own records as dead letters.
        return Err(not_there());
    }
    // Nor are others' messages: a group returns what it may read.
    let read = Need::consumed(record.topic, &header.group, &[Action::Sub]);
    broker.guard.lets_have(connection, request, read)?;
    let attempts_max =
        retry::attempts_max(group.retry_max_times, header.max_reconsume_times, request.version);
    let fate = retry::fate_of_sent_back(record.reconsume_times, attempts_max, header.delay_level);
    let (topic, queue_id) = match fate {
        Fate::DeadLetter => (send::dead_letter_topic(broker, &group.group_name)?, QueueId(0)),
        Fate::Retry { .. } => retry_queue(broker, &group, header.unit_mode)?,
    };
    if !perm::is_writeable(topic.perm) {
        return Err(Refusal::denied(format!("the topic[{}] sending message is forbidden", topic.topic_name)));
    }
    store_copy(broker, &record, fate, &topic, queue_id)?;
    count(broker, &group.group_name, &record);
    Ok(Command::response(response::SUCCESS))
}

/// A queue of the group's retry topic, which is made, or gets more queues, if the group wants them.
fn retry_queue(
    broker: &Broker,
    group: &SubscriptionGroupConfig,
    unit_mode: bool,
) -> Result<(Arc<Topic>, QueueId), Refusal> {
    static TURN: AtomicU32 = AtomicU32::new(0);
    let queues = group.retry_queue_nums;
    let name = names::retry_topic(&group.group_name);
    let unit = if unit_mode { sys_flag::topic::UNIT_SUB } else { 0 };
    let failed = |error: crate::state::StateError| Refusal::failed(error.to_string());
    let created = broker.topics.create_internal(&name, queues, perm::READ | perm::WRITE, unit);
    let mut topic = created.map_err(failed)?;
    if topic.read_queue_nums < queues || topic.write_queue_nums < queues {
        let mut config = topic.config.clone();
        config.read_queue_nums = config.read_queue_nums.max(queues);
        config.write_queue_nums = config.write_queue_nums.max(queues);
        topic = broker.topics.put(config).map_err(failed)?;
    }
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    Ok((topic, QueueId((turn % queues as u32) as i32)))
}

fn store_copy(
    broker: &Broker,
    record: &Record<'_>,
    fate: Fate,
    topic: &Topic,
    queue_id: QueueId,
) -> Result<(), Refusal> {
    let parked = match fate {
        Fate::DeadLetter => None,
        Fate::Retry { delay_level } => Some(broker.delay_levels.park(delay_level, broker.clock.now())),
    };
    let level = parked.map(|parked| parked.level.to_string());
    let target = parked.map(|_| (topic.topic_name.as_str(), queue_id.to_string()));
    let origin = OffsetMessageId { store_host: record.store_host, phy_offset: record.phy_offset }.to_string();
    let property = |name| record.properties.get(name);
    let properties = properties_of_copy(
        record,
        &[
            (name::RETRY_TOPIC, Some(property(name::RETRY_TOPIC).unwrap_or(record.topic))),
            (name::ORIGIN_MESSAGE_ID, Some(property(name::ORIGIN_MESSAGE_ID).unwrap_or(&origin))),
            (name::DELAY_TIME_LEVEL, level.as_deref()),
            (name::REAL_TOPIC, target.as_ref().map(|(topic, _)| *topic)),
            (name::REAL_QUEUE_ID, target.as_ref().map(|(_, queue_id)| queue_id.as_str())),
        ],
    )?;
    let (stored_topic, stored_queue, tags_code) = match parked {
        Some(parked) => (names::SCHEDULE_TOPIC, parked.queue_id, parked.due.0),
        None => (topic.topic_name.as_str(), queue_id, property(name::TAGS).map_or(0, java_hash::tags_code)),
    };
    let message = NewMessage {
        topic: stored_topic,
        queue_id: stored_queue,
        flag: record.flag,
        sys_flag: sys_flag::with_transaction(record.sys_flag, sys_flag::TRANSACTION_NONE),
        born: Millis(record.born_timestamp),
        born_host: record.born_host,
        store_host: broker.advertised,
        reconsume_times: record.reconsume_times.saturating_add(1),
        prepared_transaction_offset: 0,
        body: record.body,
        properties: &properties,
        tags_code,
        key_hashes: &IndexKeys::of(record.properties).hashes(stored_topic),
    };
    let mut batch = AppendBatch::new();
    batch.push(&broker.store, &message).map_err(|error| Refusal::failed(error.to_string()))?;
    let bytes = batch.bytes() as u64;
    let end = broker.store.append(&mut batch).map_err(|error| Refusal::failed(error.to_string()))?;
    broker.stats.put(&topic.stats, 1, bytes);
    broker.store.wait_durable(end).map_err(|error| Refusal::failed(error.to_string()))
}

/// Properties that a copy may lose for what it needs more.
const EXPENDABLE: [(&str, Option<&str>); 4] = [
    (name::CLUSTER, None),
    (name::MSG_REGION, None),
    (name::TRACE_SWITCH, None),
    (name::WAIT_STORE_MSG_OK, None),
];

/// The properties of a message with some set; what the broker had added by itself makes room if need be.
pub(crate) fn properties_of_copy(
    record: &Record<'_>,
    changes: &[(&str, Option<&str>)],
) -> Result<Vec<u8>, Refusal> {
    let mut properties = Vec::with_capacity(record.properties.raw().len() + 256);
    rewrite(record.properties.raw(), &mut properties, changes);
    if properties.len() > PROPERTIES_BYTES_MAX {
        let whole = std::mem::take(&mut properties);
        rewrite(&whole, &mut properties, &EXPENDABLE);
    }
    if properties.len() > PROPERTIES_BYTES_MAX {
        return Err(Refusal::failed(format!(
            "the message can't be sent back: with what another attempt adds its properties have {} bytes, the limit is {PROPERTIES_BYTES_MAX}",
            properties.len()
        )));
    }
    Ok(properties)
}

fn count(broker: &Broker, group: &str, record: &Record<'_>) {
    let topic = record.properties.get(name::RETRY_TOPIC).unwrap_or(record.topic);
    broker.stats.group(topic, group).send_back.add(1, record.total_size() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(properties: &[u8]) -> Vec<u8> {
        roxmq_testkit::record("T", b"b", properties)
    }

    /// A message whose properties were just allowed has to be retried all the same: what the broker had added by
    /// itself makes room for what the retry needs.
    #[test]
    fn a_full_property_string_makes_room() {
        let own = b"CLUSTER\x01DefaultCluster\x02MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02";
        let user = |bytes: usize| [b"k\x01", "v".repeat(bytes - 3).as_bytes(), b"\x02"].concat();
        let changes = [(name::RETRY_TOPIC, Some("T")), (name::DELAY_TIME_LEVEL, Some("3"))];
        let check = |user_bytes: usize, expected: Option<bool>| {
            let raw = record(&[&user(user_bytes)[..], own].concat());
            let record = Record::decode(&raw).expect("a record");
            let kept = properties_of_copy(&record, &changes).ok().map(|properties| {
                let properties = roxmq_protocol::properties::Properties::new(&properties);
                assert_eq!(properties.get("k").map(str::len), Some(user_bytes - 3));
                assert_eq!(
                    (properties.get(name::RETRY_TOPIC), properties.get("DELAY")),
                    (Some("T"), Some("3"))
                );
                properties.contains(name::CLUSTER)
            });
            assert_eq!(kept, expected, "{user_bytes}");
        };
        check(100, Some(true));
        check(PROPERTIES_BYTES_MAX - own.len(), Some(false));
    }

    #[test]
    fn properties_without_any_room_are_refused() {
        let raw = record(&[b"k\x01", "v".repeat(PROPERTIES_BYTES_MAX - 3).as_bytes(), b"\x02"].concat());
        let record = Record::decode(&raw).expect("a record");
        let refusal = properties_of_copy(&record, &[(name::RETRY_TOPIC, Some("T"))]).expect_err("no room");
        assert!(refusal.remark.contains("32767"), "{refusal}");
    }
}
