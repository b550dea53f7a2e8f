//! Acknowledgements: requests 200051 and 200151.
//!
//! Those of a burst are recorded together and then answered, as a burst of sends is. An acknowledgement under a
//! receipt that isn't good any more changes nothing and succeeds, as with the Java server; but one whose invisible time
//! was changed has another receipt, and who uses the old one is told.

use super::batch::{BatchKey, Messages};
use super::in_flight::Holding;
use super::ordered;
use super::queue::PopQueue;
use super::record::{PopChange, PopRecord};
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::batch_ack::{BatchAck, BatchAckBody};
use roxmq_protocol::code::request::BATCH_ACK_MESSAGE;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::names;
use roxmq_protocol::receipt::{ORDER_REVIVE_QUEUE, PopOrigin, Receipt, ReceiptError};
use roxmq_protocol::request::pop::AckHeader;
use roxmq_remoting::Output;
use roxmq_store::QueueId;
use std::borrow::Cow;
use std::sync::Arc;

/// Kept with its connection, so that its room is used again.
#[derive(Default)]
pub(crate) struct AckBurst {
    acks: Vec<Ack>,
    /// Requests to answer once their acknowledgements are recorded.
    answers: Vec<(i32, Encoding)>,
    record: PopRecord,
}

/// Messages of one batch.
struct Ack {
    queue: Arc<PopQueue>,
    key: BatchKey,
    messages: Messages,
}

impl From<ReceiptError> for Refusal {
    /// As the Java server, whose parser throws.
    fn from(error: ReceiptError) -> Self {
        Refusal::failed(error.to_string())
    }
}

impl AckBurst {
    /// Takes a request into the burst, or answers it at once if nothing has to be recorded for it.
    pub(crate) fn request(&mut self, broker: &Arc<Broker>, frame: &Frame<'_>, output: &mut Output) {
        let taken = match frame.header.code {
            BATCH_ACK_MESSAGE => self.take_batch(broker, frame),
            _ => self.take_one(broker, frame),
        };
        match taken {
            Ok(true) if frame.header.is_oneway() => {}
            Ok(true) => self.answers.push((frame.header.opaque, frame.header.encoding)),
            Ok(false) => output.reply(&frame.header, Command::response(response::SUCCESS)),
            Err(refusal) => output.reply(&frame.header, refusal.into_response()),
        }
    }

    /// Whether there is something to record.
    fn take_one(&mut self, broker: &Arc<Broker>, frame: &Frame<'_>) -> Result<bool, Refusal> {
        let header = AckHeader::decode(&frame.header.ext)?;
        let topic = &*header.topic;
        check_queue(broker, topic, header.queue_id)?;
        let id = QueueId(header.queue_id);
        let (min, max) = extent(broker, topic, id);
        if !(min..=max).contains(&header.offset) {
            let offset = header.offset;
            let remark = format!("offset is illegal, key:{topic}@{id}, commit:{offset}, store:{min}~{max}");
            return Err(Refusal::new(response::NO_MESSAGE, remark));
        }
        let receipt = Receipt::parse(&header.extra_info)?;
        let group = &*header.consumer_group;
        if receipt.is_ordered() {
            ordered::acknowledge(broker, group, topic, id, header.offset, receipt.pop_time)?;
            return Ok(false);
        }
        let Some(queue) = broker.pops.table.get(group, topic, id) else {
            return Ok(false);
        };
        let key = BatchKey { start: receipt.start_offset, pop_time: receipt.pop_time };
        let holding = queue.state().flight.holding(key, header.offset);
        match holding {
            Holding::Held(index) => Ok(self.add(queue, key, Messages::one(index))),
            Holding::Gone => Ok(false),
            Holding::Moved => Err(moved()),
        }
    }

    fn take_batch(&mut self, broker: &Arc<Broker>, frame: &Frame<'_>) -> Result<bool, Refusal> {
        let body = match frame.body.is_empty() {
            true => BatchAckBody::default(),
            false => BatchAckBody::from_json_bytes(frame.body)?,
        };
        if body.acks.is_empty() {
            return Err(Refusal::new(response::NO_MESSAGE, "the request has no acknowledgements"));
        }
        // One that can't be carried out takes nothing from the others.
        let outcomes: Vec<_> = body.acks.iter().map(|ack| self.take_of_batch(broker, ack)).collect();
        outcomes.into_iter().try_fold(false, |any, one| Ok(one? || any))
    }

    fn take_of_batch(&mut self, broker: &Arc<Broker>, ack: &BatchAck) -> Result<bool, Refusal> {
        let (group, id) = (&*ack.consumer_group, QueueId(ack.queue_id));
        let topic: Cow<'_, str> = match ack.origin {
            PopOrigin::Topic => Cow::Borrowed(&ack.topic),
            PopOrigin::RetryV1 => Cow::Owned(names::pop_retry_topic(&ack.topic, group, false)),
            PopOrigin::RetryV2 => Cow::Owned(names::pop_retry_topic(&ack.topic, group, true)),
        };
        if ack.revive_queue == ORDER_REVIVE_QUEUE {
            let (min, max) = extent(broker, &topic, id);
            let outcomes: Vec<_> = ack
                .offsets()
                .filter(|offset| (min..=max).contains(offset))
                .map(|offset| ordered::acknowledge(broker, group, &topic, id, offset, ack.pop_time))
                .collect();
            return outcomes.into_iter().collect::<Result<(), _>>().map(|()| false);
        }
        let Some(queue) = broker.pops.table.get(group, &topic, id) else {
            return Ok(false);
        };
        let key = BatchKey { start: ack.start_offset, pop_time: ack.pop_time };
        let messages = queue.state().flight.held(key, ack.offsets());
        Ok(self.add(queue, key, messages))
    }

    fn add(&mut self, queue: Arc<PopQueue>, key: BatchKey, messages: Messages) -> bool {
        if messages.is_empty() {
            return false;
        }
        // A client acknowledges what it popped together one behind the other.
        match self.acks.last_mut() {
            Some(last) if last.key == key && Arc::ptr_eq(&last.queue, &queue) => {
                last.messages = last.messages.with(messages);
            }
            _ => self.acks.push(Ack { queue, key, messages }),
        }
        true
    }

    /// Records what was taken and answers it.
    pub(crate) fn flush(&mut self, broker: &Arc<Broker>, output: &mut Output) {
        if self.acks.is_empty() {
            return;
        }
        let refusal = self.record(broker).err();
        for (opaque, encoding) in self.answers.drain(..) {
            let answer = match &refusal {
                None => Command::response(response::SUCCESS),
                Some(refusal) => refusal.clone().into_response(),
            };
            output.respond(opaque, encoding, answer);
        }
        self.acks.clear();
    }

    fn record(&mut self, broker: &Arc<Broker>) -> Result<(), Refusal> {
        self.record.clear();
        let mut turn = broker.state_log.turn();
        let mut of: Option<&Arc<PopQueue>> = None;
        for ack in &mut self.acks {
            // It may have come again since it was taken into the burst.
            ack.messages = ack.queue.state().flight.still_pending(ack.key, ack.messages);
            if ack.messages.is_empty() {
                continue;
            }
            if of.is_none_or(|of| !Arc::ptr_eq(of, &ack.queue)) {
                self.record.queue(ack.queue.name());
                of = Some(&ack.queue);
            }
            self.record.push(&PopChange::Finished { key: ack.key, messages: ack.messages });
        }
        if self.record.is_empty() {
            return Ok(());
        }
        turn.record_pop(self.record.bytes(), None)
            .map_err(|error| Refusal::failed(format!("messages can't be acknowledged: {error}")))?;
        for ack in &self.acks {
            let change = PopChange::Finished { key: ack.key, messages: ack.messages };
            broker.pops.apply(broker, &mut turn, &ack.queue, change);
            if !ack.messages.is_empty() {
                let stats = broker.stats.group(&ack.queue.topic, &ack.queue.group);
                broker.stats.acknowledged(&stats, ack.messages.count() as u64);
            }
        }
        Ok(())
    }
}

pub(super) fn moved() -> Refusal {
    Refusal::new(
        response::NO_MESSAGE,
        "the message's invisible time was changed: the receipt that counts is in the answer to that",
    )
}

pub(super) fn check_queue(broker: &Broker, topic: &str, queue_id: i32) -> Result<(), Refusal> {
    let config = broker.topics.get(topic).ok_or_else(|| Refusal::topic_missing(topic))?;
    if (0..config.read_queue_nums).contains(&queue_id) {
        return Ok(());
    }
    let remark = format!(
        "queueId[{queue_id}] is illegal, topic:[{topic}] topicConfig.readQueueNums:[{}]",
        config.read_queue_nums
    );
    Err(Refusal::new(response::MESSAGE_ILLEGAL, remark))
}

/// The first offset of a queue, and one past its last.
pub(super) fn extent(broker: &Broker, topic: &str, id: QueueId) -> (i64, i64) {
    let queue = broker.store.queue(topic, id);
    queue.map_or((0, 0), |queue| (queue.min_offset().0, queue.max_offset().0))
}
