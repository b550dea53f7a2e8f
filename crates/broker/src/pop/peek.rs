//! The next messages of a group, without taking them (200052).

use super::admit;
use super::rules::{self, COUNT_MAX};
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::names;
use roxmq_protocol::request::polling::PeekHeader;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{NoFilter, ReadLimits, ReadStatus};
use roxmq_store::{QueueId, QueueOffset};
use std::io;

/// Queue entries that are looked at for them.
const SCAN_MAX: usize = 800;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let header = PeekHeader::decode(&fields)?;
    rules::check_broker(&broker.config(), "peeking")?;
    let (topic, group) = admit::target(broker, &header.topic, header.queue_id, &header.consumer_group)?;
    let count_max = usize::try_from(header.max_msg_nums).unwrap_or(0).min(COUNT_MAX as usize);
    if count_max == 0 {
        let count = header.max_msg_nums;
        return Err(Refusal::invalid(format!("maxMsgNums[{count}] is illegal, it must be 1 or more")));
    }
    let (topic, group) = (&topic.topic_name, &group.group_name);
    let mut peek = Peek { broker, group, count_max, count: 0, rest: 0, records: Vec::new() };
    if header.queue_id < 0 {
        peek.all_queues(topic)?;
    } else {
        peek.queue(topic, QueueId(header.queue_id))?;
    }
    for v2 in [false, true] {
        peek.all_queues(&names::pop_retry_topic(topic, group, v2))?;
    }
    Ok(peek.answer())
}

struct Peek<'a> {
    broker: &'a Broker,
    group: &'a str,
    count_max: usize,
    count: usize,
    /// Messages of the queues that the group hasn't had.
    rest: i64,
    records: Vec<u8>,
}

impl Peek<'_> {
    fn all_queues(&mut self, topic: &str) -> io::Result<()> {
        let queues = self.broker.topics.get(topic).map_or(0, |topic| topic.read_queue_nums);
        (0..queues).try_for_each(|id| self.queue(topic, QueueId(id)))
    }

    fn queue(&mut self, topic: &str, id: QueueId) -> io::Result<()> {
        let Some(queue) = self.broker.store.queue(topic, id) else { return Ok(()) };
        let committed = self.broker.offsets.get(self.group, topic, id).unwrap_or(0);
        let mut position = QueueOffset(committed.max(queue.min_offset().0));
        self.rest += (queue.max_offset().0 - position.0).max(0);
        let bytes_max = self.broker.config().max_transfer_bytes_on_message_in_memory;
        while self.count < self.count_max && self.records.len() < bytes_max {
            let limits = ReadLimits {
                count_max: self.count_max - self.count,
                bytes_max: bytes_max - self.records.len(),
                scan_max: SCAN_MAX,
            };
            let (mode, records) = (ReadMode::Blocking, &mut self.records);
            let read = self.broker.store.read(&queue, position, limits, &NoFilter, mode, records)?;
            if read.status != ReadStatus::Found {
                break;
            }
            position = read.next_offset;
            self.count += read.count;
        }
        Ok(())
    }

    fn answer(self) -> Command {
        let (code, remark) = match self.count {
            0 => (response::PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"),
            _ => (response::SUCCESS, "FOUND"),
        };
        Command::response(code)
            .remark(remark)
            .with("invisibleTime", 0)
            .with("popTime", 0)
            .with("restNum", self.rest)
            .with("reviveQid", 0)
            .body(self.records)
    }
}
