//! Messages of a retry topic as the consumer sees them: of the topic that it asked for, each with its receipt.

use super::look::Found;
use roxmq_protocol::properties::{PROPERTIES_BYTES_MAX, name, rewrite};
use roxmq_protocol::receipt::Receipt;
use roxmq_protocol::record::{self, Record, RecordFields, Records};

/// Writes the records of the answer from `start` on anew. The receipt lacks the offset, which each message has its own.
pub(super) fn as_of_topic(found: &mut Found, start: usize, topic: &str, receipt: Receipt<'_>) {
    let Found { records, scratch, .. } = found;
    scratch.clear();
    scratch.extend_from_slice(&records[start..]);
    records.truncate(start);
    let (mut properties, mut text) = (Vec::new(), Vec::new());
    for record in Records::new(scratch).flatten() {
        text.clear();
        Receipt { queue_offset: Some(record.queue_offset), ..receipt }.write(&mut text);
        let written = std::str::from_utf8(&text)
            .is_ok_and(|receipt| rewrite_one(&record, topic, receipt, &mut properties, records));
        if !written {
            // It has no room for its receipt; the answer's header tells the same.
            records.extend_from_slice(record.raw);
        }
    }
}

fn rewrite_one(
    record: &Record<'_>,
    topic: &str,
    receipt: &str,
    properties: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> bool {
    properties.clear();
    let own = record.properties.get(name::POP_CK);
    rewrite(record.properties.raw(), properties, &[(name::POP_CK, Some(own.unwrap_or(receipt)))]);
    if properties.len() > PROPERTIES_BYTES_MAX {
        return false;
    }
    let fields = RecordFields { topic, properties, ..RecordFields::of(record) };
    let at = out.len();
    if record::encode(out, &fields).is_err() {
        return false;
    }
    record::patch(&mut out[at..], record.queue_offset, record.phy_offset, record.store_timestamp);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::receipt::PopOrigin;

    fn stored(properties: &[u8]) -> Vec<u8> {
        let mut out = roxmq_testkit::record("%RETRY%G_T", b"body", properties);
        record::patch(&mut out, 7, 4711, 99);
        out
    }

    const RECEIPT: Receipt<'static> = Receipt {
        start_offset: 6,
        pop_time: 5,
        invisible_time: 60_000,
        revive_queue: 1,
        origin: PopOrigin::RetryV1,
        broker_name: "b",
        queue_id: 0,
        queue_offset: None,
    };

    #[test]
    fn the_message_is_the_same_but_for_topic_and_receipt() {
        let mut found = Found { records: b"before".to_vec(), ..Found::default() };
        found.records.extend_from_slice(&stored(b"k\x01v\x02"));
        found.records.extend_from_slice(&stored(b"POP_CK\x01own\x02"));
        as_of_topic(&mut found, 6, "T", RECEIPT);
        assert_eq!(&found.records[..6], b"before");
        let records: Vec<_> =
            Records::new(&found.records[6..]).map(|record| record.expect("a record")).collect();
        let first = &records[0];
        assert_eq!((first.topic, first.body, first.flag), ("T", &b"body"[..], 7));
        assert_eq!((first.queue_offset, first.phy_offset, first.store_timestamp), (7, 4711, 99));
        assert_eq!((first.reconsume_times, first.properties.get("k")), (1, Some("v")));
        assert_eq!(first.properties.get(name::POP_CK), Some("6 5 60000 1 1 b 0 7"));
        assert_eq!(first.verify_crc(), Ok(()));
        assert_eq!(records[1].properties.get(name::POP_CK), Some("own"));
    }

    #[test]
    fn a_message_without_room_for_its_receipt_keeps_its_topic() {
        let full = [b"k\x01", "v".repeat(PROPERTIES_BYTES_MAX - 3).as_bytes(), b"\x02"].concat();
        let raw = stored(&full);
        let mut found = Found { records: raw.clone(), ..Found::default() };
        as_of_topic(&mut found, 0, "T", RECEIPT);
        assert_eq!(found.records, raw);
    }
}
