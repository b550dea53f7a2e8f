//! The sends of a burst: taken one by one, then stored and answered together.

use super::admit::{Admitted, admit};
use super::answer::{Answers, LateAnswers, PendingSend, Sender};
use super::failure;
use super::message::{Incoming, Place};
use super::properties::MessageProperties;
use super::rules;
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
    batch: AppendBatch,
    pending: Vec<PendingSend>,
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
    settings: Option<Settings>,
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
        SendBurst {
            batch: AppendBatch::new(),
            pending: Vec::new(),
            halves: Vec::new(),
            keys: String::new(),
            properties: MessageProperties::default(),
            unique_ids: UniqueIds::new(connection_id),
            message_ids: Vec::new(),
            turn: connection_id as u32,
            now: Millis(0),
            settings: None,
        }
    }

    /// Takes one send into the burst, or refuses it at once.
    pub(crate) fn request(
        &mut self,
        broker: &Broker,
        connection: &Connection,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        let settings = self.settings(broker);
        if let Err(refusal) = self.take(broker, &settings, connection, frame) {
            broker.stats.put_failed(1);
            settings.sender.refuse(&frame.header, refusal, output);
        }
        self.settings = Some(settings);
    }

    /// A burst has one configuration; the next may have another.
    fn settings(&mut self, broker: &Broker) -> Settings {
        let kept = self.settings.take();
        if !self.pending.is_empty()
            && let Some(settings) = kept
        {
            return settings;
        }
        let config = broker.config();
        match kept {
            Some(settings) if Arc::ptr_eq(&settings.config, &config) => settings,
            _ => Settings::of(broker, config),
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
        if self.pending.is_empty() {
            self.now = broker.clock.now();
        }
        let admitted = admit(broker, &settings.config, &header, frame.header.version, self.turn)?;
        rules::check_body(frame.body.len(), settings.config.max_message_size)?;
        let (first, bytes_before, key_start) = (self.batch.len(), self.batch.bytes(), self.keys.len());
        let born_host = connection.remote();
        let now = self.now;
        let incoming = Incoming { broker, settings, header: &header, admitted: &admitted, born_host, now };
        let (mut queue_id, mut recall_ms, mut place) = (admitted.queue_id, None, Place::Own);
        let mut is_inner_batch = false;
        if header.batch {
            incoming.push_batch(frame.body, &mut self.properties, &mut self.batch)?;
            if attributes::has_batches(&admitted.topic.attributes) {
                self.keys.push_str(self.properties.uniq_key().unwrap_or_default());
                is_inner_batch = key_start < self.keys.len();
            }
        } else {
            let placed = incoming.place(&mut self.properties, &mut self.unique_ids)?;
            (queue_id, place) = (placed.own_queue, placed.place);
            recall_ms = recall_time(place, &header.topic);
            self.keys.push_str(self.properties.uniq_key().unwrap_or_default());
            incoming.push_single(frame.body, &self.properties, placed, &mut self.batch)?;
        }
        let Admitted { mut topic, .. } = admitted;
        if let Place::Half(ask_after) = place {
            self.halves.push(NewHalf { index: first, ask_after });
            // Where it is counted; its own topic has it when it is committed.
            topic = broker.topics.get(names::TRANS_HALF_TOPIC).unwrap_or(topic);
        }
        self.pending.push(PendingSend {
            opaque: frame.header.opaque,
            encoding: frame.header.encoding,
            oneway: frame.header.is_oneway(),
            waits_for_store: self.properties.waits_for_store(),
            messages: first..self.batch.len(),
            queue_id,
            key: key_start..self.keys.len(),
            is_inner_batch,
            recall_ms,
            topic,
            record_bytes: self.batch.bytes() - bytes_before,
        });
        Ok(())
    }

    /// Stores what was taken and answers it.
    pub(crate) fn flush(&mut self, broker: &Broker, connection: &Arc<Connection>, output: &mut Output) {
        if self.pending.is_empty() {
            return;
        }
        let Some(settings) = self.settings.take() else {
            return;
        };
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
        self.settings = Some(settings);
        self.batch.clear();
        self.pending.clear();
        self.halves.clear();
        self.keys.clear();
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
        let late = broker.store.acknowledges_late();
        let answers = Answers { sender, keys: &self.keys, stored: self.batch.stored() };
        for send in &self.pending {
            broker.stats.put(&send.topic.stats, send.messages.len() as u64, send.record_bytes as u64);
            if !late || !send.waits_for_store {
                answers.encode(send, response::SUCCESS, None, &mut self.message_ids, output);
            }
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
            sender: sender.clone(),
            connection: Arc::clone(connection),
            promise: connection.promise_answer(),
        };
        broker.store.when_durable(end, Box::new(move |flushed| late.send(flushed)));
    }
}

/// The time in the handle with which a timer message can be taken back: one that rounding leaves in its slot.
fn recall_time(place: Place, topic: &str) -> Option<Millis> {
    match place {
        Place::Slot(slot) if !names::is_retry_topic(topic) => Some(Millis(slot.0 + 1)),
        _ => None,
    }
}
