//! The copy of a message that comes again.

use super::queue::PopQueue;
use crate::Broker;
use crate::groups::SubscriptionGroupConfig;
use crate::retry;
use crate::send_back::properties_of_copy;
use crate::state::StateError;
use crate::topics::{Topic, TopicConfig};
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::properties::name;
use roxmq_protocol::receipt::PopOrigin;
use roxmq_protocol::record::Record;
use roxmq_protocol::sys_flag::perm;
use roxmq_protocol::{java_hash, names};
use roxmq_store::{AppendBatch, IndexKeys, Millis, NewMessage, QueueId};
use std::sync::Arc;

/// A retry topic of POP has one queue, but for `useSeparateRetryQueue`.
const RETRY_QUEUES: i32 = 1;
const FIRST_QUEUE: QueueId = QueueId(0);

/// A message that was not acknowledged in time, and where its copy goes.
pub(super) struct Revival {
    bytes: Vec<u8>,
    to: Arc<Topic>,
    queue_id: QueueId,
    /// For a dead letter: the topic that the message was sent to.
    dead_from: Option<String>,
}

impl Revival {
    /// None for bytes that are no message. Makes the topic that the copy goes to.
    pub(super) fn of(
        broker: &Broker,
        queue: &PopQueue,
        group: &SubscriptionGroupConfig,
        bytes: Vec<u8>,
    ) -> Result<Option<Self>, StateError> {
        let Ok(record) = Record::decode(&bytes) else {
            let (topic, queue_id) = (&*queue.topic, queue.id.0);
            tracing::error!(topic, queue_id, "a popped message can't be read and doesn't come again");
            return Ok(None);
        };
        let is_dead = retry::is_spent(record.reconsume_times, group.retry_max_times);
        let (to, queue_id) = match is_dead {
            true => (dead_letter_topic(broker, queue)?, FIRST_QUEUE),
            false => retry_queue(broker, queue)?,
        };
        let dead_from = is_dead.then(|| queue.normal_topic().to_owned());
        Ok(Some(Revival { bytes, to, queue_id, dead_from }))
    }

    /// Puts the copy into the batch; gives its bytes.
    pub(super) fn push(&self, broker: &Broker, group: &str, pop_time: i64, batch: &mut AppendBatch) -> usize {
        let Ok(record) = Record::decode(&self.bytes) else {
            return 0;
        };
        let properties = self.properties(&record, group, pop_time);
        let keys = IndexKeys::of(record.properties);
        let message = NewMessage {
            topic: &self.to.topic_name,
            queue_id: self.queue_id,
            flag: record.flag,
            sys_flag: record.sys_flag,
            born: Millis(record.born_timestamp),
            // As the Java server has it.
            born_host: broker.advertised,
            store_host: broker.advertised,
            reconsume_times: record.reconsume_times.saturating_add(1),
            prepared_transaction_offset: 0,
            body: record.body,
            properties: &properties,
            tags_code: keys.tags.map_or(0, java_hash::tags_code),
            key_hashes: &keys.hashes(&self.to.topic_name),
        };
        let before = batch.bytes();
        if let Err(error) = batch.push(&broker.store, &message) {
            let topic = &self.to.topic_name;
            tracing::error!(topic, %error, "a popped message doesn't come again: its copy can't be stored");
        }
        batch.bytes() - before
    }

    /// The copy is in the log.
    pub(super) fn stored(&self, broker: &Broker, bytes: usize) {
        broker.stats.put(&self.to.stats, 1, bytes as u64);
    }

    fn properties(&self, record: &Record<'_>, group: &str, pop_time: i64) -> Vec<u8> {
        let property = |name| record.properties.get(name);
        let origin =
            OffsetMessageId { store_host: record.store_host, phy_offset: record.phy_offset }.to_string();
        let pop_time = pop_time.to_string();
        let first_pop = property(name::FIRST_POP_TIME).filter(|_| record.reconsume_times > 0);
        let mut changes = vec![
            (name::FIRST_POP_TIME, Some(first_pop.unwrap_or(&pop_time))),
            (name::ORIGIN_GROUP, Some(group)),
            (name::ORIGIN_MESSAGE_ID, Some(property(name::ORIGIN_MESSAGE_ID).unwrap_or(&origin))),
        ];
        if let Some(topic) = &self.dead_from {
            changes.push((name::RETRY_TOPIC, Some(property(name::RETRY_TOPIC).unwrap_or(topic))));
        }
        // Without room for what the copy should say more, the message itself counts.
        properties_of_copy(record, &changes).unwrap_or_else(|_| record.properties.raw().to_vec())
    }
}

/// What is in a retry topic already stays there.
fn retry_queue(broker: &Broker, queue: &PopQueue) -> Result<(Arc<Topic>, QueueId), StateError> {
    let config = broker.config();
    let name = match PopOrigin::of(&queue.topic) {
        PopOrigin::Topic => names::pop_retry_topic(&queue.topic, &queue.group, config.enable_retry_topic_v2),
        PopOrigin::RetryV1 | PopOrigin::RetryV2 => queue.topic.to_string(),
    };
    let topic = broker.topics.create_internal(&name, RETRY_QUEUES, perm::READ | perm::WRITE, 0)?;
    let (topic, queue_id) = match config.use_separate_retry_queue {
        true => separate(broker, topic, queue)?,
        false => (topic, FIRST_QUEUE),
    };
    if broker.offsets.get(&queue.group, &name, queue_id).is_none() {
        // So that tools show what waits in it before anything was popped from it.
        broker.offsets.commit(&queue.group, &name, queue_id, 0);
    }
    Ok((topic, queue_id))
}

/// The retry topic with as many queues as the topic itself, and the one for messages of this queue. Queues that are
/// too many are still read.
fn separate(
    broker: &Broker,
    topic: Arc<Topic>,
    queue: &PopQueue,
) -> Result<(Arc<Topic>, QueueId), StateError> {
    let normal = broker.topics.get(queue.normal_topic());
    let queues = normal.map_or(RETRY_QUEUES, |normal| normal.write_queue_nums.max(RETRY_QUEUES));
    let topic = match topic.write_queue_nums == queues {
        true => topic,
        false => broker.topics.put(TopicConfig {
            read_queue_nums: topic.read_queue_nums.max(queues),
            write_queue_nums: queues,
            ..topic.config.clone()
        })?,
    };
    Ok((topic, QueueId(queue.id.0 % queues)))
}

fn dead_letter_topic(broker: &Broker, queue: &PopQueue) -> Result<Arc<Topic>, StateError> {
    let name = names::dlq_topic(&queue.group);
    broker.topics.create_internal(&name, retry::DLQ_QUEUES, perm::READ | perm::WRITE, 0)
}
