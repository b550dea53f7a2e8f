//! One send's messages, encoded into the burst's batch.

use super::admit::Admitted;
use super::burst::Settings;
use super::properties::MessageProperties;
use super::rules;
use super::unique_id::UniqueIds;
use crate::Broker;
use crate::config::BrokerConfig;
use crate::lmq;
use crate::refusal::Refusal;
use crate::timers::{self, Timing};
use crate::topics::{Topic, TopicConfig, TopicFilterType};
use crate::transactions::{self, AskAfter};
use roxmq_protocol::batch::BatchItems;
use roxmq_protocol::properties::name;
use roxmq_protocol::request::send::SendHeader;
use roxmq_protocol::{java_hash, names, sys_flag};
use roxmq_store::multi_dispatch::{is_dispatched, is_light_queue};
use roxmq_store::{AppendBatch, IndexKeys, Millis, NewMessage, QueueId};
use std::net::SocketAddr;

/// What the messages of a send have in common, and where they go.
pub(super) struct Incoming<'a> {
    pub(super) broker: &'a Broker,
    pub(super) settings: &'a Settings,
    pub(super) header: &'a SendHeader<'a>,
    pub(super) admitted: &'a Admitted,
    pub(super) topic: &'a Topic,
    pub(super) born_host: SocketAddr,
    /// The time of the burst.
    pub(super) now: Millis,
}

impl Incoming<'_> {
    /// Where a message by itself goes. Its properties are left in `properties`, as they are to be stored.
    pub(super) fn place(
        &self,
        properties: &mut MessageProperties,
        unique_ids: &mut UniqueIds,
    ) -> Result<Placed, Refusal> {
        properties.load(self.header.properties)?;
        if !properties.has_uniq_key() {
            let store_ip = self.settings.sender.store_host.ip();
            properties.add_uniq_key(unique_ids.next(store_ip, self.now))?;
        }
        if self.admitted.dead_letter {
            bury(properties)?;
        }
        let level = properties.delay_level()?;
        let half = check_kind(&self.settings.config, self.header, properties, level)?;
        check_keys(self.topic, properties)?;
        let own_queue = self.own_queue(properties)?;
        self.name_light_queues(properties)?;
        // A half message is delayed when it is committed.
        let place = if half {
            timers::timing(properties.timer(), &self.settings.config, self.now)?;
            self.hide(properties, own_queue)?
        } else if level > 0 {
            self.park(properties, level)?
        } else {
            self.time(properties, own_queue)?
        };
        properties.add_marks(&self.settings.marks);
        Ok(Placed { own_queue, place })
    }

    /// Puts a message that has its place into the batch. Its bytes are many, and the processor may have to wait for them
    /// when something written after them is read: so that all that can be done before is done before.
    pub(super) fn push_single(
        &self,
        body: &[u8],
        properties: &MessageProperties,
        placed: Placed,
        batch: &mut AppendBatch,
    ) -> Result<(), Refusal> {
        let (topic, queue_id, tags_code) = match placed.place {
            Place::Own => (&*self.topic.topic_name, placed.own_queue, properties.tags_code()),
            Place::Level { queue_id, due } => (names::SCHEDULE_TOPIC, queue_id, due.0),
            Place::Slot(_) => (names::TIMER_TOPIC, timers::QUEUE, properties.tags_code()),
            Place::Half(_) => (names::TRANS_HALF_TOPIC, transactions::HALF_QUEUE, properties.tags_code()),
        };
        let key_hashes = properties.index_keys().hashes(topic);
        let message = NewMessage {
            topic,
            queue_id,
            tags_code,
            properties: properties.encoded(),
            key_hashes: &key_hashes,
            ..self.message(self.header.flag, body)
        };
        // What waits is entered into light queues when it comes.
        let lmqs = properties.lmqs().filter(|_| placed.place == Place::Own);
        let pushed = match lmqs {
            Some(lmqs) => {
                let (config, topic) = (&self.settings.config, self.topic);
                let list = lmq::admitted_list(self.broker, config, topic, lmqs)?;
                batch.push_dispatched(&self.broker.store, &message, list)
            }
            None => batch.push(&self.broker.store, &message),
        };
        pushed.map_err(|error| rules::illegal(error.to_string()))
    }

    /// The queue of the message's priority: the higher the one, the higher the other. A priority that doesn't count is
    /// not kept.
    fn own_queue(&self, properties: &mut MessageProperties) -> Result<QueueId, Refusal> {
        if !properties.has_priority() {
            return Ok(self.admitted.queue_id);
        }
        match properties.priority() {
            Some(priority) => Ok(QueueId(priority.min(self.topic.write_queue_nums - 1))),
            None => {
                properties.set(&[(name::PRIORITY, None)])?;
                Ok(self.admitted.queue_id)
            }
        }
    }

    /// A message of a lite topic goes to the light queue of that, and it does so for good.
    fn name_light_queues(&self, properties: &mut MessageProperties) -> Result<(), Refusal> {
        let Some(lite_topic) = properties.lite_topic().filter(|lite_topic| !lite_topic.is_empty()) else {
            return Ok(());
        };
        let topic = &*self.topic.topic_name;
        if !is_dispatched(topic) {
            return Ok(());
        }
        let queue = lmq::of_lite_topic(topic, lite_topic);
        if names::check_topic(lite_topic).is_err() || !is_light_queue(&queue) {
            return Err(rules::illegal(format!(
                "the message is illegal: its lite topic '{lite_topic}' is no name"
            )));
        }
        properties.set(&[(name::INNER_MULTI_DISPATCH, Some(&queue))])
    }

    /// All messages of a batch or none of them: it is read to its end before the first is taken.
    pub(super) fn push_batch(
        &self,
        body: &[u8],
        properties: &mut MessageProperties,
        batch: &mut AppendBatch,
    ) -> Result<(), Refusal> {
        properties.load(self.header.properties)?;
        if properties.delay_level()? > 0 || properties.is_half_message() {
            return Err(rules::illegal(
                "the batch is illegal: it can be neither delayed nor part of a transaction",
            ));
        }
        rules::check_batch(body)?;
        let topic = &*self.topic.topic_name;
        for item in BatchItems::new(body).flatten() {
            let keys = IndexKeys::of(item.properties);
            let message = NewMessage {
                tags_code: keys.tags.map_or(0, java_hash::tags_code),
                properties: item.properties.raw(),
                key_hashes: &keys.hashes(topic),
                ..self.message(item.flag, item.body)
            };
            batch.push(&self.broker.store, &message).map_err(|error| rules::illegal(error.to_string()))?;
        }
        Ok(())
    }

    fn message<'m>(&'m self, flag: i32, body: &'m [u8]) -> NewMessage<'m> {
        NewMessage {
            topic: &self.topic.topic_name,
            queue_id: self.admitted.queue_id,
            flag,
            sys_flag: stored_flag(self.header.sys_flag, self.topic),
            born: Millis(self.header.born_timestamp),
            born_host: self.born_host,
            store_host: self.settings.sender.store_host,
            reconsume_times: self.header.reconsume_times,
            prepared_transaction_offset: 0,
            body,
            properties: &[],
            tags_code: 0,
            key_hashes: &[],
        }
    }

    /// Makes a half message of it, with its own place noted in its properties.
    fn hide(&self, properties: &mut MessageProperties, own_queue: QueueId) -> Result<Place, Refusal> {
        self.broker.transactions.check_room()?;
        let ask_after = AskAfter::of(properties.get(name::CHECK_IMMUNITY_TIME_IN_SECONDS));
        let uniq_key = properties.uniq_key().map(str::to_owned);
        let queue_id = own_queue.to_string();
        let topic = &self.topic.topic_name;
        properties.set(&transactions::mark_half(topic, &queue_id, uniq_key.as_deref()))?;
        Ok(Place::Half(ask_after))
    }

    /// Sends the message to wait in the queue of its level, with its own place noted in its properties.
    fn park(&self, properties: &mut MessageProperties, level: i32) -> Result<Place, Refusal> {
        let parked = self.broker.delay_levels.park(level, self.now);
        let queue_id = self.admitted.queue_id.to_string();
        properties.set(&[
            (name::DELAY_TIME_LEVEL, Some(&parked.level.to_string())),
            (name::REAL_TOPIC, Some(&self.topic.topic_name)),
            (name::REAL_QUEUE_ID, Some(&queue_id)),
            (name::TIMER_DELIVER_MS, None),
            (name::TIMER_DELAY_SEC, None),
            (name::TIMER_DELAY_MS, None),
        ])?;
        Ok(Place::Level { queue_id: parked.queue_id, due: parked.due })
    }

    /// Sends the message to wait for the time that it asks for, if it asks for one that is to come.
    fn time(&self, properties: &mut MessageProperties, own_queue: QueueId) -> Result<Place, Refusal> {
        let config = &self.settings.config;
        let Timing::Slot(slot) = timers::timing(properties.timer(), config, self.now)? else {
            return Ok(Place::Own);
        };
        self.broker.timers.check_room(slot, config.timer_congest_num_each_slot)?;
        properties.set(&[
            (name::TIMER_OUT_MS, Some(&slot.to_string())),
            (name::REAL_TOPIC, Some(&self.topic.topic_name)),
            (name::REAL_QUEUE_ID, Some(&own_queue.to_string())),
        ])?;
        Ok(Place::Slot(slot))
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// Of its topic, whatever queue it waits in.
    pub(super) own_queue: QueueId,
    pub(super) place: Place,
}

/// Where a message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the queue it was sent to.
    Own,
    /// In the queue of its delay level.
    Level { queue_id: QueueId, due: Millis },
    /// Among the timer messages, for the slot of this time.
    Slot(Millis),
    /// Out of sight until its producer has decided.
    Half(AskAfter),
}

/// Of the flag's bits those that are the sender's to set, and that of the topic.
fn stored_flag(flag: i32, topic: &TopicConfig) -> i32 {
    let flag = sys_flag::with_transaction(flag, sys_flag::TRANSACTION_NONE);
    if topic.topic_filter_type == TopicFilterType::MultiTag { flag | sys_flag::MULTI_TAGS } else { flag }
}

/// A dead letter waits for nothing, and says which message it was.
fn bury(properties: &mut MessageProperties) -> Result<(), Refusal> {
    let origin = match properties.get(name::ORIGIN_MESSAGE_ID) {
        Some(_) => None,
        None => properties.uniq_key().map(str::to_owned),
    };
    match origin {
        Some(origin) => {
            properties.set(&[(name::DELAY_TIME_LEVEL, None), (name::ORIGIN_MESSAGE_ID, Some(&origin))])
        }
        None => properties.set(&[(name::DELAY_TIME_LEVEL, None)]),
    }
}

/// Refuses the kinds of messages that this broker doesn't keep the promises of; gives whether it is a half message.
fn check_kind(
    config: &BrokerConfig,
    header: &SendHeader<'_>,
    properties: &MessageProperties,
    level: i32,
) -> Result<bool, Refusal> {
    // Old clients leave the mark of a transaction on messages that they send for another attempt.
    let is_retry = header.reconsume_times > 0 && level > 0;
    let half = properties.is_half_message() && !is_retry;
    if half && config.reject_transaction_message {
        return Err(Refusal::denied(format!(
            "the broker[{}] sending transaction message is forbidden (rejectTransactionMessage)",
            config.broker_name
        )));
    }
    if properties.is_inner_batch() {
        return Err(rules::illegal(
            "the message is illegal: it has the property INNER_NUM and is no inner batch",
        ));
    }
    Ok(half)
}

/// A topic that keeps the last message of each key needs keys.
fn check_keys(topic: &TopicConfig, properties: &MessageProperties) -> Result<(), Refusal> {
    let is_compacted = topic.attributes.get("cleanup.policy").is_some_and(|policy| policy == "COMPACTION");
    if is_compacted && properties.keys().is_none_or(|keys| keys.trim().is_empty()) {
        return Err(rules::illegal("Required message key is missing"));
    }
    Ok(())
}
