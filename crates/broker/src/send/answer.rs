//! Sends that are taken and wait to be stored, and their answers.

use super::admit::Admitted;
use super::failure::{self, FlushFailure};
use super::topics::{KnownTopics, TopicIndex};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::{Encoding, Header};
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::recall_handle::RecallHandle;
use roxmq_protocol::response::{SendAnswer, StoredAnswers};
use roxmq_remoting::{Connection, LateAnswer, Output};
use roxmq_store::FlushError;
use roxmq_store::{Millis, QueueId, Stored};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

/// What the answer to a send needs to know of its request.
#[derive(Debug)]
pub(super) struct PendingSend {
    pub(super) opaque: i32,
    pub(super) encoding: Encoding,
    pub(super) oneway: bool,
    /// Whether the sender wants to wait for the disk.
    pub(super) waits_for_store: bool,
    /// Its messages in the batch; several for a batch request.
    pub(super) messages: Range<usize>,
    pub(super) queue_id: QueueId,
    /// Its unique key in [`Answers::keys`]; empty for a batch, but for one of a topic with batches for messages.
    pub(super) key: Range<usize>,
    /// It stands for one message with the batch's key.
    pub(super) is_inner_batch: bool,
    /// For a timer message the time in its recall handle.
    pub(super) recall_ms: Option<Millis>,
    pub(super) topic: TopicIndex,
}

impl PendingSend {
    /// The send of one message, which is to be this one of the batch, with a key yet to come.
    pub(super) fn of(header: &Header<'_>, admitted: &Admitted, message: usize, key_start: usize) -> Self {
        PendingSend {
            opaque: header.opaque,
            encoding: header.encoding,
            oneway: header.is_oneway(),
            waits_for_store: true,
            messages: message..message + 1,
            queue_id: admitted.queue_id,
            key: key_start..key_start,
            is_inner_batch: false,
            recall_ms: None,
            topic: admitted.topic,
        }
    }

    /// Whether nothing but its place and its key is to be answered, in JSON.
    fn is_plain(&self) -> bool {
        self.encoding == Encoding::Json
            && self.recall_ms.is_none()
            && !self.is_inner_batch
            && !self.key.is_empty()
    }
}

/// What every answer says of the broker.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) store_host: SocketAddr,
    pub(super) region: Arc<str>,
    pub(super) broker_name: Arc<str>,
    pub(super) trace_on: bool,
    pub(super) stored: Arc<StoredAnswers>,
}

impl Sender {
    pub(super) fn of(broker: &Broker, config: &BrokerConfig) -> Self {
        let (store_host, region, trace_on) = (broker.advertised, &config.region_id, config.trace_on);
        Sender {
            store_host,
            region: region.as_str().into(),
            broker_name: config.broker_name.as_str().into(),
            trace_on,
            stored: Arc::new(StoredAnswers::new(store_host, region, trace_on)),
        }
    }

    /// Answers a send that is not taken.
    pub(super) fn refuse(&self, header: &Header<'_>, refusal: Refusal, output: &mut Output) {
        output.reply(header, self.response(refusal));
    }

    /// Answers a send that was taken and then could not be stored.
    pub(super) fn refuse_taken(&self, send: &PendingSend, refusal: &Refusal, output: &mut Output) {
        if !send.oneway {
            let response = Command { opaque: send.opaque, ..self.response(refusal.clone()) };
            output.push(&response, send.encoding);
        }
    }

    /// Clients read these two fields from every answer.
    fn response(&self, refusal: Refusal) -> Command {
        refusal.into_response().with("MSG_REGION", &self.region).with("TRACE_ON", self.trace_on)
    }
}

/// Encodes the answers to stored sends.
pub(super) struct Answers<'a> {
    pub(super) sender: &'a Sender,
    /// The unique keys of the pending sends, one behind the other.
    pub(super) keys: &'a str,
    /// Where the messages of the batch came to lie.
    pub(super) stored: &'a [Stored],
    /// Those that the sends name.
    pub(super) topics: &'a KnownTopics,
}

impl Answers<'_> {
    pub(super) fn encode(
        &self,
        send: &PendingSend,
        code: i32,
        remark: Option<&str>,
        ids: &mut Vec<OffsetMessageId>,
        output: &mut Output,
    ) {
        if send.oneway {
            return;
        }
        let (places, key) = (&self.stored[send.messages.clone()], &self.keys[send.key.clone()]);
        if let [place] = places
            && send.is_plain()
            && (code, remark) == (response::SUCCESS, None)
        {
            let (queue_offset, phy_offset) = (place.queue_offset.0, place.phy_offset.0);
            let out = output.buffer();
            return self.sender.stored.encode(
                out,
                send.opaque,
                send.queue_id.0,
                queue_offset,
                phy_offset,
                key,
            );
        }
        let named = if send.is_inner_batch { 1 } else { places.len() };
        ids.clear();
        ids.extend(places.iter().take(named).map(|place| OffsetMessageId {
            store_host: self.sender.store_host,
            phy_offset: place.phy_offset.0,
        }));
        let recall_handle = send.recall_ms.map(|time| {
            RecallHandle::encode(&self.topics[send.topic].topic_name, &self.sender.broker_name, time.0, key)
        });
        let answer = SendAnswer {
            msg_ids: ids,
            queue_id: send.queue_id.0,
            queue_offset: places.first().map_or(0, |place| place.queue_offset.0),
            transaction_id: Some(key).filter(|key| !key.is_empty()),
            batch_uniq_id: Some(key).filter(|_| send.is_inner_batch),
            recall_handle: recall_handle.as_deref(),
            region: &self.sender.region,
            trace_on: self.sender.trace_on,
        };
        answer.encode(output.buffer(), send.encoding, code, send.opaque, remark);
    }
}

/// Answers that wait for the disk.
pub(super) struct LateAnswers {
    pub(super) sends: Vec<PendingSend>,
    pub(super) keys: String,
    pub(super) stored: Vec<Stored>,
    pub(super) topics: KnownTopics,
    pub(super) sender: Sender,
    pub(super) connection: Arc<Connection>,
    pub(super) promise: LateAnswer,
}

impl LateAnswers {
    pub(super) fn send(self, flushed: Result<(), FlushError>) {
        let mut output = Output::default();
        match flushed.as_ref().map_err(failure::of_flush) {
            Ok(()) => self.encode(response::SUCCESS, None, &mut output),
            Err(FlushFailure::Late { remark }) => {
                self.encode(response::FLUSH_DISK_TIMEOUT, Some(&remark), &mut output);
            }
            Err(FlushFailure::Lost(refusal)) => {
                for send in &self.sends {
                    self.sender.refuse_taken(send, &refusal, &mut output);
                }
            }
        }
        if !output.is_empty() {
            self.connection.send(output);
        }
        drop(self.promise);
    }

    fn encode(&self, code: i32, remark: Option<&str>, output: &mut Output) {
        let answers =
            Answers { sender: &self.sender, keys: &self.keys, stored: &self.stored, topics: &self.topics };
        let mut ids = Vec::new();
        for send in &self.sends {
            answers.encode(send, code, remark, &mut ids, output);
        }
    }
}
