//! Many acknowledgements in one request (code 200151).

use crate::json::{Fields, FromJson, JsonError, Value};
use crate::receipt::PopOrigin;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Bytes of one bit set at most; the messages of a pop lie much closer together.
const BIT_SET_BYTES_MAX: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchAckBody {
    pub acks: Vec<BatchAck>,
}

/// The acknowledgements of one pop from one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchAck {
    pub consumer_group: String,
    /// The topic that was popped from, never one of its retry topics.
    pub topic: String,
    pub origin: PopOrigin,
    pub start_offset: i64,
    pub queue_id: i32,
    pub revive_queue: i32,
    pub pop_time: i64,
    pub invisible_time: i64,
    bit_set: Vec<u8>,
}

impl BatchAck {
    /// The offsets that are acknowledged, ascending.
    pub fn offsets(&self) -> impl Iterator<Item = i64> + '_ {
        let bits = self.bit_set.iter().enumerate().flat_map(|(at, byte)| {
            (0..8).filter(move |bit| byte & (1 << bit) != 0).map(move |bit| at as i64 * 8 + bit)
        });
        bits.filter_map(|distance| self.start_offset.checked_add(distance))
    }
}

impl FromJson for BatchAckBody {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        Ok(BatchAckBody { acks: value.field_or_default("acks")? })
    }
}

impl FromJson for BatchAck {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let mark: String = either(value, "r", "retry")?;
        let origin = PopOrigin::from_mark(&mark).ok_or_else(|| JsonError::Type {
            field: "r",
            expected: "0, 1 or 2",
            found: mark.chars().take(40).collect(),
        })?;
        Ok(BatchAck {
            consumer_group: either(value, "c", "consumerGroup")?,
            topic: either(value, "t", "topic")?,
            origin,
            start_offset: either(value, "so", "startOffset")?,
            queue_id: either(value, "q", "queueId")?,
            revive_queue: either(value, "rq", "reviveQueueId")?,
            pop_time: either(value, "pt", "popTime")?,
            invisible_time: either(value, "it", "invisibleTime")?,
            bit_set: bit_set(&either::<String>(value, "b", "bitSet")?)?,
        })
    }
}

/// The field by its short name, or by its long one.
fn either<T: FromJson>(value: &Value, short: &'static str, long: &'static str) -> Result<T, JsonError> {
    match value.field(short)? {
        Some(found) => Ok(found),
        None => value.need(long),
    }
}

fn bit_set(text: &str) -> Result<Vec<u8>, JsonError> {
    let wrong =
        |found: String| JsonError::Type { field: "b", expected: "Base64 of at most 64 KiB of bits", found };
    if text.len() > BIT_SET_BYTES_MAX / 3 * 4 {
        return Err(wrong(format!("{} characters", text.len())));
    }
    STANDARD.decode(text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(fields: &str) -> String {
        format!(r#"{{"brokerName":"b","acks":[{{{fields}}}]}}"#)
    }

    /// `BitSet.toByteArray` of Java for the bits 0, 2 and 9.
    const SHORT: &str = r#""c":"G","t":"T","r":"1","so":100,"q":3,"rq":2,"pt":5,"it":60000,"b":"BQI=""#;
    const LONG: &str = r#""consumerGroup":"G","topic":"T","retry":"1","startOffset":100,"queueId":3,
        "reviveQueueId":2,"popTime":5,"invisibleTime":60000,"bitSet":"BQI=""#;

    #[test]
    fn short_and_long_names_say_the_same() {
        for fields in [SHORT, LONG] {
            let read = BatchAckBody::from_json_bytes(body(fields).as_bytes()).expect("acks");
            let ack = &read.acks[0];
            assert_eq!((ack.consumer_group.as_str(), ack.topic.as_str()), ("G", "T"));
            assert_eq!((ack.origin, ack.queue_id, ack.revive_queue), (PopOrigin::RetryV1, 3, 2));
            assert_eq!((ack.pop_time, ack.invisible_time), (5, 60_000));
            assert_eq!(ack.offsets().collect::<Vec<_>>(), [100, 102, 109]);
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let check = |from: &str, to: &str, expected: &str| {
            let error =
                BatchAckBody::from_json_bytes(body(&SHORT.replace(from, to)).as_bytes()).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(r#""so":100,"#, "", "startOffset");
        check(r#""r":"1""#, r#""r":"7""#, "0, 1 or 2");
        check("BQI=", "%%", "Base64");
        check("BQI=", &"A".repeat(1 << 20), "1048576 characters");
        assert_eq!(BatchAckBody::from_json_bytes(b"{}"), Ok(BatchAckBody::default()));
    }

    #[test]
    fn offsets_stay_in_their_range() {
        let fields = SHORT.replace("100", &i64::MAX.to_string());
        let read = BatchAckBody::from_json_bytes(body(&fields).as_bytes()).expect("acks");
        assert_eq!(read.acks[0].offsets().collect::<Vec<_>>(), [i64::MAX]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_are_read_without_a_panic(text in r#"[{}\[\]",:a-z0-9]{0,60}"#) {
            let _ = BatchAckBody::from_json_bytes(text.as_bytes());
        }
    }
}
