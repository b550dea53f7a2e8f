//! How often producers were asked, in the log: a record of the state topic for many half messages at once.
//!
//! The body is `offset:count,offset:count,` in decimal: queue offsets of half messages and how often each has been
//! checked by then. Values are absolute; the record's store time is when they were asked last. The other records of
//! the state topic have other tags, and a Java server knows nothing of the topic.

use crate::Broker;
use roxmq_protocol::java_hash;
use roxmq_protocol::properties::{self, name};
use roxmq_store::{AppendBatch, NewMessage, QueueId, STATE_TOPIC, TooLong};
use std::fmt::Write;

pub(super) const TAG: &str = "transaction-checks";

/// A half message's queue offset and how often it has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) offset: i64,
    pub(super) checks: u32,
}

pub(super) fn push(broker: &Broker, batch: &mut AppendBatch, counts: &[Count]) -> Result<(), TooLong> {
    let mut record_properties = Vec::with_capacity(32);
    properties::push(&mut record_properties, name::TAGS, TAG);
    let body = encode(counts);
    let message = NewMessage {
        body: body.as_bytes(),
        properties: &record_properties,
        tags_code: java_hash::tags_code(TAG),
        ..NewMessage::own(STATE_TOPIC, QueueId(0), broker.clock.now(), broker.advertised)
    };
    batch.push(&broker.store, &message)
}

fn encode(counts: &[Count]) -> String {
    let mut body = String::with_capacity(counts.len() * 10);
    for Count { offset, checks } in counts {
        write!(body, "{offset}:{checks},").expect("writing to a string can't fail");
    }
    body
}

/// The counts of a record's body; what is none is passed over.
pub(super) fn decode(body: &[u8]) -> impl Iterator<Item = Count> {
    body.split(|byte| *byte == b',').filter_map(|part| {
        let (offset, checks) = std::str::from_utf8(part).ok()?.split_once(':')?;
        Some(Count { offset: offset.parse().ok()?, checks: checks.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_a_line_of_text() {
        let counts = [Count { offset: 12, checks: 3 }, Count { offset: 40, checks: 1 }];
        assert_eq!(encode(&counts), "12:3,40:1,");
        assert_eq!(decode(b"12:3,40:1,").collect::<Vec<_>>(), counts);
        assert_eq!(decode(b"x,1:,:2,3:-1,5:1").collect::<Vec<_>>(), [Count { offset: 5, checks: 1 }]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn counts_come_back(pairs in prop::collection::vec((0..i64::MAX, any::<u32>()), 0..9)) {
            let counts: Vec<_> = pairs.into_iter().map(|(offset, checks)| Count { offset, checks }).collect();
            prop_assert_eq!(decode(encode(&counts).as_bytes()).collect::<Vec<_>>(), counts);
        }

        #[test]
        fn any_body_can_be_read(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&body).count();
        }
    }
}
