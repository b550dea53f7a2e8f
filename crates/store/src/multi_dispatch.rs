//! Light queues (LMQ): a message that names some in its property `INNER_MULTI_DISPATCH` is entered into each of them
//! beside its own queue. Its record says at which offsets (`INNER_MULTI_QUEUE_OFFSET`), one for each name, so that
//! recovery can enter it again.
//!
//! A name that is no light queue's has nothing for its offset, and so has one that came before in the list.

use crate::append::TooLong;
use crate::position::QueueId;
use crate::queue::names;
use roxmq_protocol::names::{DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_TOPIC_PREFIX, is_lmq};
use roxmq_protocol::properties::{PROPERTIES_BYTES_MAX, name};
use roxmq_protocol::record::{self, Record};
use std::ops::Range;

/// A light queue has no other.
pub const LMQ_QUEUE: QueueId = QueueId(0);
const SEPARATOR: char = ',';
/// The directory of a queue has its name.
const NAME_BYTES_MAX: usize = 255;
const OFFSET_DIGITS_MAX: usize = 19;

/// Whether messages of the topic may go to light queues: not those that wait there or try again.
pub fn is_dispatched(topic: &str) -> bool {
    // Dead letters still say where their originals went. The Java server would enter them there once more.
    let is_copy = topic.starts_with(RETRY_PREFIX) || topic.starts_with(DLQ_PREFIX);
    !is_copy && !topic.starts_with(SYSTEM_TOPIC_PREFIX) && topic != SCHEDULE_TOPIC
}

/// The light queues in a list, each once.
pub fn lmq_names(list: &str) -> impl Iterator<Item = &str> {
    slots(list).flatten()
}

/// Whether there may be a light queue of this name.
pub fn is_light_queue(name: &str) -> bool {
    !name.contains(SEPARATOR) && is_name(name)
}

/// For each name of the list the name itself, if a message is entered there because of it.
fn slots(list: &str) -> impl Iterator<Item = Option<&str>> {
    list.split(SEPARATOR).enumerate().map(move |(at, name)| {
        let is_first = || !list.split(SEPARATOR).take(at).any(|other| other == name);
        (is_name(name) && is_first()).then_some(name)
    })
}

fn is_name(name: &str) -> bool {
    is_lmq(name) && name.len() <= NAME_BYTES_MAX && names::check(name, LMQ_QUEUE).is_ok()
}

/// Where a record that was found in the log stands in light queues.
pub(crate) fn places<'a>(record: &Record<'a>) -> impl Iterator<Item = (&'a str, i64)> + use<'a> {
    let [list, offsets] =
        record.properties.get_all([name::INNER_MULTI_DISPATCH, name::INNER_MULTI_QUEUE_OFFSET]);
    let both = list.zip(offsets).filter(|_| is_dispatched(record.topic));
    both.into_iter().flat_map(|(list, offsets)| {
        let offsets = offsets.split(SEPARATOR).map(|offset| offset.parse::<i64>().ok());
        slots(list).zip(offsets).filter_map(|(name, offset)| name.zip(offset))
    })
}

/// The bytes that the offsets for so many names take at most.
fn room(names: usize) -> usize {
    name::INNER_MULTI_QUEUE_OFFSET.len() + 2 + names * (OFFSET_DIGITS_MAX + 1)
}

/// The records of a batch that go to light queues.
#[derive(Debug, Default)]
pub(crate) struct Dispatches {
    records: Vec<Dispatched>,
    slots: Vec<Slot>,
    spare: Vec<u8>,
}

#[derive(Debug)]
struct Dispatched {
    /// Its number in the batch.
    record: usize,
    /// Its bytes without the property of the offsets.
    bytes: usize,
    properties_bytes: usize,
    slots: Range<usize>,
}

/// A name in a record's list.
#[derive(Debug)]
struct Slot {
    /// The queue's place among the batch's targets.
    target: Option<usize>,
    offset: i64,
}

impl Dispatches {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn clear(&mut self) {
        self.records.clear();
        self.slots.clear();
    }

    /// An error if properties of so many bytes leave no room for the offsets, whatever these will be.
    pub fn check_room(list: &str, properties_bytes: usize) -> Result<(), TooLong> {
        let bytes = properties_bytes + room(list.split(SEPARATOR).count());
        if bytes > PROPERTIES_BYTES_MAX {
            return Err(TooLong { part: "properties", bytes, limit: PROPERTIES_BYTES_MAX });
        }
        Ok(())
    }

    /// The bytes that the largest record may get.
    pub fn largest(&self) -> usize {
        self.records.iter().map(|record| record.bytes + room(record.slots.len())).max().unwrap_or(0)
    }

    /// Adds a record; `target` gives a queue's place.
    pub fn push(
        &mut self,
        record: usize,
        bytes: usize,
        properties_bytes: usize,
        list: &str,
        mut target: impl FnMut(&str) -> usize,
    ) {
        let first = self.slots.len();
        self.slots.extend(slots(list).map(|name| Slot { target: name.map(&mut target), offset: 0 }));
        self.records.push(Dispatched { record, bytes, properties_bytes, slots: first..self.slots.len() });
    }

    /// Which record of the batch is the one at this place here.
    pub fn record(&self, at: usize) -> Option<usize> {
        self.records.get(at).map(|dispatched| dispatched.record)
    }

    /// Gives a record its offsets; `next` takes the next of a target.
    pub fn number(&mut self, at: usize, mut next: impl FnMut(usize) -> i64) {
        for slot in &mut self.slots[self.records[at].slots.clone()] {
            slot.offset = slot.target.map_or(0, &mut next);
        }
    }

    /// The targets that a record is entered into beside its own.
    pub fn targets(&self, at: usize) -> impl Iterator<Item = usize> {
        self.slots[self.records[at].slots.clone()].iter().filter_map(|slot| slot.target)
    }

    /// Writes the offsets into the records. `sizes` has their bytes as they are, and then as they will be.
    pub fn write_offsets<'a>(&mut self, bytes: &mut Vec<u8>, sizes: impl Iterator<Item = &'a mut usize>) {
        let mut out = std::mem::take(&mut self.spare);
        out.clear();
        out.reserve(bytes.len() + self.slots.len() * (OFFSET_DIGITS_MAX + 1));
        let mut rest = &bytes[..];
        let mut dispatched = self.records.iter().peekable();
        for (at, size) in sizes.enumerate() {
            let (record, behind) = rest.split_at(*size);
            rest = behind;
            let start = out.len();
            match dispatched.next_if(|dispatched| dispatched.record == at) {
                Some(dispatched) => self.write_record(dispatched, record, &mut out),
                None => out.extend_from_slice(record),
            }
            *size = out.len() - start;
        }
        self.spare = std::mem::replace(bytes, out);
    }

    fn write_record(&self, dispatched: &Dispatched, record: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&record[..dispatched.bytes]);
        let mut text = String::with_capacity(dispatched.slots.len() * 4);
        for (at, slot) in self.slots[dispatched.slots.clone()].iter().enumerate() {
            if at > 0 {
                text.push(SEPARATOR);
            }
            if slot.target.is_some() {
                text.push_str(&slot.offset.to_string());
            }
        }
        record::add_property(out, start, dispatched.properties_bytes, name::INNER_MULTI_QUEUE_OFFSET, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_queues_in_a_list() {
        let check = |list: &str, expected: &[Option<&str>]| {
            assert_eq!(slots(list).collect::<Vec<_>>(), expected, "{list}");
        };
        check("%LMQ%a", &[Some("%LMQ%a")]);
        check("%LMQ%a,b,%LMQ%c", &[Some("%LMQ%a"), None, Some("%LMQ%c")]);
        check("%LMQ%a,%LMQ%a", &[Some("%LMQ%a"), None]);
        check("%LMQ%a/b,%LMQ%../x,", &[None, None, None]);
        check("%LMQ%$parent$lite", &[Some("%LMQ%$parent$lite")]);
        check(&format!("%LMQ%{}", "n".repeat(251)), &[None]);
    }

    #[test]
    fn topics_whose_messages_come_again_are_left_out() {
        for topic in ["%RETRY%g", "%DLQ%g", "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX"] {
            assert!(!is_dispatched(topic), "{topic}");
        }
        assert!(is_dispatched("T"));
    }

    #[test]
    fn offsets_need_room() {
        let fits = |left: usize| Dispatches::check_room("%LMQ%a,%LMQ%b", PROPERTIES_BYTES_MAX - left).is_ok();
        assert!(fits(24 + 2 + 40));
        assert!(!fits(24 + 2 + 39));
    }
}
