//! The record that says which half messages are done with: their queue offsets in decimal, each with a comma behind,
//! under the tag `d`.
//!
//! Older Java servers wrote one offset without a comma, which reads the same.

use super::half::HALF_QUEUE;
use crate::Broker;
use roxmq_protocol::properties::{self, name};
use roxmq_protocol::{java_hash, names};
use roxmq_store::{AppendBatch, NewMessage, TooLong};
use std::fmt::Write;

/// The tag of those that are done. Records with other tags mean nothing.
pub(super) const DONE_TAG: &str = "d";

/// Puts the record that these half messages are done into a batch.
pub(super) fn push(broker: &Broker, batch: &mut AppendBatch, offsets: &[i64]) -> Result<(), TooLong> {
    let mut body = String::with_capacity(offsets.len() * 8);
    for offset in offsets {
        write!(body, "{offset},").expect("writing to a string can't fail");
    }
    let mut record_properties = Vec::with_capacity(20);
    // The Java server's records have it, too.
    properties::push(&mut record_properties, name::WAIT_STORE_MSG_OK, "true");
    properties::push(&mut record_properties, name::TAGS, DONE_TAG);
    let message = NewMessage {
        body: body.as_bytes(),
        properties: &record_properties,
        tags_code: java_hash::tags_code(DONE_TAG),
        ..NewMessage::own(names::TRANS_OP_HALF_TOPIC, HALF_QUEUE, broker.clock.now(), broker.advertised)
    };
    batch.push(&broker.store, &message)
}

/// The offsets of a record's body. What is no offset is passed over, as there is nothing that could be done about it.
pub(super) fn offsets(body: &[u8]) -> impl Iterator<Item = i64> {
    let parts = body.split(|byte| *byte == b',');
    parts.filter_map(|part| std::str::from_utf8(part).ok()?.parse().ok()).filter(|offset| *offset >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bodies_of_all_servers_are_read() {
        let check = |body: &str, expected: &[i64]| {
            assert_eq!(offsets(body.as_bytes()).collect::<Vec<_>>(), expected, "{body}");
        };
        check("12,13,17,", &[12, 13, 17]);
        check("12", &[12]);
        check("", &[]);
        check(",,5,", &[5]);
        check("x,-1,99999999999999999999,7,", &[7]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_body_can_be_read(body in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(offsets(&body).all(|offset| offset >= 0));
        }
    }
}
