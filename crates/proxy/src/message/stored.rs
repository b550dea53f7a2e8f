//! A stored message as a client gets it.

use super::{digest, kind, reserved};
use crate::names;
use crate::schema::{DeadLetterQueue, Encoding, Message, SystemProperties};
use crate::wire_time::timestamp;
use bytes::Bytes;
use roxmq_protocol::compression::Compression;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::record::Record;

/// What a body may inflate to: what the Java producer compresses, unless it is told otherwise (`maxMessageSize`).
const INFLATED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What the message's record doesn't say.
#[derive(Clone, Debug, Default)]
pub struct Delivery<'a> {
    /// The topic that the client asked for, of which a retry topic is a part.
    pub topic: &'a str,
    pub receipt_handle: Option<String>,
    /// How often it was delivered before, where the record doesn't count that.
    pub reconsume_times: Option<i32>,
}

/// The message of a record that lies in `bytes`, with which its body shares its own.
pub fn message(bytes: &Bytes, record: &Record<'_>, delivery: Delivery<'_>) -> Message {
    let properties = record.properties;
    let (body, encoding) = body(bytes, record);
    let own = properties.iter().filter(|(name, _)| !reserved::is_reserved(name));
    Message {
        topic: Some(names::resource(delivery.topic)),
        user_properties: own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        system_properties: Some(system_properties(record, delivery, &body, encoding)),
        body,
    }
}

/// The body as the client gets it. Each inflates zlib; LZ4 and Zstandard, which producers of the remoting protocol may use,
/// nearly none.
fn body(bytes: &Bytes, record: &Record<'_>) -> (Bytes, Encoding) {
    let stored = bytes.slice_ref(record.body);
    let compression = match Compression::of(record.sys_flag) {
        Ok(None) => return (stored, Encoding::Identity),
        Ok(Some(compression @ (Compression::Lz4 | Compression::Zstd))) => compression,
        // Of an unknown one the client sees for itself what it is.
        Ok(Some(Compression::Zlib)) | Err(_) => return (stored, Encoding::Gzip),
    };
    match compression.decompress(record.body, INFLATED_BYTES_MAX) {
        Ok(plain) => (plain.into(), Encoding::Identity),
        Err(error) => {
            tracing::debug!(topic = record.topic, offset = record.queue_offset, %error, "a body is left as it is");
            (stored, Encoding::Gzip)
        }
    }
}

fn system_properties(
    record: &Record<'_>,
    delivery: Delivery<'_>,
    body: &[u8],
    encoding: Encoding,
) -> SystemProperties {
    let properties = record.properties;
    let owned = |name| properties.get(name).map(str::to_owned);
    let keys = properties.get(name::KEYS).unwrap_or_default().split(name::KEY_SEPARATOR);
    let reconsume_times = delivery.reconsume_times.unwrap_or(record.reconsume_times);
    SystemProperties {
        tag: owned(name::TAGS),
        keys: keys.filter(|key| !key.is_empty()).map(str::to_owned).collect(),
        message_id: owned(name::UNIQ_KEY).unwrap_or_else(|| offset_id(record)),
        body_digest: Some(digest::of(body)),
        body_encoding: encoding.into(),
        message_type: kind::of(properties).into(),
        born_timestamp: Some(timestamp(record.born_timestamp)),
        born_host: owned(name::BORN_HOST).unwrap_or_else(|| record.born_host.ip().to_string()),
        store_timestamp: Some(timestamp(record.store_timestamp)),
        store_host: record.store_host.to_string(),
        delivery_timestamp: delivery_ms(properties, record.store_timestamp).map(timestamp),
        receipt_handle: delivery.receipt_handle,
        queue_id: record.queue_id,
        queue_offset: Some(record.queue_offset),
        invisible_duration: None,
        delivery_attempt: Some(reconsume_times.saturating_add(1)),
        message_group: owned(name::SHARDING_KEY),
        trace_context: owned(name::TRACE_CONTEXT),
        orphaned_transaction_recovery_duration: None,
        dead_letter_queue: dead_letter(properties),
        lite_topic: owned(name::LITE_TOPIC),
        priority: properties.get(name::PRIORITY).and_then(|text| text.parse().ok()).filter(|at| *at >= 0),
    }
}

fn offset_id(record: &Record<'_>) -> String {
    OffsetMessageId { store_host: record.store_host, phy_offset: record.phy_offset }.to_string()
}

/// When the message was due. A property that is no number is none: anybody can have set it.
fn delivery_ms(properties: Properties<'_>, stored_ms: i64) -> Option<i64> {
    let number = |name| properties.get(name).and_then(|text| text.parse::<i64>().ok());
    let seconds = number(name::TIMER_DELAY_SEC).map(|seconds| seconds.saturating_mul(1000));
    seconds.map(|ms| stored_ms.saturating_add(ms)).or_else(|| number(name::TIMER_DELIVER_MS))
}

fn dead_letter(properties: Properties<'_>) -> Option<DeadLetterQueue> {
    let [topic, id] = properties.get_all([name::DLQ_ORIGIN_TOPIC, name::DLQ_ORIGIN_MESSAGE_ID]);
    Some(DeadLetterQueue { topic: topic?.to_owned(), message_id: id?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::MessageType;
    use roxmq_protocol::record::{RecordFields, encode};
    use roxmq_protocol::sys_flag;
    use std::net::SocketAddr;

    fn stored(properties: &str, flag: i32) -> Message {
        stored_with(properties, flag, b"hello")
    }

    fn stored_with(properties: &str, flag: i32, body: &[u8]) -> Message {
        let properties = properties.replace('=', "\u{1}").replace(';', "\u{2}");
        let fields = RecordFields {
            queue_id: 3,
            flag: 0,
            sys_flag: flag,
            born_timestamp: 1_000,
            born_host: SocketAddr::from(([10, 0, 0, 9], 4711)),
            store_host: SocketAddr::from(([10, 0, 0, 1], 10_911)),
            reconsume_times: 2,
            prepared_transaction_offset: 0,
            body,
            topic: "%RETRY%G_T",
            properties: properties.as_bytes(),
        };
        let mut out = Vec::new();
        encode(&mut out, &fields).expect("short");
        let bytes = Bytes::from(out);
        let record = Record::decode(&bytes).expect("a record");
        message(&bytes, &record, Delivery { topic: "ns%T", ..Delivery::default() })
    }

    #[test]
    fn properties_become_fields() {
        let message = stored(
            "color=blue;TAGS=A;KEYS=k1  k2;UNIQ_KEY=01AB;__SHARDINGKEY=g;TRACE_CONTEXT=t;PGROUP=x;\
            _SYS_MSG_PRIORITY_=2;DLQ_ORIGIN_TOPIC=O;DLQ_ORIGIN_MESSAGE_ID=02CD;",
            0,
        );
        let own: Vec<_> = message.user_properties.keys().map(String::as_str).collect();
        assert_eq!(own, ["TRACE_CONTEXT", "__SHARDINGKEY", "color"]);
        let topic = message.topic.expect("a topic");
        assert_eq!((topic.resource_namespace.as_str(), topic.name.as_str()), ("ns", "T"));
        let system = message.system_properties.expect("they are always there");
        assert_eq!((system.tag.as_deref(), system.keys), (Some("A"), vec!["k1".to_owned(), "k2".to_owned()]));
        assert_eq!((system.message_id.as_str(), system.message_group.as_deref()), ("01AB", Some("g")));
        assert_eq!((system.priority, system.delivery_attempt), (Some(2), Some(3)));
        assert_eq!((system.born_host.as_str(), system.store_host.as_str()), ("10.0.0.9", "10.0.0.1:10911"));
        assert_eq!(system.message_type, MessageType::Fifo as i32);
        assert_eq!(system.body_encoding, Encoding::Identity as i32);
        assert_eq!(system.dead_letter_queue.map(|dead| dead.message_id).as_deref(), Some("02CD"));
        assert_eq!(system.body_digest.map(|digest| digest.checksum), Some(digest::of(b"hello").checksum));
        assert_eq!(&message.body[..], b"hello");
    }

    #[test]
    fn what_is_missing_or_wrong_is_left_out() {
        let system =
            stored("TIMER_DELIVER_MS=abc;TIMER_DELAY_SEC=x;_SYS_MSG_PRIORITY_=-1;", sys_flag::COMPRESSED)
                .system_properties
                .expect("they are always there");
        assert_eq!((system.delivery_timestamp, system.priority, system.tag), (None, None, None));
        assert_eq!(system.body_encoding, Encoding::Gzip as i32);
        assert!(system.keys.is_empty());
        assert_eq!(system.message_id.len(), 32);
        let due = stored("TIMER_DELIVER_MS=5000;", 0)
            .system_properties
            .and_then(|system| system.delivery_timestamp);
        assert_eq!(due, Some(timestamp(5_000)));
    }

    #[test]
    fn bodies_are_what_every_client_can_read() {
        let check = |flag: i32, body: &[u8], expected: &[u8], encoding: Encoding| {
            let message = stored_with("", flag, body);
            let system = message.system_properties.expect("they are always there");
            assert_eq!((&message.body[..], system.body_encoding), (expected, encoding as i32), "{flag:#x}");
            assert_eq!(system.body_digest, Some(digest::of(expected)));
        };
        let text = b"hello hello hello hello";
        check(0, text, text, Encoding::Identity);
        for compression in [Compression::Lz4, Compression::Zstd] {
            let body = compression.compress(text).expect("memory");
            check(compression.sys_flag(), &body, text, Encoding::Identity);
            check(compression.sys_flag(), b"noise", b"noise", Encoding::Gzip);
            let bomb = compression.compress(&vec![0; INFLATED_BYTES_MAX + 1]).expect("memory");
            check(compression.sys_flag(), &bomb, &bomb, Encoding::Gzip);
        }
        let body = Compression::Zlib.compress(text).expect("memory");
        check(Compression::Zlib.sys_flag(), &body, &body, Encoding::Gzip);
        check(sys_flag::COMPRESSED, &body, &body, Encoding::Gzip);
        check(sys_flag::COMPRESSED | 0x700, b"x", b"x", Encoding::Gzip);
    }
}
