//! Records that a loss of power tore where no checksum looks: only the body has one.
//!
//! A disk writes sectors whole. Where it didn't get one, there are the zeros from which the file began, and neither a
//! topic nor properties have a sector's share of those.

use roxmq_protocol::record::Record;

const SECTOR_BYTES: usize = 512;

/// Whether the topic or the properties of a record, which starts at `at` in its file, lack what a sector holds.
pub(super) fn lacks_sector(record: &Record<'_>, at: usize) -> bool {
    let properties = record.properties.raw();
    let length_bytes = size_of::<u16>();
    let topic_end = record.raw.len() - properties.len() - length_bytes;
    // The length of no properties is zeros by right.
    let end = if properties.is_empty() { topic_end } else { record.raw.len() };
    let mut from = topic_end - record.topic.len();
    while from < end {
        let to = end.min(from + SECTOR_BYTES - (at + from) % SECTOR_BYTES);
        if record.raw[from..to].iter().all(|&byte| byte == 0) {
            return true;
        }
        from = to;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::record::{RecordFields, encode, patch};

    fn record(body_bytes: usize, topic: &str, properties: &[u8]) -> Vec<u8> {
        let host = ([127, 0, 0, 1], 10911).into();
        let fields = RecordFields {
            topic,
            queue_id: 0,
            flag: 0,
            sys_flag: 0,
            born_timestamp: 1,
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: &vec![b'x'; body_bytes],
            properties,
        };
        let mut bytes = Vec::new();
        encode(&mut bytes, &fields).unwrap();
        patch(&mut bytes, 1, 0x0101, 1);
        bytes
    }

    /// Loses each sector of a record at each place in a file: what still passes for a record has lost nothing.
    #[track_caller]
    fn check(topic: &str, properties: &[u8]) {
        let whole = record(40, topic, properties);
        for at in 0..SECTOR_BYTES {
            assert!(!lacks_sector(&Record::decode(&whole).unwrap(), at), "whole at {at}");
            let mut from = 0;
            while from < whole.len() {
                let to = whole.len().min(from + SECTOR_BYTES - (at + from) % SECTOR_BYTES);
                let mut torn = whole.clone();
                torn[from..to].fill(0);
                let noticed = Record::decode(&torn).map_or(true, |record| {
                    record.verify_crc().is_err() || lacks_sector(&record, at) || torn == whole
                });
                assert!(noticed, "{from}..{to} of a record at {at}");
                from = to;
            }
        }
    }

    #[test]
    fn a_lost_sector_is_noticed_wherever_it_is() {
        check("TopicA", b"");
        check("TopicA", b"KEYS\x01k\x02");
        check(&"t".repeat(100), &b"a\x01b\x02".repeat(400));
    }
}
