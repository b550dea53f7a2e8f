//! What a record of the log says about queues, index and topics. The append path is told; recovery reads it here.

use crate::append::{AppendError, NewMessage};
use crate::batch::AppendBatch;
use crate::core::Core;
use crate::index_keys::IndexKeys;
use crate::position::{PhyOffset, QueueId};
use crate::queue::QueueEntry;
use crate::store::STATE_TOPIC;
use roxmq_protocol::java_hash::tags_code;
use roxmq_protocol::names;
use roxmq_protocol::properties::{self, name};
use roxmq_protocol::record::Record;
use roxmq_protocol::sys_flag::{self, TRANSACTION_ROLLBACK};
use std::net::{Ipv4Addr, SocketAddr};

/// What the Java server takes for a level that isn't in its table.
const UNKNOWN_LEVEL_DELAY_MS: i64 = 1_000;
/// TAGS of the state record that says a topic was deleted; its body is the topic's name.
const TOPIC_DELETED: &str = "topic-deleted";

/// The entry of the record's queue, if it is in one.
pub(crate) fn queue_entry(record: &Record<'_>, delay_levels_ms: &[i64]) -> Option<QueueEntry> {
    sys_flag::is_queued(record.sys_flag).then(|| QueueEntry {
        phy_offset: PhyOffset(record.phy_offset),
        bytes: record.total_size() as i32,
        tags_code: tags_code_of(record, delay_levels_ms),
    })
}

/// The hashes of its keys. What was rolled back isn't searched for.
pub(crate) fn record_hashes(record: &Record<'_>, out: &mut Vec<u32>) {
    if sys_flag::transaction(record.sys_flag) != TRANSACTION_ROLLBACK {
        out.extend(IndexKeys::of(record.properties).hashes(record.topic));
    }
}

fn tags_code_of(record: &Record<'_>, delay_levels_ms: &[i64]) -> i64 {
    if record.topic == names::SCHEDULE_TOPIC
        && let Some(level) = record.properties.get(name::DELAY_TIME_LEVEL).and_then(|text| text.parse().ok())
        && level > 0
    {
        return record.store_timestamp + delay_ms(level, delay_levels_ms);
    }
    record.properties.get(name::TAGS).map_or(0, tags_code)
}

/// The delay of a level, which is 1 or more; levels above the last are the last.
fn delay_ms(level: usize, delay_levels_ms: &[i64]) -> i64 {
    let level = level.min(delay_levels_ms.len());
    level.checked_sub(1).map_or(UNKNOWN_LEVEL_DELAY_MS, |at| delay_levels_ms[at])
}

/// The record that says a topic was deleted: nothing of the topic before it counts any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone<'a> {
    pub topic: &'a str,
}

impl<'a> Tombstone<'a> {
    pub fn read(record: &Record<'a>) -> Option<Self> {
        if record.topic != STATE_TOPIC || record.properties.get(name::TAGS) != Some(TOPIC_DELETED) {
            return None;
        }
        let topic = std::str::from_utf8(record.body).ok()?;
        Some(Tombstone { topic })
    }

    pub fn push(self, core: &Core, batch: &mut AppendBatch) -> Result<(), AppendError> {
        let mut properties = Vec::new();
        properties::push(&mut properties, name::TAGS, TOPIC_DELETED);
        // Nobody sent it.
        let host = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let message = NewMessage {
            body: self.topic.as_bytes(),
            properties: &properties,
            tags_code: tags_code(TOPIC_DELETED),
            ..NewMessage::own(STATE_TOPIC, QueueId(0), core.clock.now(), host)
        };
        Ok(batch.push_for(core, &message)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_above_the_last_are_the_last() {
        assert_eq!(delay_ms(1, &[5, 7]), 5);
        assert_eq!(delay_ms(2, &[5, 7]), 7);
        assert_eq!(delay_ms(9, &[5, 7]), 7);
        assert_eq!(delay_ms(1, &[]), UNKNOWN_LEVEL_DELAY_MS);
    }
}
