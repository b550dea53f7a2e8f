//! The properties of a message: `name U+0001 value U+0002`, repeated.
//!
//! Reading looks at the bytes where they lie and allocates nothing. As in Java, the last separator may be missing,
//! an item without a name or a value is passed over, and of two items with one name the later counts. Nothing is
//! escaped: a name or a value with one of the separators in it is cut there, and [`push`] leaves it to the caller
//! to have refused such.

const NAME_END: u8 = 0x01;
const VALUE_END: u8 = 0x02;

/// The most bytes of properties that a record can hold.
pub const PROPERTIES_BYTES_MAX: usize = i16::MAX as usize;

/// Property names, under the names of the reference.
pub mod name {
    pub const KEYS: &str = "KEYS";
    pub const TAGS: &str = "TAGS";
    pub const WAIT_STORE_MSG_OK: &str = "WAIT";
    pub const DELAY_TIME_LEVEL: &str = "DELAY";
    pub const RETRY_TOPIC: &str = "RETRY_TOPIC";
    pub const REAL_TOPIC: &str = "REAL_TOPIC";
    pub const REAL_QUEUE_ID: &str = "REAL_QID";
    pub const TRANSACTION_PREPARED: &str = "TRAN_MSG";
    pub const PRODUCER_GROUP: &str = "PGROUP";
    pub const MIN_OFFSET: &str = "MIN_OFFSET";
    pub const MAX_OFFSET: &str = "MAX_OFFSET";
    pub const BUYER_ID: &str = "BUYER_ID";
    pub const ORIGIN_MESSAGE_ID: &str = "ORIGIN_MESSAGE_ID";
    pub const TRANSFER_FLAG: &str = "TRANSFER_FLAG";
    pub const CORRECTION_FLAG: &str = "CORRECTION_FLAG";
    pub const MQ2_FLAG: &str = "MQ2_FLAG";
    pub const RECONSUME_TIME: &str = "RECONSUME_TIME";
    pub const MSG_REGION: &str = "MSG_REGION";
    pub const TRACE_SWITCH: &str = "TRACE_ON";
    pub const UNIQ_KEY: &str = "UNIQ_KEY";
    pub const EXTEND_UNIQ_INFO: &str = "EXTEND_UNIQ_INFO";
    pub const MAX_RECONSUME_TIMES: &str = "MAX_RECONSUME_TIMES";
    pub const CONSUME_START_TIMESTAMP: &str = "CONSUME_START_TIME";
    pub const INNER_NUM: &str = "INNER_NUM";
    pub const INNER_BASE: &str = "INNER_BASE";
    pub const DUP_INFO: &str = "DUP_INFO";
    pub const CHECK_IMMUNITY_TIME_IN_SECONDS: &str = "CHECK_IMMUNITY_TIME_IN_SECONDS";
    pub const TRANSACTION_PREPARED_QUEUE_OFFSET: &str = "TRAN_PREPARED_QUEUE_OFFSET";
    pub const TRANSACTION_ID: &str = "__transactionId__";
    pub const TRANSACTION_CHECK_TIMES: &str = "TRANSACTION_CHECK_TIMES";
    pub const TRANSACTION_OFFSET: &str = "TRANS_OFFSET";
    pub const INSTANCE_ID: &str = "INSTANCE_ID";
    pub const CORRELATION_ID: &str = "CORRELATION_ID";
    pub const MESSAGE_REPLY_TO_CLIENT: &str = "REPLY_TO_CLIENT";
    pub const MESSAGE_TTL: &str = "TTL";
    pub const REPLY_MESSAGE_ARRIVE_TIME: &str = "ARRIVE_TIME";
    pub const PUSH_REPLY_TIME: &str = "PUSH_REPLY_TIME";
    pub const CLUSTER: &str = "CLUSTER";
    pub const MESSAGE_TYPE: &str = "MSG_TYPE";
    pub const POP_CK: &str = "POP_CK";
    pub const POP_CK_OFFSET: &str = "POP_CK_OFFSET";
    pub const FIRST_POP_TIME: &str = "1ST_POP_TIME";
    pub const SHARDING_KEY: &str = "__SHARDINGKEY";
    pub const FORWARD_QUEUE_ID: &str = "PROPERTY_FORWARD_QUEUE_ID";
    pub const REDIRECT: &str = "REDIRECT";
    pub const INNER_MULTI_DISPATCH: &str = "INNER_MULTI_DISPATCH";
    pub const INNER_MULTI_QUEUE_OFFSET: &str = "INNER_MULTI_QUEUE_OFFSET";
    pub const TRACE_CONTEXT: &str = "TRACE_CONTEXT";
    pub const BORN_HOST: &str = "__BORNHOST";
    pub const BORN_TIMESTAMP: &str = "BORN_TIMESTAMP";
    pub const TRANSIENT_TOPIC_CONFIG: &str = "__RMQ.TRANSIENT.TOPIC_SYS_FLAG";
    pub const TRANSIENT_GROUP_CONFIG: &str = "__RMQ.TRANSIENT.GROUP_SYS_FLAG";
    pub const TIMER_DELAY_SEC: &str = "TIMER_DELAY_SEC";
    pub const TIMER_DELAY_MS: &str = "TIMER_DELAY_MS";
    pub const TIMER_DELIVER_MS: &str = "TIMER_DELIVER_MS";
    pub const TIMER_OUT_MS: &str = "TIMER_OUT_MS";
    pub const TIMER_ENQUEUE_MS: &str = "TIMER_ENQUEUE_MS";
    pub const TIMER_DEQUEUE_MS: &str = "TIMER_DEQUEUE_MS";
    pub const TIMER_ROLL_TIMES: &str = "TIMER_ROLL_TIMES";
    pub const TIMER_ROLL_LABEL: &str = "TIMER_ROLL_LABEL";
    pub const TIMER_DEL_UNIQKEY: &str = "TIMER_DEL_UNIQKEY";
    pub const TIMER_DELAY_LEVEL: &str = "TIMER_DELAY_LEVEL";
    pub const CRC32: &str = "__CRC32#";
    pub const DLQ_ORIGIN_TOPIC: &str = "DLQ_ORIGIN_TOPIC";
    pub const DLQ_ORIGIN_MESSAGE_ID: &str = "DLQ_ORIGIN_MESSAGE_ID";
    pub const LITE_TOPIC: &str = "__LITE_TOPIC";
    pub const ORIGIN_GROUP: &str = "ORIGIN_GROUP";
    pub const PRIORITY: &str = "_SYS_MSG_PRIORITY_";

    /// Stands between the keys of a KEYS property.
    pub const KEY_SEPARATOR: char = ' ';
    /// Stands between the tags of a TAGS property and of a subscription.
    pub const TAG_SEPARATOR: &str = "||";
}

/// A view of encoded properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    raw: &'a [u8],
}

impl<'a> Properties<'a> {
    pub const fn new(raw: &'a [u8]) -> Self {
        Properties { raw }
    }

    pub const fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// The value that counts for the name. A value that isn't UTF-8 is none.
    pub fn get(self, name: &str) -> Option<&'a str> {
        let (_, value) = self.items().filter(|(other, _)| *other == name.as_bytes()).last()?;
        std::str::from_utf8(value).ok()
    }

    /// The values that count for some names, found in one pass.
    pub fn get_all<const N: usize>(self, names: [&str; N]) -> [Option<&'a str>; N] {
        let mut values = [None; N];
        for (name, value) in self.items() {
            if let Some(at) = names.iter().position(|wanted| wanted.as_bytes() == name) {
                values[at] = std::str::from_utf8(value).ok();
            }
        }
        values
    }

    pub fn contains(self, name: &str) -> bool {
        self.items().any(|(other, _)| other == name.as_bytes())
    }

    /// Whether the value reads as true, as Java reads it; false for none.
    pub fn is_true(self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Names and values in order, without those that aren't UTF-8.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.items().filter_map(|(name, value)| {
            Some((std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?))
        })
    }

    /// Names and values in order, as bytes.
    pub fn items(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        Items { rest: self.raw }
    }

    /// Appends all items but those with one of the names, each with both its separators.
    pub fn copy_without(self, out: &mut Vec<u8>, names: &[&str]) {
        for (name, value) in self.items() {
            if !names.iter().any(|left_out| left_out.as_bytes() == name) {
                push_bytes(out, name, value);
            }
        }
    }
}

struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == VALUE_END).unwrap_or(self.rest.len());
            let item = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            let name_end = item.iter().position(|byte| *byte == NAME_END);
            match name_end.map(|at| (&item[..at], &item[at + 1..])) {
                Some((name, value)) if !name.is_empty() && !value.is_empty() => return Some((name, value)),
                _ => {}
            }
        }
        None
    }
}

/// Appends one property.
pub fn push(out: &mut Vec<u8>, name: &str, value: &str) {
    push_bytes(out, name.as_bytes(), value.as_bytes());
}

/// Appends one property with a number for a value.
pub fn push_number(out: &mut Vec<u8>, name: &str, value: i64) {
    out.extend_from_slice(name.as_bytes());
    out.push(NAME_END);
    crate::header::push_number(value, out);
    out.push(VALUE_END);
}

/// Appends one property to properties that are kept as a text.
pub fn push_to_text(out: &mut String, name: &str, value: &str) {
    out.extend([name, "\u{1}", value, "\u{2}"]);
}

/// Ends the last item if its separator is missing, so that more can follow.
pub fn close(out: &mut String) {
    if out.as_bytes().last().is_some_and(|byte| *byte != VALUE_END) {
        out.push(char::from(VALUE_END));
    }
}

/// Properties of `raw` with each of `changes` set (or left out, for `None`) in one new encoding.
pub fn rewrite(raw: &[u8], out: &mut Vec<u8>, changes: &[(&str, Option<&str>)]) {
    for (name, value) in Properties::new(raw).items() {
        if !changes.iter().any(|(changed, _)| changed.as_bytes() == name) {
            push_bytes(out, name, value);
        }
    }
    for (name, value) in changes {
        if let Some(value) = value {
            push(out, name, value);
        }
    }
}

fn push_bytes(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.push(NAME_END);
    out.extend_from_slice(value);
    out.push(VALUE_END);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_are_read_as_java_reads_them() {
        let check = |raw: &str, expected: &[(&str, &str)]| {
            let items: Vec<_> = Properties::new(raw.as_bytes()).iter().collect();
            assert_eq!(items, expected, "{raw:?}");
        };
        check("", &[]);
        check("a\u{1}b\u{2}", &[("a", "b")]);
        check("a\u{1}b", &[("a", "b")]);
        check("a\u{1}b\u{2}c\u{1}d", &[("a", "b"), ("c", "d")]);
        check("a\u{1}\u{2}c\u{1}d\u{2}", &[("c", "d")]);
        check("\u{1}b\u{2}", &[]);
        check("ab\u{2}", &[]);
        check("\u{2}\u{2}a\u{1}b\u{1}c\u{2}", &[("a", "b\u{1}c")]);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let properties = Properties::new(b"a\x01x\x02b\x01true\x02a\x01y");
        assert_eq!(properties.get("a"), Some("y"));
        assert!(properties.is_true("b"));
        assert!(!properties.is_true("a"));
        assert_eq!(properties.get("c"), None);
        assert_eq!(properties.get_all(["c", "b", "a"]), [None, Some("true"), Some("y")]);
    }

    #[test]
    fn bytes_that_are_no_text_hide_only_their_own_item() {
        let properties = Properties::new(b"a\x01\xff\x02b\x01c\x02");
        assert_eq!(properties.get("a"), None);
        assert!(properties.contains("a"));
        assert_eq!(properties.get("b"), Some("c"));
    }

    #[test]
    fn rewriting_leaves_out_and_sets() {
        let mut out = Vec::new();
        rewrite(b"a\x01x\x02b\x01y\x02c\x01z", &mut out, &[("b", Some("w")), ("a", None), ("d", Some("v"))]);
        assert_eq!(out, b"c\x01z\x02b\x01w\x02d\x01v\x02");
        out.clear();
        Properties::new(b"a\x01x\x02b\x01y").copy_without(&mut out, &["a"]);
        push_number(&mut out, "n", -5);
        assert_eq!(out, b"b\x01y\x02n\x01-5\x02");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_pushed_comes_back(pairs in prop::collection::vec(("[a-zA-Z_é]{1,9}", "[^\u{1}\u{2}]{1,9}"), 0..9)) {
            let mut out = Vec::new();
            for (name, value) in &pairs {
                push(&mut out, name, value);
            }
            let read: Vec<_> = Properties::new(&out).iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
            prop_assert_eq!(read, pairs);
        }

        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(0u8..5, 0..64)) {
            let mut out = Vec::new();
            Properties::new(&bytes).copy_without(&mut out, &["\u{3}"]);
            prop_assert!(out.len() <= bytes.len() + 1);
        }
    }
}
