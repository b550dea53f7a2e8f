//! Offsets of groups and of queues: requests 14, 15, 29, 30, 31 and 32.

use crate::Broker;
use crate::lmq;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::offset::{QueryConsumerOffset, QueueHeader, SearchOffset, UpdateConsumerOffset};
use roxmq_store::files::ReadMode;
use roxmq_store::read::{Boundary, NoFilter, ReadLimits, ReadStatus};
use roxmq_store::{Millis, QueueId, QueueOffset};
use std::io;

/// Where a group goes on (14). Not found lets a new consumer decide by itself where to start.
pub(crate) fn query(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = QueryConsumerOffset::decode(&frame.header.ext)?;
    let (group, topic, queue_id) = (&*header.consumer_group, &*header.topic, QueueId(header.queue_id));
    if broker.config().use_server_side_reset_offset
        && let Some(offset) = broker.resets.get(group, topic, queue_id)
    {
        return Ok(offset_answer(offset));
    }
    let not_found = |remark| Err(Refusal::new(response::QUERY_NOT_FOUND, remark));
    match broker.offsets.get(group, topic, queue_id) {
        Some(offset) if offset >= 0 => Ok(offset_answer(offset)),
        _ if !header.set_zero_if_not_found => {
            not_found("Not found, do not set to zero, maybe this group boot first")
        }
        _ if starts_at_zero(broker, topic, queue_id)? => Ok(offset_answer(0)),
        _ => not_found("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"),
    }
}

/// A new group reads a young queue from its beginning, wherever it meant to start: young is a queue that has had no
/// message yet, or whose first message is still in memory. If an empty queue were not found, the group would ask for
/// its end next, and miss what was sent in between.
pub(crate) fn starts_at_zero(broker: &Broker, topic: &str, queue_id: QueueId) -> io::Result<bool> {
    let Some(config) = broker.topics.get(topic) else {
        return Ok(false);
    };
    let Some(queue) = broker.store.queue(topic, queue_id) else {
        return Ok((0..config.read_queue_nums.max(config.write_queue_nums)).contains(&queue_id.0));
    };
    if queue.max_offset().0 == 0 {
        return Ok(true);
    }
    if queue.min_offset().0 > 0 {
        return Ok(false);
    }
    const ONE: ReadLimits = ReadLimits { count_max: 1, bytes_max: 1, scan_max: 1 };
    let mut first = Vec::new();
    let read = broker.store.read(&queue, QueueOffset(0), ONE, &NoFilter, ReadMode::Cached, &mut first)?;
    Ok(read.status == ReadStatus::Found)
}

/// A group has consumed up to here (15).
pub(crate) fn update(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = UpdateConsumerOffset::decode(&frame.header.ext)?;
    let (group, topic) = (&*header.consumer_group, &*header.topic);
    broker.groups.get(group).ok_or_else(|| Refusal::group_missing(group))?;
    let config = broker.topics.get(topic).ok_or_else(|| Refusal::topic_missing(topic))?;
    lmq::check_known(broker, topic)?;
    let queues = config.read_queue_nums.max(config.write_queue_nums);
    let (queue_id, offset) = checked(header.queue_id, header.commit_offset, queues)?;
    if broker.config().use_server_side_reset_offset && broker.resets.get(group, topic, queue_id).is_some() {
        return Ok(Command::response(response::SUCCESS).remark("Offset has been previously reset"));
    }
    broker.offsets.commit(group, topic, queue_id, offset);
    Ok(Command::response(response::SUCCESS))
}

fn checked(queue_id: Option<i32>, offset: Option<i64>, queues: i32) -> Result<(QueueId, i64), Refusal> {
    let queue_id = queue_id.ok_or_else(|| Refusal::invalid("QueueId is null"))?;
    let offset = offset.ok_or_else(|| Refusal::invalid("Offset is null"))?;
    if !(0..queues).contains(&queue_id) {
        return Err(Refusal::invalid(format!(
            "queueId[{queue_id}] is illegal, the topic has {queues} queues"
        )));
    }
    if offset < 0 {
        return Err(Refusal::invalid(format!("commitOffset[{offset}] is illegal, it must not be negative")));
    }
    Ok((QueueId(queue_id), offset))
}

/// One past the newest message of a queue (30).
pub(crate) fn max(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = QueueHeader::decode(&frame.header.ext)?;
    let queue = broker.store.queue(&header.topic, QueueId(header.queue_id));
    Ok(offset_answer(queue.map_or(0, |queue| queue.max_offset().0)))
}

/// The oldest message of a queue (31).
pub(crate) fn min(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = QueueHeader::decode(&frame.header.ext)?;
    let queue = broker.store.queue(&header.topic, QueueId(header.queue_id));
    Ok(offset_answer(queue.map_or(0, |queue| queue.min_offset().0)))
}

/// The offset at a time (29).
pub(crate) fn search(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let header = SearchOffset::decode(&request.ext_fields())?;
    let boundary = if header.upper { Boundary::Upper } else { Boundary::Lower };
    let topic = lmq::of_request(&header.topic, header.lite_topic.as_deref());
    let offset = match broker.store.queue(&topic, QueueId(header.queue_id)) {
        Some(queue) => broker.store.offset_by_time(&queue, Millis(header.timestamp), boundary)?.0,
        None => 0,
    };
    Ok(offset_answer(offset))
}

/// When the oldest message of a queue was stored (32).
pub(crate) fn earliest(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    const NONE: i64 = -1;
    let header = QueueHeader::decode(&request.ext_fields())?;
    let time = match broker.store.queue(&header.topic, QueueId(header.queue_id)) {
        Some(queue) => broker.store.store_time(&queue, queue.min_offset())?,
        None => None,
    };
    Ok(Command::response(response::SUCCESS).with("timestamp", time.map_or(NONE, |time| time.0)))
}

fn offset_answer(offset: i64) -> Command {
    Command::response(response::SUCCESS).with("offset", offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_can_only_be_mistakes() {
        let check = |queue_id, offset, expected: Result<(i32, i64), &str>| {
            let found = checked(queue_id, offset, 4);
            match (found, expected) {
                (Ok((id, offset)), Ok(expected)) => assert_eq!((id.0, offset), expected),
                (Err(refusal), Err(words)) => {
                    assert_eq!(refusal.code, response::INVALID_PARAMETER);
                    assert!(refusal.remark.contains(words), "'{words}' is not in: {refusal}");
                }
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        };
        check(Some(3), Some(0), Ok((3, 0)));
        check(None, Some(0), Err("QueueId is null"));
        check(Some(0), None, Err("Offset is null"));
        check(Some(4), Some(0), Err("queueId[4]"));
        check(Some(-2), Some(0), Err("queueId[-2]"));
        check(Some(0), Some(-1), Err("commitOffset[-1]"));
    }
}
