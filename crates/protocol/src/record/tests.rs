use super::*;
use crate::test_bytes::hex;
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

/// Recorded from the Java class library: topic TT, body hello, properties KEYS=k1.
const GOLDEN: &str = "0000006a daa320a7 3610a686 00000001 00000002 0000000000000003 0000000000000004 00000000 \
    0000018bcfe56800 7f00000100000457 0000018bcfe56801 7f00000100002a9f 00000005 0000000000000006 \
    00000005 68656c6c6f 02 5454 0008 4b455953016b3102";

fn host(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn golden_fields() -> RecordFields<'static> {
    RecordFields {
        topic: "TT",
        queue_id: 1,
        flag: 2,
        sys_flag: 0,
        born_timestamp: 1_700_000_000_000,
        born_host: host(1111),
        store_host: host(10911),
        reconsume_times: 5,
        prepared_transaction_offset: 6,
        body: b"hello",
        properties: b"KEYS\x01k1\x02",
    }
}

#[test]
fn a_record_has_the_bytes_that_java_gives_it() {
    let mut out = Vec::new();
    assert_eq!(encode(&mut out, &golden_fields()), Ok(106));
    patch(&mut out, 3, 4, 1_700_000_000_001);
    assert_eq!(out, hex(GOLDEN));
}

#[test]
fn a_record_of_java_is_read() {
    let bytes = hex(GOLDEN);
    let record = Record::decode(&bytes).expect("a good record");
    assert_eq!(record.topic, "TT");
    assert_eq!(record.body, b"hello");
    assert_eq!(record.body_crc, 907_060_870);
    assert_eq!(record.properties.get("KEYS"), Some("k1"));
    assert_eq!((record.queue_id, record.flag, record.queue_offset, record.phy_offset), (1, 2, 3, 4));
    assert_eq!((record.born_host, record.store_host), (host(1111), host(10911)));
    assert_eq!(record.store_timestamp, record.born_timestamp + 1);
    assert_eq!((record.reconsume_times, record.prepared_transaction_offset), (5, 6));
    assert_eq!(record.verify_crc(), Ok(()));
}

#[test]
fn fixed_parts_have_the_sizes_of_the_format() {
    assert_eq!(RECORD_FIXED_BYTES, 91);
    assert_eq!(offset::SYS_FLAG, 36);
    assert_eq!(Layout::of(0).store_timestamp, 56);
    assert_eq!(Layout::of(0).body, 88);
    assert_eq!(total_size(sys_flag::BORN_HOST_V6, 127, 0, 0), 91 + 12 + 127);
    assert_eq!(total_size(sys_flag::STORE_HOST_V6, 128, 0, 0), 92 + 12 + 128);
}

#[test]
fn damage_is_named() {
    let good = hex(GOLDEN);
    let check = |at: usize, byte: u8, expected: &str| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let error = Record::decode(&bytes).and_then(|record| record.verify_crc()).expect_err("damaged");
        assert_eq!(error.to_string(), expected, "byte {at} set to {byte}");
    };
    check(3, 0x6b, "the record ends after 106 bytes where it needs 107");
    check(3, 0x69, "the properties has a length of 8, which the record of 105 bytes can't hold");
    check(4, 0, "the magic code 0x00A320A7 with a size of 106 is no record's");
    check(87, 4, "the topic has a length of 111, which the record of 106 bytes can't hold");
    check(84, 0x80, "the body has a length of -2147483643, which the record of 106 bytes can't hold");
    check(93, 0xff, "the topic has a length of -1, which the record of 106 bytes can't hold");
    check(94, 0xff, "the topic isn't UTF-8");
    check(97, 7, "the record says 106 bytes where its parts have 105");
    check(88, b'j', "the body's CRC is 0x4CD0F5E6 where the record says 0x3610A686");
}

#[test]
fn heads_tell_records_from_fillers_and_from_nothing() {
    let check = |bytes: &[u8], expected| assert_eq!(RecordHead::read(bytes), expected, "{bytes:02x?}");
    check(&hex(GOLDEN), Some(RecordHead::Record { total_size: 106 }));
    check(&filler(4096), Some(RecordHead::Filler { bytes: 4096 }));
    check(&[0; 8], Some(RecordHead::Other { total_size: 0, magic: 0 }));
    check(&[0; 7], None);
    assert_eq!(filler(8), [0, 0, 0, 8, 0xCB, 0xD4, 0x31, 0x94]);
}

#[test]
fn records_of_an_answer_come_one_by_one() {
    let mut bytes = hex(GOLDEN);
    bytes.extend(hex(GOLDEN));
    assert_eq!(Records::new(&bytes).filter(Result::is_ok).count(), 2);
    bytes.push(0);
    assert_eq!(Records::new(&bytes).filter(Result::is_ok).count(), 2);
    assert_eq!(Records::new(&bytes).filter(Result::is_err).count(), 1);
}

#[test]
fn what_is_too_long_is_refused_whole() {
    let mut out = Vec::new();
    let topic = "t".repeat(256);
    let error = encode(&mut out, &RecordFields { topic: &topic, ..golden_fields() }).expect_err("too long");
    assert_eq!(error.to_string(), "the topic of 256 bytes is over the record format's limit of 255");
    let properties = vec![b'p'; 32768];
    assert!(encode(&mut out, &RecordFields { properties: &properties, ..golden_fields() }).is_err());
    assert!(out.is_empty());
}

#[test]
fn a_mapped_address_is_stored_as_ipv4() {
    let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().expect("an address"), 1111);
    let mut out = Vec::new();
    encode(&mut out, &RecordFields { born_host: mapped, ..golden_fields() }).expect("short");
    patch(&mut out, 3, 4, 1_700_000_000_001);
    assert_eq!(out, hex(GOLDEN));
}

fn any_host() -> impl Strategy<Value = SocketAddr> {
    (any::<IpAddr>(), any::<u16>()).prop_map(|(ip, port)| SocketAddr::new(ip.to_canonical(), port))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_come_back_as_they_went(
        topic in "[a-z%é]{0,140}", body in prop::collection::vec(any::<u8>(), 0..99), properties in "[a-z]{0,99}",
        born_host in any_host(), store_host in any_host(), numbers in any::<(i32, i32, i32, i64, i64, i64)>(),
    ) {
        prop_assume!(topic.len() <= TOPIC_BYTES_MAX);
        let (queue_id, flag, reconsume_times, born_timestamp, prepared_transaction_offset, place) = numbers;
        let fields = RecordFields {
            topic: &topic, queue_id, flag, sys_flag: 0x8, born_timestamp, born_host, store_host, reconsume_times,
            prepared_transaction_offset, body: &body, properties: properties.as_bytes(),
        };
        let mut out = Vec::new();
        prop_assert_eq!(encode(&mut out, &fields), Ok(fields.total_size()));
        patch(&mut out, place, place / 2, place / 3);
        let record = Record::decode(&out).expect("just encoded");
        prop_assert_eq!(record.verify_crc(), Ok(()));
        prop_assert_eq!(record.magic == MAGIC_V2, topic.len() > 127);
        prop_assert_eq!((record.topic, record.body), (topic.as_str(), body.as_slice()));
        prop_assert_eq!(record.properties.raw(), properties.as_bytes());
        prop_assert_eq!((record.born_host, record.store_host), (born_host, store_host));
        prop_assert_eq!((record.queue_offset, record.phy_offset), (place, place / 2));
        prop_assert_eq!((record.store_timestamp, record.born_timestamp), (place / 3, born_timestamp));
        prop_assert_eq!(record.prepared_transaction_offset, prepared_transaction_offset);
        prop_assert_eq!((record.queue_id, record.flag, record.reconsume_times), (queue_id, flag, reconsume_times));
    }

    #[test]
    fn damaged_records_never_panic(at in 0usize..106, byte in any::<u8>(), cut in 0usize..=106) {
        let mut bytes = hex(GOLDEN);
        bytes[at] = byte;
        let _ = Record::decode(&bytes[..cut]).map(|record| record.verify_crc());
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), v2 in any::<bool>()) {
        let mut bytes = bytes;
        let size = (bytes.len() as i32).to_be_bytes();
        if bytes.len() >= 8 {
            bytes[..4].copy_from_slice(&size);
            bytes[4..8].copy_from_slice(&(if v2 { MAGIC_V2 } else { MAGIC_V1 }).to_be_bytes());
        }
        let _ = Record::decode(&bytes);
    }
}
