//! POP: codes 200050, 200051 and 200053.

use super::{ExtFields, FieldError};
use crate::ext::{INT, LONG, is_true, parse};
use std::borrow::Cow;

/// Any queue of the topic.
pub const ANY_QUEUE: i32 = -1;

/// `initMode` of a group that starts at the end of a queue; 0 is its beginning.
pub const INIT_MODE_MAX: i32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PopHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    /// [`ANY_QUEUE`] for all of them.
    pub queue_id: i32,
    pub max_msg_nums: i32,
    pub invisible_time: i64,
    pub poll_time: i64,
    /// When the client asked; 0 for now.
    pub born_time: i64,
    pub init_mode: i32,
    /// `TAG` (for none, too) or `SQL92`.
    pub expression_type: Option<Cow<'a, str>>,
    pub expression: Option<Cow<'a, str>>,
    pub order: bool,
    pub attempt_id: Option<Cow<'a, str>>,
}

impl<'a> PopHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        let mut header = PopHeader::default();
        let mut seen = [false; NEEDED.len()];
        let mut see = |name: &[u8]| {
            if let Some(at) = NEEDED.iter().position(|needed| needed.as_bytes() == name) {
                seen[at] = true;
            }
        };
        for (name, value) in ext.iter() {
            see(name.bytes());
            match name.bytes() {
                b"consumerGroup" => header.consumer_group = value.decode(),
                b"topic" => header.topic = value.decode(),
                b"queueId" => header.queue_id = parse("queueId", value, INT)?,
                b"maxMsgNums" => header.max_msg_nums = parse("maxMsgNums", value, INT)?,
                b"invisibleTime" => header.invisible_time = parse("invisibleTime", value, LONG)?,
                b"pollTime" => header.poll_time = parse("pollTime", value, LONG)?,
                b"bornTime" => header.born_time = parse("bornTime", value, LONG)?,
                b"initMode" => header.init_mode = parse("initMode", value, INT)?,
                b"expType" => header.expression_type = Some(value.decode()),
                b"exp" => header.expression = Some(value.decode()),
                b"order" => header.order = is_true(value),
                b"attemptId" => header.attempt_id = Some(value.decode()),
                _ => {}
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => Err(FieldError::Missing(NEEDED[at])),
            None => Ok(header),
        }
    }
}

/// The time a request was born has a default: the broker's own.
const NEEDED: [&str; 7] =
    ["consumerGroup", "topic", "queueId", "maxMsgNums", "invisibleTime", "pollTime", "initMode"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    /// The topic the message lies in: the retry topic for another attempt.
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    /// The receipt, see [`crate::receipt::Receipt`].
    pub extra_info: Cow<'a, str>,
    pub offset: i64,
}

impl<'a> AckHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(AckHeader {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            extra_info: ext.need_str("extraInfo")?,
            offset: ext.need_i64("offset")?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeInvisibleTime<'a> {
    pub message: AckHeader<'a>,
    /// From now on, in milliseconds.
    pub invisible_time: i64,
}

impl<'a> ChangeInvisibleTime<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ChangeInvisibleTime {
            message: AckHeader::decode(ext)?,
            invisible_time: ext.need_i64("invisibleTime")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn ext(pairs: &[(&'static str, &'static str)]) -> ExtFields<'static> {
        let mut ext = ExtFields::default();
        for (name, value) in pairs {
            ext.push(Text::plain(name), Text::plain(value));
        }
        ext
    }

    const POP: [(&str, &str); 11] = [
        ("consumerGroup", "G"),
        ("topic", "T"),
        ("queueId", "-1"),
        ("maxMsgNums", "32"),
        ("invisibleTime", "60000"),
        ("pollTime", "15000"),
        ("initMode", "1"),
        ("bornTime", "5"),
        ("order", "TRUE"),
        ("exp", "TagA"),
        ("attemptId", "a1"),
    ];

    #[test]
    fn a_pop_with_and_without_what_may_lack() {
        let header = PopHeader::decode(&ext(&POP)).expect("complete");
        assert_eq!((header.queue_id, header.max_msg_nums, header.init_mode), (ANY_QUEUE, 32, INIT_MODE_MAX));
        assert_eq!((header.invisible_time, header.poll_time, header.born_time), (60_000, 15_000, 5));
        assert!(header.order);
        assert_eq!((header.expression.as_deref(), header.attempt_id.as_deref()), (Some("TagA"), Some("a1")));
        let header = PopHeader::decode(&ext(&POP[..7])).expect("complete");
        assert_eq!((header.born_time, header.order, header.attempt_id), (0, false, None));
    }

    #[test]
    fn the_first_missing_field_of_a_pop_is_named() {
        for (count, name) in NEEDED.into_iter().enumerate() {
            assert_eq!(PopHeader::decode(&ext(&POP[..count])), Err(FieldError::Missing(name)));
        }
    }

    #[test]
    fn an_ack_is_part_of_a_change_of_the_invisible_time() {
        let pairs = [
            ("consumerGroup", "G"),
            ("topic", "T"),
            ("queueId", "1"),
            ("extraInfo", "0 1 2 3 0 b 1 0"),
            ("offset", "7"),
            ("invisibleTime", "1000"),
        ];
        let change = ChangeInvisibleTime::decode(&ext(&pairs)).expect("complete");
        assert_eq!(AckHeader::decode(&ext(&pairs[..5])), Ok(change.message));
        assert_eq!(change.invisible_time, 1000);
        assert_eq!(ChangeInvisibleTime::decode(&ext(&pairs[..5])), Err(FieldError::Missing("invisibleTime")));
    }
}
