//! Filters that look into records: what is left of records that were read.

use crate::read::ReadFilter;
use roxmq_protocol::record::{Record, Records};

/// Whether the filter passes the record. Bytes that are no record pass no filter.
pub(crate) fn passes(filter: &dyn ReadFilter, record: &[u8]) -> bool {
    Record::decode(record).is_ok_and(|record| filter.matches(record.properties.raw()))
}

/// Leaves out of the records that start at `start` those that the filter rejects; gives how many are left.
pub(crate) fn sift(filter: &dyn ReadFilter, records: &mut Vec<u8>, start: usize) -> usize {
    let (mut read, mut kept, mut count) = (start, start, 0);
    loop {
        let head = Records::new(&records[read..]).next().and_then(Result::ok);
        let Some((bytes, wanted)) =
            head.map(|record| (record.total_size(), filter.matches(record.properties.raw())))
        else {
            break;
        };
        if wanted {
            records.copy_within(read..read + bytes, kept);
            kept += bytes;
            count += 1;
        }
        read += bytes;
    }
    records.truncate(kept);
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::record::{RecordFields, encode};
    use std::net::{Ipv4Addr, SocketAddr};

    /// Wants messages whose properties are this.
    struct Exactly(&'static [u8]);

    impl ReadFilter for Exactly {
        fn may_match(&self, _: i64) -> bool {
            true
        }

        fn matches(&self, properties: &[u8]) -> bool {
            properties == self.0
        }
    }

    fn record(properties: &[u8]) -> Vec<u8> {
        let host = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let mut bytes = Vec::new();
        let fields = RecordFields {
            queue_id: 0,
            flag: 0,
            sys_flag: 0,
            born_timestamp: 0,
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: b"body",
            topic: "T",
            properties,
        };
        encode(&mut bytes, &fields).expect("short enough");
        bytes
    }

    #[test]
    fn what_is_wanted_stays_in_order() {
        let check = |records: &[&[u8]], expected: usize| {
            let mut bytes = b"before".to_vec();
            records.iter().for_each(|properties| bytes.extend(record(properties)));
            let left = sift(&Exactly(b"x"), &mut bytes, 6);
            assert_eq!(
                (left, bytes),
                (expected, [b"before".to_vec(), record(b"x").repeat(expected)].concat())
            );
        };
        check(&[], 0);
        check(&[b"a"], 0);
        check(&[b"x", b"longer than the others", b"x", b""], 2);
        check(&[b"", b"a", b"x"], 1);
    }

    #[test]
    fn rubbish_passes_nothing() {
        assert!(!passes(&Exactly(b""), b""));
        assert!(!passes(&Exactly(b""), &[0; 200]));
        assert!(passes(&Exactly(b"x"), &record(b"x")));
        let mut bytes = [record(b"x"), vec![1; 50]].concat();
        assert_eq!(sift(&Exactly(b"x"), &mut bytes, 0), 1);
        assert_eq!(bytes, record(b"x"));
    }
}
