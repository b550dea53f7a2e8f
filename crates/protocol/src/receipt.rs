//! What a consumer needs to acknowledge a message it popped, in the texts of the protocol.
//!
//! A receipt (`extraInfo`, the property `POP_CK`) names the pop and the message:
//! `startOffset popTime invisibleTime reviveQid r brokerName queueId [queueOffset]`, where `r` tells the topic from
//! its retry topics. The answer to a pop holds the same in parts, for all its messages at once.

use crate::header::push_number;
use crate::names::RETRY_PREFIX;

/// The revive queue of receipts of ordered pops.
pub const ORDER_REVIVE_QUEUE: i32 = 999;

/// Which of the topics of a pop a message comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PopOrigin {
    #[default]
    Topic,
    /// `%RETRY%group_topic`
    RetryV1,
    /// `%RETRY%group+topic`
    RetryV2,
}

impl PopOrigin {
    pub fn of(topic: &str) -> Self {
        match topic.strip_prefix(RETRY_PREFIX) {
            None => PopOrigin::Topic,
            Some(rest) if rest.contains('+') => PopOrigin::RetryV2,
            Some(_) => PopOrigin::RetryV1,
        }
    }

    pub const fn mark(self) -> &'static str {
        match self {
            PopOrigin::Topic => "0",
            PopOrigin::RetryV1 => "1",
            PopOrigin::RetryV2 => "2",
        }
    }

    pub fn from_mark(mark: &str) -> Option<Self> {
        [PopOrigin::Topic, PopOrigin::RetryV1, PopOrigin::RetryV2]
            .into_iter()
            .find(|origin| origin.mark() == mark)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// Where the pop began to read, which isn't where the message lies.
    pub start_offset: i64,
    pub pop_time: i64,
    pub invisible_time: i64,
    pub revive_queue: i32,
    pub origin: PopOrigin,
    pub broker_name: &'a str,
    pub queue_id: i32,
    /// Not in receipts that a client has built for itself.
    pub queue_offset: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    #[error("the receipt (extraInfo) has {0} parts, at least 7 are needed")]
    Parts(usize),
    #[error("the receipt (extraInfo) has '{value}' for its {part}")]
    Part { part: &'static str, value: String },
}

impl<'a> Receipt<'a> {
    /// Reads a receipt. Parts that a proxy appends are left alone.
    pub fn parse(text: &'a str) -> Result<Self, ReceiptError> {
        let mut parts = [""; 8];
        let mut count = 0;
        for (slot, part) in parts.iter_mut().zip(text.split(' ')) {
            *slot = part;
            count += 1;
        }
        let [start, pop_time, invisible_time, revive_queue, origin, broker_name, queue_id, queue_offset] =
            parts;
        if count < 7 {
            return Err(ReceiptError::Parts(count));
        }
        Ok(Receipt {
            start_offset: number("start offset", start)?,
            pop_time: number("pop time", pop_time)?,
            invisible_time: number("invisible time", invisible_time)?,
            revive_queue: number("revive queue", revive_queue)?,
            origin: PopOrigin::from_mark(origin).ok_or_else(|| wrong("retry mark", origin))?,
            broker_name,
            queue_id: number("queue", queue_id)?,
            queue_offset: if count == 8 { Some(number("queue offset", queue_offset)?) } else { None },
        })
    }

    pub fn is_ordered(&self) -> bool {
        self.revive_queue == ORDER_REVIVE_QUEUE
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        let numbers = [self.start_offset, self.pop_time, self.invisible_time, i64::from(self.revive_queue)];
        for value in numbers {
            push_number(value, out);
            out.push(b' ');
        }
        for text in [self.origin.mark(), self.broker_name] {
            out.extend_from_slice(text.as_bytes());
            out.push(b' ');
        }
        push_number(i64::from(self.queue_id), out);
        if let Some(offset) = self.queue_offset {
            out.push(b' ');
            push_number(offset, out);
        }
    }
}

fn number<T: std::str::FromStr>(part: &'static str, text: &str) -> Result<T, ReceiptError> {
    text.parse().map_err(|_| wrong(part, text))
}

fn wrong(part: &'static str, text: &str) -> ReceiptError {
    const SHOWN_CHARS_MAX: usize = 40;
    ReceiptError::Part { part, value: text.chars().take(SHOWN_CHARS_MAX).collect() }
}

/// `startOffsetInfo` of the answer to a pop: `r queueId startOffset`, joined by `;`.
pub fn push_start_offset(out: &mut Vec<u8>, origin: PopOrigin, queue_id: i32, start_offset: i64) {
    push_item(out, origin, queue_id);
    push_number(start_offset, out);
}

/// `msgOffsetInfo` of the answer to a pop: `r queueId offset,offset,…`, joined by `;`.
pub fn push_message_offsets(
    out: &mut Vec<u8>,
    origin: PopOrigin,
    queue_id: i32,
    offsets: impl IntoIterator<Item = i64>,
) {
    push_item(out, origin, queue_id);
    for (at, offset) in offsets.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_number(offset, out);
    }
}

/// An item of `orderCountInfo` for one message that was given before: `r qo<queueId>%<offset> count`.
pub fn push_order_count(out: &mut Vec<u8>, origin: PopOrigin, queue_id: i32, offset: i64, count: i32) {
    begin_item(out, origin);
    out.extend_from_slice(b"qo");
    push_number(i64::from(queue_id), out);
    out.push(b'%');
    push_number(offset, out);
    out.push(b' ');
    push_number(i64::from(count), out);
}

/// An item of `orderCountInfo` for a queue: `r queueId count`.
pub fn push_queue_order_count(out: &mut Vec<u8>, origin: PopOrigin, queue_id: i32, count: i32) {
    push_item(out, origin, queue_id);
    push_number(i64::from(count), out);
}

fn push_item(out: &mut Vec<u8>, origin: PopOrigin, queue_id: i32) {
    begin_item(out, origin);
    push_number(i64::from(queue_id), out);
    out.push(b' ');
}

fn begin_item(out: &mut Vec<u8>, origin: PopOrigin) {
    if !out.is_empty() {
        out.push(b';');
    }
    out.extend_from_slice(origin.mark().as_bytes());
    out.push(b' ');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn origins_by_topic() {
        let check = |topic, expected| assert_eq!(PopOrigin::of(topic), expected, "{topic}");
        check("T", PopOrigin::Topic);
        check("T+1", PopOrigin::Topic);
        check("%RETRY%G_T", PopOrigin::RetryV1);
        check("%RETRY%G+T", PopOrigin::RetryV2);
        check("%RETRY%G", PopOrigin::RetryV1);
    }

    /// Recorded from the Java server's clients.
    #[test]
    fn receipts_as_clients_have_them() {
        let text = "0 1795988211352 10000 0 0 broker-a 2 0";
        let receipt = Receipt::parse(text).expect("a receipt");
        let expected = Receipt {
            start_offset: 0,
            pop_time: 1_795_988_211_352,
            invisible_time: 10_000,
            revive_queue: 0,
            origin: PopOrigin::Topic,
            broker_name: "broker-a",
            queue_id: 2,
            queue_offset: Some(0),
        };
        assert_eq!(receipt, expected);
        let mut out = Vec::new();
        receipt.write(&mut out);
        assert_eq!(out, text.as_bytes());
        let short = Receipt::parse("0 1795988211352 10000 0 0 broker-a 2").expect("seven parts");
        assert_eq!(short, Receipt { queue_offset: None, ..expected });
        let of_proxy = Receipt::parse("0 1795988211352 10000 0 0 broker-a 2 0 4711").expect("nine parts");
        assert_eq!(of_proxy, expected);
        assert!(Receipt::parse("5 1 10 999 1 b 0 5").is_ok_and(|receipt| receipt.is_ordered()));
    }

    #[test]
    fn what_is_no_receipt_says_why() {
        let check = |text: &str, expected: &str| {
            let error = Receipt::parse(text).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        };
        check("", "1 parts");
        check("0 1 2 3 0 b", "6 parts");
        check("x 1 2 3 0 b 0", "'x' for its start offset");
        check("0 1 2 3 7 b 0", "'7' for its retry mark");
        check("0 1 2 99999999999 0 b 0", "revive queue");
        check("0 1 2 3 0 b 0 z", "queue offset");
        check("0  1 2 3 0 b 0", "'' for its pop time");
    }

    #[test]
    fn the_parts_of_an_answer() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(
            text(&|out| {
                push_start_offset(out, PopOrigin::Topic, 1, 0);
                push_start_offset(out, PopOrigin::RetryV1, 0, 7);
            }),
            "0 1 0;1 0 7"
        );
        assert_eq!(
            text(&|out| {
                push_message_offsets(out, PopOrigin::Topic, 1, [0, 1, 2]);
                push_message_offsets(out, PopOrigin::Topic, 0, [0]);
            }),
            "0 1 0,1,2;0 0 0"
        );
        assert_eq!(
            text(&|out| {
                push_order_count(out, PopOrigin::Topic, 3, 42, 2);
                push_queue_order_count(out, PopOrigin::Topic, 3, 0);
            }),
            "0 qo3%42 2;0 3 0"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn receipts_come_back(
            numbers: (i64, i64, i64, i32, i32),
            offset: Option<i64>,
            mark in 0..3usize,
            broker in "[a-z-]{1,8}",
        ) {
            let (start_offset, pop_time, invisible_time, revive_queue, queue_id) = numbers;
            let origin = [PopOrigin::Topic, PopOrigin::RetryV1, PopOrigin::RetryV2][mark];
            let receipt = Receipt {
                start_offset, pop_time, invisible_time, revive_queue, origin, queue_id,
                broker_name: &broker,
                queue_offset: offset,
            };
            let mut out = Vec::new();
            receipt.write(&mut out);
            prop_assert_eq!(Receipt::parse(std::str::from_utf8(&out).expect("text")), Ok(receipt));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,80}") {
            let _ = Receipt::parse(&text);
        }
    }
}
