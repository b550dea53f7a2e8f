//! The messages that half messages become: the real one at a commit, a copy when they are given up.

use super::half::HalfMessage;
use super::pending::Waiting;
use crate::Broker;
use crate::lmq;
use crate::timers::{self, Asked, Timing};
use crate::topics::Topic;
use roxmq_protocol::properties::{self, PROPERTIES_BYTES_MAX, Properties, name};
use roxmq_protocol::record::Record;
use roxmq_protocol::{java_hash, names, sys_flag};
use roxmq_store::{AppendBatch, IndexKeys, Millis, NewMessage, QueueId, TooLong};

/// Puts the real message into the batch.
///
/// As with the Java server it keeps all properties of the half message but where it was to go, the marks of the
/// transaction among them. A delay counts from the commit; half messages themselves are not delayed.
pub(super) fn push(
    broker: &Broker,
    batch: &mut AppendBatch,
    half: &HalfMessage<'_>,
    topic: &Topic,
    waiting: &Waiting,
) -> Result<(), TooLong> {
    let committed = Committed {
        sys_flag: sys_flag::with_transaction(half.record.sys_flag, sys_flag::TRANSACTION_COMMIT),
        // Of the record that counts, by which a start after a crash knows that it was committed.
        prepared_transaction_offset: waiting.phy_offset.0,
    };
    let mut changes = vec![(name::REAL_TOPIC, None), (name::REAL_QUEUE_ID, None)];
    let checks = waiting.checks.to_string();
    if waiting.checks > 0 {
        changes.push((name::TRANSACTION_CHECK_TIMES, Some(checks.as_str())));
    }
    let level = half.record.properties.get(name::DELAY_TIME_LEVEL);
    let Some(level) = level.and_then(|level| level.trim().parse().ok()).filter(|level| *level > 0) else {
        // What it asks for was looked at when it was sent; what can't be waited for any more has come.
        let asked = Asked::of(half.record.properties);
        if let Ok(Timing::Slot(slot)) = timers::timing(asked, &broker.config(), broker.clock.now()) {
            let (slot, queue_id) = (slot.to_string(), half.queue_id.to_string());
            let mut changes = changes[2..].to_vec();
            changes.extend([
                (name::REAL_TOPIC, Some(half.topic)),
                (name::REAL_QUEUE_ID, Some(queue_id.as_str())),
                (name::TIMER_OUT_MS, Some(slot.as_str())),
                (name::TRANSACTION_PREPARED, None),
            ]);
            let place = Place::of(names::TIMER_TOPIC, timers::QUEUE);
            let properties = rewritten(half.record.properties, &changes);
            return push_as(broker, batch, &half.record, place, &properties, Some(committed));
        }
        let properties = rewritten(half.record.properties, &changes);
        let lmqs = lmq::list_of(broker, topic, Properties::new(&properties));
        let place = Place { lmqs, ..Place::of(half.topic, half.queue_id) };
        return push_as(broker, batch, &half.record, place, &properties, Some(committed));
    };
    let parked = broker.delay_levels.park(level, broker.clock.now());
    let (queue_id, level) = (half.queue_id.to_string(), parked.level.to_string());
    changes.retain(|(changed, _)| ![name::REAL_TOPIC, name::REAL_QUEUE_ID].contains(changed));
    changes.extend([
        (name::REAL_TOPIC, Some(half.topic)),
        (name::REAL_QUEUE_ID, Some(queue_id.as_str())),
        (name::DELAY_TIME_LEVEL, Some(level.as_str())),
        (name::TRANSACTION_PREPARED, None),
        (name::TIMER_DELIVER_MS, None),
        (name::TIMER_DELAY_SEC, None),
        (name::TIMER_DELAY_MS, None),
    ]);
    let place = Place { tags_code: Some(parked.due.0), ..Place::of(names::SCHEDULE_TOPIC, parked.queue_id) };
    push_as(broker, batch, &half.record, place, &rewritten(half.record.properties, &changes), Some(committed))
}

/// Puts a copy for the topic of those that were given up into the batch; also of a half message that is broken, as
/// far as it goes.
pub(super) fn push_given_up(
    broker: &Broker,
    batch: &mut AppendBatch,
    record: &Record<'_>,
    checks: u32,
) -> Result<(), TooLong> {
    let checks = checks.to_string();
    let properties = rewritten(record.properties, &[(name::TRANSACTION_CHECK_TIMES, Some(&checks))]);
    let place = Place::of(names::TRANS_CHECK_MAX_TIME_TOPIC, QueueId(0));
    push_as(broker, batch, record, place, &properties, None)
}

/// Puts a message that was given up back into the half topic, as if its producer had never been asked.
pub(super) fn push_half_again(
    broker: &Broker,
    batch: &mut AppendBatch,
    record: &Record<'_>,
) -> Result<(), TooLong> {
    let changes = [(name::TRANSACTION_CHECK_TIMES, None), (name::TRANSACTION_PREPARED_QUEUE_OFFSET, None)];
    let place = Place::of(names::TRANS_HALF_TOPIC, super::HALF_QUEUE);
    push_as(broker, batch, record, place, &rewritten(record.properties, &changes), None)
}

struct Place<'a> {
    topic: &'a str,
    queue_id: QueueId,
    /// The light queues that it is entered into as well.
    lmqs: &'a str,
    /// None for that of the tags.
    tags_code: Option<i64>,
}

impl<'a> Place<'a> {
    fn of(topic: &'a str, queue_id: QueueId) -> Self {
        Place { topic, queue_id, lmqs: "", tags_code: None }
    }
}

/// What a committed message has that others don't.
struct Committed {
    sys_flag: i32,
    prepared_transaction_offset: i64,
}

/// The record's message with other properties, elsewhere.
fn push_as(
    broker: &Broker,
    batch: &mut AppendBatch,
    record: &Record<'_>,
    place: Place<'_>,
    properties: &[u8],
    committed: Option<Committed>,
) -> Result<(), TooLong> {
    let keys = IndexKeys::of(Properties::new(properties));
    let message = NewMessage {
        topic: place.topic,
        queue_id: place.queue_id,
        flag: record.flag,
        sys_flag: committed.as_ref().map_or(record.sys_flag, |committed| committed.sys_flag),
        born: Millis(record.born_timestamp),
        born_host: record.born_host,
        store_host: record.store_host,
        reconsume_times: record.reconsume_times,
        prepared_transaction_offset: committed.map_or(0, |committed| committed.prepared_transaction_offset),
        body: record.body,
        properties,
        tags_code: place.tags_code.unwrap_or_else(|| keys.tags.map_or(0, java_hash::tags_code)),
        key_hashes: &keys.hashes(place.topic),
    };
    batch.push_dispatched(&broker.store, &message, place.lmqs)
}

/// With the changes; without the one that only informs if there is no room for it.
fn rewritten(of: Properties<'_>, changes: &[(&str, Option<&str>)]) -> Vec<u8> {
    let mut properties = Vec::with_capacity(of.raw().len() + 64);
    properties::rewrite(of.raw(), &mut properties, changes);
    if properties.len() > PROPERTIES_BYTES_MAX {
        properties.clear();
        let needed: Vec<_> = changes
            .iter()
            .copied()
            .filter(|(changed, _)| *changed != name::TRANSACTION_CHECK_TIMES)
            .collect();
        properties::rewrite(of.raw(), &mut properties, &needed);
    }
    properties
}
