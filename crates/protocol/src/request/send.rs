//! Sends: codes 10 and 324 with long field names, 310, 320 and 325 with letters.

use super::{ExtFields, FieldError};
use crate::code::request::{SEND_MESSAGE, SEND_REPLY_MESSAGE};
use crate::ext::{INT, LONG, is_true, parse};
use crate::text::Text;
use std::borrow::Cow;

/// What Java's producers send for `defaultTopicQueueNums`, and what counts if a client doesn't.
const DEFAULT_TOPIC_QUEUE_NUMS: i32 = 4;

#[derive(Clone, Debug, PartialEq)]
pub struct SendHeader<'a> {
    pub producer_group: Text<'a>,
    pub topic: Cow<'a, str>,
    /// The topic after whose model an unknown one is made.
    pub default_topic: Text<'a>,
    pub default_topic_queue_nums: i32,
    /// Negative for one of the broker's choice.
    pub queue_id: i32,
    pub sys_flag: i32,
    pub born_timestamp: i64,
    pub flag: i32,
    /// As it stood on the wire: [`Text::append_to`] puts it where it is needed.
    pub properties: Text<'a>,
    pub reconsume_times: i32,
    pub unit_mode: bool,
    pub max_reconsume_times: Option<i32>,
    pub batch: bool,
    pub broker_name: Option<Cow<'a, str>>,
}

/// The fields found so far; those without which there is no send may be missing yet.
struct Found<'a> {
    header: SendHeader<'a>,
    topic: bool,
    queue_id: bool,
    sys_flag: bool,
    born_timestamp: bool,
    flag: bool,
}

/// The names of the fields that must be there, in one of the two namings.
struct Names {
    topic: &'static str,
    queue_id: &'static str,
    sys_flag: &'static str,
    born_timestamp: &'static str,
    flag: &'static str,
}

const LONG_NAMES: Names = Names {
    topic: "topic",
    queue_id: "queueId",
    sys_flag: "sysFlag",
    born_timestamp: "bornTimestamp",
    flag: "flag",
};

const LETTERS: Names = Names {
    topic: "b (topic)",
    queue_id: "e (queueId)",
    sys_flag: "f (sysFlag)",
    born_timestamp: "g (bornTimestamp)",
    flag: "h (flag)",
};

impl<'a> SendHeader<'a> {
    /// Reads the fields under the names that the request's code goes with.
    pub fn decode(code: i32, ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        match code {
            SEND_MESSAGE | SEND_REPLY_MESSAGE => Self::decode_long_names(ext),
            _ => Self::decode_letters(ext),
        }
    }

    pub fn decode_long_names(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        let mut found = Found::nothing();
        for (name, value) in ext.iter() {
            match name.bytes() {
                b"producerGroup" => found.header.producer_group = value,
                b"topic" => found.topic(value),
                b"defaultTopic" => found.header.default_topic = value,
                b"defaultTopicQueueNums" => {
                    found.header.default_topic_queue_nums = parse("defaultTopicQueueNums", value, INT)?;
                }
                b"queueId" => found.queue_id(LONG_NAMES.queue_id, value)?,
                b"sysFlag" => found.sys_flag(LONG_NAMES.sys_flag, value)?,
                b"bornTimestamp" => found.born_timestamp(LONG_NAMES.born_timestamp, value)?,
                b"flag" => found.flag(LONG_NAMES.flag, value)?,
                b"properties" => found.header.properties = value,
                b"reconsumeTimes" => found.header.reconsume_times = parse("reconsumeTimes", value, INT)?,
                b"unitMode" => found.header.unit_mode = is_true(value),
                b"maxReconsumeTimes" => {
                    found.header.max_reconsume_times = Some(parse("maxReconsumeTimes", value, INT)?);
                }
                b"batch" => found.header.batch = is_true(value),
                b"bname" | b"brokerName" => found.header.broker_name = Some(value.decode()),
                _ => {}
            }
        }
        found.complete(&LONG_NAMES)
    }

    pub fn decode_letters(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        let mut found = Found::nothing();
        for (name, value) in ext.iter() {
            match name.bytes() {
                b"a" => found.header.producer_group = value,
                b"b" => found.topic(value),
                b"c" => found.header.default_topic = value,
                b"d" => {
                    found.header.default_topic_queue_nums = parse("d (defaultTopicQueueNums)", value, INT)?;
                }
                b"e" => found.queue_id(LETTERS.queue_id, value)?,
                b"f" => found.sys_flag(LETTERS.sys_flag, value)?,
                b"g" => found.born_timestamp(LETTERS.born_timestamp, value)?,
                b"h" => found.flag(LETTERS.flag, value)?,
                b"i" => found.header.properties = value,
                b"j" => found.header.reconsume_times = parse("j (reconsumeTimes)", value, INT)?,
                b"k" => found.header.unit_mode = is_true(value),
                b"l" => found.header.max_reconsume_times = Some(parse("l (maxReconsumeTimes)", value, INT)?),
                b"m" => found.header.batch = is_true(value),
                b"n" | b"bname" => found.header.broker_name = Some(value.decode()),
                _ => {}
            }
        }
        found.complete(&LETTERS)
    }
}

/// Each is a part of its callers: to hand the value on it would have to be copied, from halves that were just written,
/// and the processor waits for those.
impl<'a> Found<'a> {
    fn nothing() -> Self {
        Found {
            header: SendHeader {
                producer_group: Text::plain(""),
                topic: Cow::Borrowed(""),
                default_topic: Text::plain(""),
                default_topic_queue_nums: DEFAULT_TOPIC_QUEUE_NUMS,
                queue_id: 0,
                sys_flag: 0,
                born_timestamp: 0,
                flag: 0,
                properties: Text::plain(""),
                reconsume_times: 0,
                unit_mode: false,
                max_reconsume_times: None,
                batch: false,
                broker_name: None,
            },
            topic: false,
            queue_id: false,
            sys_flag: false,
            born_timestamp: false,
            flag: false,
        }
    }

    #[inline(always)]
    fn topic(&mut self, value: Text<'a>) {
        self.header.topic = value.decode();
        self.topic = true;
    }

    #[inline(always)]
    fn queue_id(&mut self, name: &'static str, value: Text<'a>) -> Result<(), FieldError> {
        self.header.queue_id = parse(name, value, INT)?;
        self.queue_id = true;
        Ok(())
    }

    #[inline(always)]
    fn sys_flag(&mut self, name: &'static str, value: Text<'a>) -> Result<(), FieldError> {
        self.header.sys_flag = parse(name, value, INT)?;
        self.sys_flag = true;
        Ok(())
    }

    #[inline(always)]
    fn born_timestamp(&mut self, name: &'static str, value: Text<'a>) -> Result<(), FieldError> {
        self.header.born_timestamp = parse(name, value, LONG)?;
        self.born_timestamp = true;
        Ok(())
    }

    #[inline(always)]
    fn flag(&mut self, name: &'static str, value: Text<'a>) -> Result<(), FieldError> {
        self.header.flag = parse(name, value, INT)?;
        self.flag = true;
        Ok(())
    }

    fn complete(self, names: &Names) -> Result<SendHeader<'a>, FieldError> {
        let needed = [
            (self.topic, names.topic),
            (self.queue_id, names.queue_id),
            (self.sys_flag, names.sys_flag),
            (self.born_timestamp, names.born_timestamp),
            (self.flag, names.flag),
        ];
        match needed.into_iter().find(|(found, _)| !found) {
            Some((_, name)) => Err(FieldError::Missing(name)),
            None => Ok(self.header),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::request::SEND_MESSAGE_V2;

    fn fields<'a>(pairs: &[(&'a str, &'a str)]) -> ExtFields<'a> {
        let mut ext = ExtFields::default();
        for (name, value) in pairs {
            ext.push(Text::plain(name), Text::plain(value));
        }
        ext
    }

    const FIRST_LETTERS: [(&str, &str); 8] = [
        ("a", "PG"),
        ("b", "TT"),
        ("c", "TBW102"),
        ("d", "8"),
        ("e", "3"),
        ("f", "1"),
        ("g", "1700"),
        ("h", "9"),
    ];

    #[test]
    fn both_namings_say_the_same() {
        let mut letters = FIRST_LETTERS.to_vec();
        letters.extend([
            ("i", "K\u{1}v\u{2}"),
            ("j", "2"),
            ("k", "true"),
            ("l", "5"),
            ("m", "TRUE"),
            ("n", "b-a"),
        ]);
        let long = [
            ("producerGroup", "PG"),
            ("topic", "TT"),
            ("defaultTopic", "TBW102"),
            ("defaultTopicQueueNums", "8"),
            ("queueId", "3"),
            ("sysFlag", "1"),
            ("bornTimestamp", "1700"),
            ("flag", "9"),
            ("properties", "K\u{1}v\u{2}"),
            ("reconsumeTimes", "2"),
            ("unitMode", "true"),
            ("maxReconsumeTimes", "5"),
            ("batch", "true"),
            ("bname", "b-a"),
        ];
        let header = SendHeader::decode(SEND_MESSAGE_V2, &fields(&letters)).expect("complete");
        assert_eq!(SendHeader::decode(SEND_MESSAGE, &fields(&long)), Ok(header.clone()));
        assert_eq!((header.topic.as_ref(), header.queue_id, header.flag), ("TT", 3, 9));
        assert_eq!((header.reconsume_times, header.max_reconsume_times), (2, Some(5)));
        assert!(header.unit_mode && header.batch);
    }

    #[test]
    fn what_clients_leave_out_has_defaults() {
        let header = SendHeader::decode(SEND_MESSAGE_V2, &fields(&FIRST_LETTERS)).expect("complete");
        assert_eq!((header.reconsume_times, header.max_reconsume_times), (0, None));
        assert!(!header.unit_mode && !header.batch && header.properties.is_empty());
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        let check = |code: i32, pairs: &[(&str, &str)], expected: &str| {
            let error = SendHeader::decode(code, &fields(pairs)).expect_err("incomplete");
            assert_eq!(error.to_string(), expected);
        };
        check(SEND_MESSAGE_V2, &FIRST_LETTERS[..6], "the request lacks the field g (bornTimestamp)");
        check(SEND_MESSAGE, &[("topic", "T")], "the request lacks the field queueId");
        let text = "the field e (queueId) should be a 32-bit number but is 'x'";
        check(SEND_MESSAGE_V2, &[("e", "x")], text);
    }
}
