//! Takes a timer message back before it is delivered: request 370.
//!
//! What is stored is another timer message, for the same slot, that names the one to be left out. As the key index knows
//! every message of the timer topic, a second recall is refused. One of a message that isn't there is taken, as by the
//! Java server, and takes nothing back.

use super::QUEUE;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::{self, Properties, name};
use roxmq_protocol::recall_handle::RecallHandle;
use roxmq_protocol::record::Record;
use roxmq_protocol::request::recall::RecallMessage;
use roxmq_protocol::sys_flag::perm;
use roxmq_protocol::{java_hash, names};
use roxmq_store::timer::slot_before;
use roxmq_store::{AppendBatch, IndexKeys, Millis, NewMessage};

const BODY: &[u8] = b"0";
const TAG: &str = "_RECALL_TAG_";
/// Messages with one unique key that are looked at: a message that rolls has one more each time.
const FOUND_MAX: usize = 64;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    // Clients read the region from every answer.
    let answer = recall(broker, request).unwrap_or_else(Refusal::into_response);
    Ok(answer.with("MSG_REGION", &broker.config().region_id))
}

fn recall(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let ext = request.ext_fields();
    let header = RecallMessage::decode(&ext)?;
    let handle = check(broker, &header)?;
    let _one_at_a_time = broker.timers.recalls.lock();
    let slot = check_time(broker, &handle)?;
    check_first(broker, &handle, slot)?;
    store(broker, &header, &handle, slot)?;
    Ok(Command::response(response::SUCCESS).with("msgId", &handle.uniq_key))
}

/// Everything but the time.
fn check(broker: &Broker, header: &RecallMessage<'_>) -> Result<RecallHandle, Refusal> {
    let config = broker.config();
    if !config.recall_message_enable {
        return Err(Refusal::denied("recall failed, operation is forbidden (recallMessageEnable=false)"));
    }
    if !perm::is_writeable(config.broker_permission) && !config.allow_recall_when_broker_not_writeable {
        return Err(Refusal::new(
            response::SERVICE_NOT_AVAILABLE,
            format!(
                "recall failed, broker service not available: brokerPermission is {} and allowRecallWhenBrokerNotWriteable false",
                config.broker_permission
            ),
        ));
    }
    if broker.topics.get(&header.topic).is_none() {
        return Err(Refusal::new(
            response::TOPIC_NOT_EXIST,
            format!("recall failed, the topic[{}] not exist", header.topic),
        ));
    }
    let handle = RecallHandle::decode(&header.recall_handle).map_err(|error| illegal(error.to_string()))?;
    if handle.topic != header.topic {
        return Err(illegal(format!(
            "recall failed, topic not match: the handle is of a message of {}",
            handle.topic
        )));
    }
    if handle.broker_name != config.broker_name {
        return Err(illegal(format!(
            "recall failed, broker service not available: the handle is of the broker {}",
            handle.broker_name
        )));
    }
    Ok(handle)
}

/// The slot of the message, if it isn't on yet.
fn check_time(broker: &Broker, handle: &RecallHandle) -> Result<Millis, Refusal> {
    let config = broker.config();
    let left_ms = i128::from(handle.time_ms) - i128::from(broker.clock.now().0);
    if left_ms <= 0 {
        return Err(illegal("recall failed, timestamp invalid: the message is due, or delivered already"));
    }
    if left_ms >= i128::from(config.timer_max_delay_sec) * 1_000 {
        return Err(illegal(format!(
            "recall failed, timestamp invalid: no message waits for longer than {} s (timerMaxDelaySec)",
            config.timer_max_delay_sec
        )));
    }
    if !config.timer_wheel_enable {
        return Err(Refusal::failed("recall failed, timerWheelEnable is false"));
    }
    Ok(slot_before(Millis(handle.time_ms), config.timer_precision_ms))
}

/// Refuses to recall what was recalled. Without an index nothing is known.
fn check_first(broker: &Broker, handle: &RecallHandle, slot: Millis) -> Result<(), Refusal> {
    if !broker.config().message_index_enable {
        return Ok(());
    }
    let slot = slot.to_string();
    let hash = java_hash::index_hash(names::TIMER_TOPIC, &handle.uniq_key);
    let found = broker.store.query_key(hash, Millis(0), Millis(i64::MAX), FOUND_MAX)?;
    for place in found.places {
        let Some(raw) = broker.store.record(place)? else { continue };
        let Ok(record) = Record::decode(&raw) else { continue };
        let [uniq_key, out, topic] =
            record.properties.get_all([name::UNIQ_KEY, name::TIMER_OUT_MS, name::REAL_TOPIC]);
        // A message of another topic may have the key, too.
        let same =
            [uniq_key, out, topic] == [&handle.uniq_key, &slot, &handle.topic].map(|text| Some(&**text));
        let is_recall = record.properties.contains(name::TIMER_DEL_UNIQKEY);
        if record.topic == names::TIMER_TOPIC && same && is_recall {
            return Err(illegal(format!(
                "recall failed, the message {} was recalled already",
                handle.uniq_key
            )));
        }
    }
    Ok(())
}

fn store(
    broker: &Broker,
    header: &RecallMessage<'_>,
    handle: &RecallHandle,
    slot: Millis,
) -> Result<(), Refusal> {
    let now = broker.clock.now();
    let with_topic = broker.config().append_topic_for_timer_delete_key;
    let key =
        if with_topic { format!("{}+{}", handle.topic, handle.uniq_key) } else { handle.uniq_key.clone() };
    let mut encoded = Vec::new();
    properties::push(&mut encoded, name::TAGS, TAG);
    properties::push(&mut encoded, name::TIMER_DEL_UNIQKEY, &key);
    properties::push(&mut encoded, name::UNIQ_KEY, &handle.uniq_key);
    properties::push_number(&mut encoded, name::TIMER_DELIVER_MS, handle.time_ms);
    properties::push_number(&mut encoded, name::BORN_TIMESTAMP, now.0);
    properties::push(&mut encoded, name::PRODUCER_GROUP, &header.producer_group);
    properties::push_number(&mut encoded, name::TIMER_OUT_MS, slot.0);
    properties::push(&mut encoded, name::REAL_TOPIC, &handle.topic);
    properties::push_number(&mut encoded, name::REAL_QUEUE_ID, 0);
    let message = NewMessage {
        body: BODY,
        properties: &encoded,
        tags_code: java_hash::tags_code(TAG),
        key_hashes: &IndexKeys::of(Properties::new(&encoded)).hashes(names::TIMER_TOPIC),
        ..NewMessage::own(names::TIMER_TOPIC, QUEUE, now, broker.advertised)
    };
    let failed = |error: String| Refusal::failed(format!("recall failed, execute error: {error}"));
    let mut batch = AppendBatch::new();
    batch.push(&broker.store, &message).map_err(|error| failed(error.to_string()))?;
    let end = broker.store.append(&mut batch).map_err(|error| failed(error.to_string()))?;
    // Before it is visible it takes nothing back.
    broker.store.wait_durable(end).map_err(|error| failed(error.to_string()))
}

fn illegal(remark: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(response::ILLEGAL_OPERATION, remark)
}
