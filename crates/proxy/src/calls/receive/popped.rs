//! The broker's answer to a pop: messages, and for all of them together what their receipts are made of.

use super::release::Source;
use crate::message::stored::{self, Delivery};
use crate::receipt;
use crate::refusal::{Refusal, Result};
use crate::schema::{Code, Message};
use foldhash::fast::RandomState;
use roxmq_protocol::command::Command;
use roxmq_protocol::names::LMQ_PREFIX;
use roxmq_protocol::properties::name;
use roxmq_protocol::receipt::{PopOrigin, Receipt};
use roxmq_protocol::record::{Record, Records};
use std::collections::HashMap;

/// The one queue of a lite topic.
const LITE_QUEUE: i32 = 0;

/// A message that is out, with what is known of its deliveries.
#[derive(Debug)]
pub struct Popped {
    pub message: Message,
    pub reconsume_times: i32,
}

pub fn read(answer: &Command, source: &Source) -> Result<Vec<Popped>> {
    let receipts = Receipts::of(answer, source).ok_or_else(|| {
        Refusal::new(
            Code::InternalServerError,
            "the broker's answer to a pop lacks what receipts are made of",
        )
    })?;
    let mut popped = Vec::new();
    for record in Records::new(&answer.body) {
        let record = record.map_err(|error| Refusal::new(Code::InternalServerError, error.to_string()))?;
        let counted = receipts.order_count(&record, popped.len());
        let reconsume_times = counted.unwrap_or(record.reconsume_times);
        let delivery = Delivery {
            topic: &source.topic,
            receipt_handle: Some(receipts.of_record(&record)),
            reconsume_times: Some(reconsume_times),
        };
        popped.push(Popped { message: stored::message(&answer.body, &record, delivery), reconsume_times });
    }
    Ok(popped)
}

type ByQueue<T> = HashMap<(PopOrigin, i32), T, RandomState>;

struct Receipts<'a> {
    source: &'a Source,
    pop_time: i64,
    invisible_time: i64,
    revive_queue: i32,
    start_offsets: ByQueue<i64>,
    /// Of ordered pops: how often each message, or each of a queue, was out before.
    order_counts: HashMap<(PopOrigin, &'a str), i32, RandomState>,
    /// Of pops from lite topics: how often each message was out before, in their order.
    lite_counts: Vec<i32>,
}

impl<'a> Receipts<'a> {
    fn of(answer: &'a Command, source: &'a Source) -> Option<Self> {
        let items = |name| answer.field(name).unwrap_or_default().split(';').filter_map(item);
        let start_offset = |(origin, queue, start): (PopOrigin, &str, &str)| {
            Some(((origin, queue.parse().ok()?), start.parse().ok()?))
        };
        let order_count =
            |(origin, key, count): (PopOrigin, &'a str, &str)| Some(((origin, key), count.parse().ok()?));
        Some(Receipts {
            source,
            pop_time: answer.field("popTime")?.parse().ok()?,
            invisible_time: answer.field("invisibleTime")?.parse().ok()?,
            revive_queue: answer.field("reviveQid")?.parse().ok()?,
            start_offsets: items("startOffsetInfo").filter_map(start_offset).collect(),
            order_counts: items("orderCountInfo").filter_map(order_count).collect(),
            lite_counts: if source.is_lite { lite_counts(answer) } else { Vec::new() },
        })
    }

    /// The broker has put the receipt into messages that it took out of a retry topic.
    fn of_record(&self, record: &Record<'_>) -> String {
        if let Some(receipt) = record.properties.get(name::POP_CK) {
            return format!("{receipt} {}", record.phy_offset);
        }
        let origin = PopOrigin::of(record.topic);
        let (queue_id, queue_offset) = match self.lite_offset(record) {
            Some(offset) => (LITE_QUEUE, offset),
            None => (record.queue_id, record.queue_offset),
        };
        let start = self.start_offsets.get(&(origin, queue_id)).copied();
        let receipt = Receipt {
            start_offset: start.unwrap_or(queue_offset),
            pop_time: self.pop_time,
            invisible_time: self.invisible_time,
            revive_queue: self.revive_queue,
            origin,
            broker_name: &self.source.broker,
            queue_id,
            queue_offset: Some(queue_offset),
        };
        receipt::text_of(&receipt, Some(record.phy_offset))
    }

    /// The message's place in the queue of its lite topic: the one of those it was entered into that is named after
    /// it.
    fn lite_offset(&self, record: &Record<'_>) -> Option<i64> {
        if !self.source.is_lite {
            return None;
        }
        let names = [name::LITE_TOPIC, name::INNER_MULTI_DISPATCH, name::INNER_MULTI_QUEUE_OFFSET];
        let [lite_topic, queues, offsets] = record.properties.get_all(names);
        let queue = format!("{LMQ_PREFIX}${}${}", self.source.topic, lite_topic?);
        let at = queues?.split(',').position(|name| name == queue)?;
        offsets?.split(',').nth(at)?.parse().ok()
    }

    fn order_count(&self, record: &Record<'_>, at: usize) -> Option<i32> {
        if let Some(count) = self.lite_counts.get(at) {
            return Some(*count);
        }
        if self.order_counts.is_empty() {
            return None;
        }
        let origin = PopOrigin::of(record.topic);
        let of_message = format!("qo{}%{}", record.queue_id, record.queue_offset);
        let of_queue = record.queue_id.to_string();
        let count = |key: &str| self.order_counts.get(&(origin, key)).copied();
        count(&of_message).or_else(|| count(&of_queue)).filter(|count| *count > 0)
    }
}

fn lite_counts(answer: &Command) -> Vec<i32> {
    let counts = answer.field("orderCountInfo").unwrap_or_default().split(';');
    counts.map_while(|count| count.parse().ok()).collect()
}

/// `r key value`
fn item(text: &str) -> Option<(PopOrigin, &str, &str)> {
    let mut parts = text.split(' ');
    let item = (PopOrigin::from_mark(parts.next()?)?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(item)
}
