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
        topic: names::TRANS_OP_HALF_TOPIC,
        queue_id: HALF_QUEUE,
        flag: 0,
        sys_flag: 0,
        born: broker.clock.now(),
        born_host: broker.advertised,
        store_host: broker.advertised,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: body.as_bytes(),
        properties: &record_properties,
        tags_code: java_hash::tags_code(DONE_TAG),
        key_hashes: &[],
    };
    batch.push(&broker.store, &message)
}

/// The offsets of a record's body. What is no offset is passed over, as there is nothing that could be done about it.
pub(super) fn offsets(body: &[u8]) -> impl Iterator<Item = i64> {
    let parts = body.split(|byte| *byte == b',');
    parts.filter_map(|part| std::str::from_utf8(part).ok()?.parse().ok()).filter(|offset| *offset >= 0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use roxmq_protocol::record::{RecordFields, encode};
    use std::net::SocketAddr;

    /// A record of the log as a test wants it.
    pub(in super::super) fn record(topic: &str, body: &[u8], properties: &str) -> Vec<u8> {
        let host = SocketAddr::from(([127, 0, 0, 1], 10911));
        let fields = RecordFields {
            topic,
            queue_id: 0,
            flag: 7,
            sys_flag: 0,
            born_timestamp: 5,
            born_host: host,
            store_host: host,
            reconsume_times: 1,
            prepared_transaction_offset: 0,
            body,
            properties: properties.as_bytes(),
        };
        let mut out = Vec::new();
        encode(&mut out, &fields).expect("it fits");
        out
    }

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
