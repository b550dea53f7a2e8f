//! The sends of a burst: taken one by one, then stored and answered together.

use super::admit::admit;
use super::answer::{Answers, LateAnswers, PendingSend, Sender};
use super::failure;
use super::message::{Incoming, Place};
use super::properties::MessageProperties;
use super::rules;
use super::topics::KnownTopics;
use super::unique_id::UniqueIds;
use crate::Broker;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use crate::topics::attributes;
use crate::transactions::NewHalf;
use roxmq_protocol::code::response;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::names;
use roxmq_protocol::properties::{self, name};
use roxmq_protocol::request::send::SendHeader;
use roxmq_remoting::{Connection, Output};
use roxmq_store::{AppendBatch, Millis, PhyOffset};
use std::sync::Arc;
use std::time::Instant;

/// Kept with its connection, so that its room is used again.
pub(crate) struct SendBurst {
    settings: Option<Settings>,
    taken: Taken,
}

/// What a burst has brought so far.
struct Taken {
    batch: AppendBatch,
    pending: Vec<PendingSend>,
    topics: KnownTopics,
    /// Those of the pending messages that are half messages.
    halves: Vec<NewHalf>,
    /// The unique keys of the pending sends, one behind the other.
    keys: String,
    properties: MessageProperties,
    unique_ids: UniqueIds,
    message_ids: Vec<OffsetMessageId>,
    /// Spreads messages that name no queue over all.
    turn: u32,
    /// When the burst began.
    now: Millis,
}

/// The configuration as sends see it, prepared anew when it has changed.
pub(super) struct Settings {
    pub(super) config: Arc<BrokerConfig>,
    pub(super) sender: Sender,
    /// What is added to every message's properties, encoded.
    pub(super) marks: String,
}

impl Settings {
    pub(super) fn of(broker: &Broker, config: Arc<BrokerConfig>) -> Self {
        let sender = Sender::of(broker, &config);
        let mut marks = String::new();
        let trace = if config.trace_on { "true" } else { "false" };
        properties::push_to_text(&mut marks, name::MSG_REGION, &config.region_id);
        properties::push_to_text(&mut marks, name::TRACE_SWITCH, trace);
        properties::push_to_text(&mut marks, name::CLUSTER, &config.broker_cluster_name);
        Settings { config, sender, marks }
    }
}

impl SendBurst {
    pub(crate) fn new(connection_id: u64) -> Self {
        SendBurst { settings: None, taken: Taken::new(connection_id) }
    }

    /// Takes one send into the burst, or refuses it at once.
    pub(crate) fn request(
        &mut self,
        broker: &Broker,
        connection: &Connection,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        if self.taken.pending.is_empty() {
            self.begin(broker);
        }
        let settings = self.settings.get_or_insert_with(|| Settings::of(broker, broker.config()));
        if let Err(refusal) = self.taken.take(broker, settings, connection, frame) {
            broker.stats.put_failed(1);
            settings.sender.refuse(&frame.header, refusal, output);
        }
    }

    /// A burst has one configuration, one time and one look at the topics; the next may have others.
    fn begin(&mut self, broker: &Broker) {
        let config = broker.config();
        if self.settings.take_if(|settings| !Arc::ptr_eq(&settings.config, &config)).is_some() {
            self.taken.topics.forget();
        }
        self.taken.topics.renew(broker);
        self.taken.now = broker.clock.now();
    }

    /// Stores what was taken and answers it.
    pub(crate) fn flush(&mut self, broker: &Broker, connection: &Arc<Connection>, output: &mut Output) {
        if !self.taken.pending.is_empty()
            && let Some(settings) = &self.settings
        {
            self.taken.store(broker, settings, connection, output);
            self.taken.clear();
        }
    }
}

impl Taken {
    fn new(connection_id: u64) -> Self {
        Taken {
            batch: AppendBatch::new(),
            pending: Vec::new(),
            topics: KnownTopics::default(),
            halves: Vec::new(),
            keys: String::new(),
            properties: MessageProperties::default(),
            unique_ids: UniqueIds::new(connection_id),
            message_ids: Vec::new(),
            turn: connection_id as u32,
            now: Millis(0),
        }
    }

    fn take(
        &mut self,
        broker: &Broker,
        settings: &Settings,
        connection: &Connection,
        frame: &Frame<'_>,
    ) -> Result<(), Refusal> {
        let header = SendHeader::decode(frame.header.code, &frame.header.ext)?;
        self.turn = self.turn.wrapping_add(1);
        let (version, turn) = (frame.header.version, self.turn);
        let admitted = admit(broker, &settings.config, &mut self.topics, &header, version, turn)?;
        rules::check_body(frame.body.len(), settings.config.max_message_size)?;
        let topic = &self.topics[admitted.topic];
        let (born_host, now) = (connection.remote(), self.now);
        let incoming =
            Incoming { broker, settings, header: &header, admitted: &admitted, topic, born_host, now };
        let mut pending = PendingSend::of(&frame.header, &admitted, self.batch.len(), self.keys.len());
        if header.batch {
            incoming.push_batch(frame.body, &mut self.properties, &mut self.batch)?;
            if attributes::has_batches(&topic.attributes) {
                self.keys.push_str(self.properties.uniq_key().unwrap_or_default());
            }
            pending.messages.end = self.batch.len();
            pending.key.end = self.keys.len();
            pending.is_inner_batch = !pending.key.is_empty();
            pending.waits_for_store = self.properties.waits_for_store();
            self.pending.push(pending);
            return Ok(());
        }
        let placed = incoming.place(&mut self.properties, &mut self.unique_ids)?;
        self.keys.push_str(self.properties.uniq_key().unwrap_or_default());
        pending.queue_id = placed.own_queue;
        pending.key.end = self.keys.len();
        pending.recall_ms = recall_time(placed.place, &header.topic);
        pending.waits_for_store = self.properties.waits_for_store();
        // Before the body is copied: see `push_single`.
        self.pending.push(pending);
        if let Err(refusal) = incoming.push_single(frame.body, &self.properties, placed, &mut self.batch) {
            self.pending.pop();
            return Err(refusal);
        }
        if let Place::Half(ask_after) = placed.place {
            self.halves.push(NewHalf { index: self.batch.len() - 1, ask_after });
            self.count_as_half(broker);
        }
        Ok(())
    }

    /// Counts the last send where half messages are; its own topic has it when it is committed.
    fn count_as_half(&mut self, broker: &Broker) {
        let half_topic = self.topics.find(broker, names::TRANS_HALF_TOPIC);
        if let (Some(topic), Some(send)) = (half_topic, self.pending.last_mut()) {
            send.topic = topic;
        }
    }

    fn store(
        &mut self,
        broker: &Broker,
        settings: &Settings,
        connection: &Arc<Connection>,
        output: &mut Output,
    ) {
        let before = Instant::now();
        let preparing = (!self.halves.is_empty()).then(|| broker.transactions.appending(&broker.store));
        let appended = broker.store.append(&mut self.batch);
        if appended.is_ok() {
            broker.transactions.prepared(&settings.config, &self.halves, self.batch.stored());
        }
        drop(preparing);
        broker.stats.put_took(before.elapsed(), self.batch.len() as u64);
        match appended {
            Ok(end) => self.answer(broker, &settings.sender, connection, end, output),
            Err(error) => {
                broker.stats.put_failed(self.batch.len() as u64);
                let refusal = failure::refusal_of(&error);
                for send in &self.pending {
                    settings.sender.refuse_taken(send, &refusal, output);
                }
            }
        }
    }

    /// Answers at once, except those that wait for the disk.
    fn answer(
        &mut self,
        broker: &Broker,
        sender: &Sender,
        connection: &Arc<Connection>,
        end: PhyOffset,
        output: &mut Output,
    ) {
        self.count(broker);
        let late = broker.store.acknowledges_late();
        let answers = Answers { sender, keys: &self.keys, stored: self.batch.stored(), topics: &self.topics };
        for send in self.pending.iter().filter(|send| !late || !send.waits_for_store) {
            answers.encode(send, response::SUCCESS, None, &mut self.message_ids, output);
        }
        if !late {
            return;
        }
        self.pending.retain(|send| send.waits_for_store);
        if self.pending.is_empty() {
            return;
        }
        let late = LateAnswers {
            sends: std::mem::take(&mut self.pending),
            keys: std::mem::take(&mut self.keys),
            stored: self.batch.stored().to_vec(),
            topics: self.topics.clone(),
            sender: sender.clone(),
            connection: Arc::clone(connection),
            promise: connection.promise_answer(),
        };
        broker.store.when_durable(end, Box::new(move |flushed| late.send(flushed)));
    }

    /// All sends to one topic that follow each other in one go.
    fn count(&self, broker: &Broker) {
        for sends in self.pending.chunk_by(|one, next| one.topic == next.topic) {
            let (Some(first), Some(last)) = (sends.first(), sends.last()) else { continue };
            let messages = first.messages.start..last.messages.end;
            let (count, bytes) = (messages.len() as u64, self.batch.bytes_of(messages) as u64);
            broker.stats.put(&self.topics[first.topic].stats, count, bytes);
        }
    }

    fn clear(&mut self) {
        self.batch.clear();
        self.pending.clear();
        self.halves.clear();
        self.keys.clear();
    }
}

/// The time in the handle with which a timer message can be taken back: one that rounding leaves in its slot.
fn recall_time(place: Place, topic: &str) -> Option<Millis> {
    match place {
        Place::Slot(slot) if !names::is_retry_topic(topic) => Some(Millis(slot.0 + 1)),
        _ => None,
    }
}
