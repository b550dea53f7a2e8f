//! What a Java server has in flight, taken over from its revive topic, and what is in flight here, left there for it.
//!
//! A check point there stands for the messages of a pop, an acknowledgement for some of them. The Java server brings
//! both to the topic about when the invisible time ends, so that a check point is followed by its acknowledgements:
//! what is taken over waits a little longer than its time for these.

use super::batch::{Batch, BatchKey, Distances, Messages};
use super::queue::PopQueue;
use super::record::{PopChange, PopRecord};
use crate::Broker;
use crate::state::StateError;
use roxmq_protocol::body::revive::{PopAck, PopCheckPoint};
use roxmq_protocol::json::{FromJson, JsonError, ToJson};
use roxmq_protocol::properties::{self, name};
use roxmq_protocol::record::Record;
use roxmq_protocol::{java_hash, names};
use roxmq_store::{AppendBatch, ConsumeQueue, Millis, NewMessage, QueueId, QueueOffset};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How far the revive topic is read, as a consumer group's offsets: of the last record, not of the next.
const REVIVE_GROUP: &str = "CID_RMQ_SYS_REVIVE_GROUP";
const CHECK_POINT: &str = "ck";
const ACK: &str = "ack";
const BATCH_ACK: &str = "bAck";
/// Records read at a time.
const PAGE_ENTRIES: usize = 256;
/// How long acknowledgements may come after their check point.
const GRACE_MS: i64 = 3_000;
/// The Java server brings check points to the topic so much before their time.
const AHEAD_MS: i64 = 1_000;

#[derive(Debug, thiserror::Error)]
pub(super) enum HandoverError {
    #[error("reading the revive topic failed: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
}

fn queues(broker: &Broker) -> impl Iterator<Item = Arc<ConsumeQueue>> + '_ {
    let config = broker.config();
    let topic = names::revive_topic(&config.broker_cluster_name);
    (0..config.revive_queue_num).map(move |id| broker.store.queue_or_create(&topic, QueueId(id)))
}

/// Has the arrivals in the revive topic told: what a Java server still had in its timer comes there later.
pub(super) fn watch(broker: &Broker) {
    for queue in queues(broker) {
        queue.waiters.fetch_add(1, Ordering::SeqCst);
    }
}

/// Takes over everything that has come to the revive topic since the last time.
pub(super) fn take_over(broker: &Arc<Broker>) {
    for queue in queues(broker) {
        if let Err(error) = take_over_queue(broker, &queue) {
            tracing::error!(queue_id = queue.id().0, %error, "what a Java server had in flight can't be taken over");
        }
    }
}

fn take_over_queue(broker: &Arc<Broker>, queue: &ConsumeQueue) -> Result<(), HandoverError> {
    let (topic, id) = (queue.topic(), queue.id());
    let last = broker.offsets.get(REVIVE_GROUP, topic, id);
    let mut next = last.map_or(0, |last| last.saturating_add(1)).max(queue.min_offset().0);
    loop {
        let entries = broker.store.entries(queue, QueueOffset(next), PAGE_ENTRIES)?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in &entries {
            if let Some(bytes) = broker.store.record(entry.phy_offset)?
                && let Ok(record) = Record::decode(&bytes)
                && let Err(error) = take_over_record(broker, &record, id)?
            {
                tracing::warn!(queue_id = id.0, offset = record.queue_offset, %error, "a record of the revive topic can't be read");
            }
        }
        next += entries.len() as i64;
        broker.offsets.commit(REVIVE_GROUP, topic, id, next - 1);
    }
}

fn take_over_record(
    broker: &Arc<Broker>,
    record: &Record<'_>,
    revive_queue: QueueId,
) -> Result<Result<(), JsonError>, StateError> {
    match record.properties.get(name::TAGS) {
        Some(CHECK_POINT) => match PopCheckPoint::from_json_bytes(record.body) {
            Ok(point) => take_over_point(broker, &point, revive_queue).map(Ok),
            Err(error) => Ok(Err(error)),
        },
        Some(ACK | BATCH_ACK) => match PopAck::from_json_bytes(record.body) {
            Ok(ack) => take_over_ack(broker, &ack).map(Ok),
            Err(error) => Ok(Err(error)),
        },
        _ => Ok(Ok(())),
    }
}

fn take_over_point(
    broker: &Arc<Broker>,
    point: &PopCheckPoint,
    revive_queue: QueueId,
) -> Result<(), StateError> {
    let own = &broker.config().broker_name;
    let is_anothers = point.broker_name.as_ref().is_some_and(|name| !name.is_empty() && name != own);
    if is_anothers || point.topic.is_empty() || point.consumer_group.is_empty() {
        return Ok(());
    }
    let queue = broker.pops.table.get_or_create(&point.consumer_group, &point.topic, QueueId(point.queue_id));
    let key = BatchKey { start: point.start_offset, pop_time: point.pop_time };
    if queue.state().flight.is_taken(key) {
        // It was left here by this server itself, and is in its own table.
        return Ok(());
    }
    let at_its_time = point.pop_time.saturating_add(point.invisible_time);
    let visible_at = at_its_time.max(broker.clock.now().0).saturating_add(GRACE_MS);
    let mut batch = Batch::new(distances(point), Millis(visible_at), revive_queue.0.clamp(0, 255) as u8);
    batch.pending = batch.pending.without(Messages(point.bit_map as u32));
    record(broker, &queue, PopChange::Held { key, batch })
}

fn distances(point: &PopCheckPoint) -> Distances {
    match point.distances.as_slice() {
        // As older versions have it.
        [] => Distances::Run(point.count.clamp(0, 32) as u8),
        each => {
            let offsets = each.iter().map(|distance| point.start_offset.saturating_add(i64::from(*distance)));
            Distances::of(point.start_offset, offsets)
        }
    }
}

fn take_over_ack(broker: &Arc<Broker>, ack: &PopAck) -> Result<(), StateError> {
    let known = broker.pops.table.get(&ack.consumer_group, &ack.topic, QueueId(ack.queue_id));
    let Some(queue) = known else { return Ok(()) };
    let key = BatchKey { start: ack.start_offset, pop_time: ack.pop_time };
    let offsets = ack.ack_offsets.iter().copied().chain([ack.ack_offset]);
    let messages = queue.state().flight.held(key, offsets);
    if messages.is_empty() {
        return Ok(());
    }
    record(broker, &queue, PopChange::Finished { key, messages })
}

fn record(broker: &Arc<Broker>, queue: &Arc<PopQueue>, change: PopChange) -> Result<(), StateError> {
    let mut record = PopRecord::default();
    record.queue(queue.name());
    record.push(&change);
    let mut turn = broker.state_log.turn();
    turn.record_pop(record.bytes(), None)?;
    broker.pops.apply(broker, &mut turn, queue, change);
    Ok(())
}

/// Leaves what is in flight where a Java server looks for it. This server's own next start finds it in its own table.
pub(super) fn leave(broker: &Broker) {
    let config = broker.config();
    let topic = names::revive_topic(&config.broker_cluster_name);
    let revive_queues = config.revive_queue_num.max(1);
    let mut messages = AppendBatch::new();
    for queue in broker.pops.table.busy_queues() {
        let state = queue.state();
        for (key, batch) in state.flight.iter().filter(|(_, batch)| !batch.pending.is_empty()) {
            let point = check_point(&queue, *key, batch, &config.broker_name);
            let to = QueueId(i32::from(batch.revive_queue) % revive_queues);
            if let Err(error) = push(broker, &mut messages, &topic, to, &point) {
                tracing::warn!(%error, "a pop can't be left for a Java server");
            }
        }
    }
    if !messages.is_empty()
        && let Err(error) = broker.store.append(&mut messages)
    {
        tracing::warn!(%error, "what is in flight can't be left for a Java server");
    }
}

fn check_point(queue: &PopQueue, key: BatchKey, batch: &Batch, broker_name: &str) -> PopCheckPoint {
    let count = batch.distances.len();
    let all = batch.offsets(key.start, Messages::first(count));
    PopCheckPoint {
        bit_map: Messages::first(count).without(batch.pending).0 as i32,
        broker_name: Some(broker_name.to_owned()),
        consumer_group: queue.group.to_string(),
        distances: all.map(|(_, offset)| (offset - key.start) as i32).collect(),
        invisible_time: batch.visible_at.0.saturating_sub(key.pop_time),
        count: count as i32,
        pop_time: key.pop_time,
        queue_id: queue.id.0,
        revive_offset: 0,
        start_offset: key.start,
        topic: queue.topic.to_string(),
    }
}

fn push(
    broker: &Broker,
    messages: &mut AppendBatch,
    topic: &str,
    to: QueueId,
    point: &PopCheckPoint,
) -> Result<(), roxmq_store::TooLong> {
    let PopCheckPoint { topic: of, queue_id, start_offset, consumer_group, pop_time, .. } = point;
    let broker_name = point.broker_name.as_deref().unwrap_or_default();
    let unique =
        format!("{of}@{queue_id}@{start_offset}@{consumer_group}@{pop_time}@{broker_name}@{CHECK_POINT}");
    let mut encoded = Vec::new();
    properties::push(&mut encoded, name::TAGS, CHECK_POINT);
    properties::push(&mut encoded, name::UNIQ_KEY, &unique);
    let deliver_at = pop_time.saturating_add(point.invisible_time).saturating_sub(AHEAD_MS);
    properties::push_number(&mut encoded, name::TIMER_DELIVER_MS, deliver_at);
    let message = NewMessage {
        body: &point.to_json(),
        properties: &encoded,
        tags_code: java_hash::tags_code(CHECK_POINT),
        ..NewMessage::own(topic, to, broker.clock.now(), broker.advertised)
    };
    messages.push(&broker.store, &message)
}
