//! What a message's properties tell the broker, and what the broker tells with them.

use super::rules;
use crate::refusal::Refusal;
use crate::timers::Asked;
use roxmq_protocol::java_hash;
use roxmq_protocol::properties::{self, PROPERTIES_BYTES_MAX, Properties, name};
use roxmq_protocol::text::Text;
use roxmq_store::IndexKeys;
use std::ops::Range;

/// No property string that fits a record is longer, even with each of its characters escaped.
const WIRE_BYTES_MAX: usize = 6 * (PROPERTIES_BYTES_MAX + 1);

/// Names that are the broker's to set: what a client sends under them is not kept.
const BROKERS_OWN: [&str; 6] = [
    name::POP_CK,
    name::MSG_REGION,
    name::TRACE_SWITCH,
    name::CLUSTER,
    name::CRC32,
    name::INNER_MULTI_QUEUE_OFFSET,
];

/// The properties of one message on its way into the store. Kept for the next message's.
#[derive(Debug, Default)]
pub(super) struct MessageProperties {
    encoded: String,
    spare: Vec<u8>,
    found: Found,
    /// How many bytes the broker has added and can't do without.
    added: usize,
}

/// Where the values lie that the broker acts on; of equal names the last.
#[derive(Clone, Debug, Default)]
struct Found {
    tags: Option<Range<usize>>,
    keys: Option<Range<usize>>,
    uniq_key: Option<Range<usize>>,
    delay: Option<Range<usize>>,
    wait: Option<Range<usize>>,
    transaction: Option<Range<usize>>,
    delay_sec: Option<Range<usize>>,
    delay_ms: Option<Range<usize>>,
    deliver_ms: Option<Range<usize>>,
    recalls: bool,
    /// It has waited for its time already.
    timer_done: bool,
    inner_num: bool,
    lmqs: Option<Range<usize>>,
    lite_topic: Option<Range<usize>>,
    priority: Option<Range<usize>>,
    sharding_key: bool,
    /// Something has to be left out.
    brokers_own: bool,
}

impl MessageProperties {
    /// Takes over what the client sent.
    pub(super) fn load(&mut self, sent: Text<'_>) -> Result<(), Refusal> {
        self.encoded.clear();
        self.added = 0;
        if sent.bytes().len() > WIRE_BYTES_MAX {
            return rules::check_properties(sent.bytes().len(), 0);
        }
        sent.append_to(&mut self.encoded);
        properties::close(&mut self.encoded);
        self.found = scan(&self.encoded);
        if self.found.brokers_own {
            self.rewrite(|old, new| Properties::new(old).copy_without(new, &BROKERS_OWN));
        }
        rules::check_properties(self.encoded.len(), 0)
    }

    /// Encodes the properties anew. What is written consists of their items and other texts.
    fn rewrite(&mut self, write: impl FnOnce(&[u8], &mut Vec<u8>)) {
        let mut encoded = std::mem::take(&mut self.spare);
        encoded.clear();
        write(self.encoded.as_bytes(), &mut encoded);
        let encoded = String::from_utf8(encoded).expect("items of a text are texts");
        self.spare = std::mem::replace(&mut self.encoded, encoded).into_bytes();
        self.found = scan(&self.encoded);
    }

    fn value(&self, range: &Option<Range<usize>>) -> Option<&str> {
        self.encoded.get(range.clone()?)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        Properties::new(self.encoded()).get(name)
    }

    pub(super) fn tags(&self) -> Option<&str> {
        self.value(&self.found.tags)
    }

    pub(super) fn keys(&self) -> Option<&str> {
        self.value(&self.found.keys)
    }

    pub(super) fn uniq_key(&self) -> Option<&str> {
        self.value(&self.found.uniq_key)
    }

    pub(super) fn has_uniq_key(&self) -> bool {
        self.found.uniq_key.is_some()
    }

    /// Whether the sender wants to know that the message is stored as the broker promises; yes if it says nothing.
    pub(super) fn waits_for_store(&self) -> bool {
        self.value(&self.found.wait).is_none_or(|wait| wait.eq_ignore_ascii_case("true"))
    }

    pub(super) fn is_half_message(&self) -> bool {
        self.value(&self.found.transaction).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// What asks for delivery at a time; nothing if the message has waited for one already.
    pub(super) fn timer(&self) -> Asked<'_> {
        if self.found.timer_done {
            return Asked::default();
        }
        // What is no text is no time either, and is to be refused as such.
        let value =
            |range: &Option<Range<usize>>| range.is_some().then(|| self.value(range).unwrap_or_default());
        Asked {
            delay_sec: value(&self.found.delay_sec),
            delay_ms: value(&self.found.delay_ms),
            deliver_ms: value(&self.found.deliver_ms),
            is_recall: self.found.recalls,
        }
    }

    /// The light queues that the message names, as a list.
    pub(super) fn lmqs(&self) -> Option<&str> {
        self.value(&self.found.lmqs)
    }

    pub(super) fn lite_topic(&self) -> Option<&str> {
        self.value(&self.found.lite_topic)
    }

    /// The priority of a message that has one and is nothing else besides: neither delayed nor ordered nor part of a
    /// transaction.
    pub(super) fn priority(&self) -> Option<i32> {
        let found = &self.found;
        if found.delay.is_some() || self.timer().is_asked() || found.sharding_key || self.is_half_message() {
            return None;
        }
        self.value(&found.priority)?.trim().parse().ok().filter(|priority| *priority >= 0)
    }

    pub(super) fn has_priority(&self) -> bool {
        self.found.priority.is_some()
    }

    pub(super) fn is_inner_batch(&self) -> bool {
        self.found.inner_num
    }

    /// The delay level asked for, 0 for none.
    pub(super) fn delay_level(&self) -> Result<i32, Refusal> {
        match self.value(&self.found.delay) {
            None => Ok(0),
            Some(level) => level.trim().parse().map_err(|_| {
                rules::illegal(format!(
                    "the message is illegal: its property DELAY is '{level}', which is no level"
                ))
            }),
        }
    }

    pub(super) fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys { uniq_key: self.uniq_key(), keys: self.keys(), tags: self.tags() }
    }

    /// The tags code of the queue entry.
    pub(super) fn tags_code(&self) -> i64 {
        self.tags().map_or(0, java_hash::tags_code)
    }

    /// Sets properties, or removes them for `None`.
    pub(super) fn set(&mut self, changes: &[(&str, Option<&str>)]) -> Result<(), Refusal> {
        let before = self.encoded.len();
        self.rewrite(|old, new| properties::rewrite(old, new, changes));
        self.added = (self.added + self.encoded.len()).saturating_sub(before);
        rules::check_properties(self.encoded.len(), self.added)
    }

    /// Adds a property that isn't there.
    pub(super) fn add_uniq_key(&mut self, value: &str) -> Result<(), Refusal> {
        let before = self.encoded.len();
        properties::push_to_text(&mut self.encoded, name::UNIQ_KEY, value);
        let end = self.encoded.len();
        self.added += end - before;
        self.found.uniq_key = Some(before + name::UNIQ_KEY.len() + 1..end - 1);
        rules::check_properties(end, self.added)
    }

    /// Adds what tells where the message came through, unless the sender has left no room for it.
    pub(super) fn add_marks(&mut self, marks: &str) {
        if self.encoded.len() + marks.len() <= PROPERTIES_BYTES_MAX {
            self.encoded.push_str(marks);
        }
    }

    pub(super) fn encoded(&self) -> &[u8] {
        self.encoded.as_bytes()
    }
}

fn scan(encoded: &str) -> Found {
    let mut found = Found::default();
    let start = encoded.as_ptr() as usize;
    for (item, value) in Properties::new(encoded.as_bytes()).items() {
        let at = value.as_ptr() as usize - start;
        let range = at..at + value.len();
        match item {
            b"TAGS" => found.tags = Some(range),
            b"KEYS" => found.keys = Some(range),
            b"UNIQ_KEY" => found.uniq_key = Some(range),
            b"WAIT" => found.wait = Some(range),
            b"DELAY" => found.delay = Some(range),
            b"TRAN_MSG" => found.transaction = Some(range),
            b"TIMER_DELAY_SEC" => found.delay_sec = Some(range),
            b"TIMER_DELAY_MS" => found.delay_ms = Some(range),
            b"TIMER_DELIVER_MS" => found.deliver_ms = Some(range),
            b"TIMER_DEL_UNIQKEY" => found.recalls = true,
            b"TIMER_OUT_MS" => found.timer_done = true,
            b"INNER_NUM" => found.inner_num = true,
            b"INNER_MULTI_DISPATCH" => found.lmqs = Some(range),
            b"__LITE_TOPIC" => found.lite_topic = Some(range),
            b"_SYS_MSG_PRIORITY_" => found.priority = Some(range),
            b"__SHARDINGKEY" => found.sharding_key = true,
            b"POP_CK"
            | b"MSG_REGION"
            | b"TRACE_ON"
            | b"CLUSTER"
            | b"__CRC32#"
            | b"INNER_MULTI_QUEUE_OFFSET" => found.brokers_own = true,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::code::response;

    fn loaded(sent: &str) -> MessageProperties {
        let mut properties = MessageProperties::default();
        properties.load(Text::plain(sent)).expect("legal");
        properties
    }

    #[test]
    fn values_that_the_broker_acts_on() {
        let properties = loaded(
            "KEYS\u{1}a b\u{2}TAGS\u{1}x\u{2}x\u{1}y\u{2}TAGS\u{1}TagA\u{2}UNIQ_KEY\u{1}7F\u{2}WAIT\u{1}false\u{2}DELAY\u{1}3",
        );
        assert_eq!(
            (properties.tags(), properties.keys(), properties.uniq_key()),
            (Some("TagA"), Some("a b"), Some("7F"))
        );
        assert_eq!((properties.waits_for_store(), properties.delay_level()), (false, Ok(3)));
        assert_eq!(properties.tags_code(), 2_598_919);
        assert!(!properties.is_half_message());
        let nothing = loaded("");
        assert_eq!((nothing.waits_for_store(), nothing.delay_level(), nothing.tags_code()), (true, Ok(0), 0));
    }

    #[test]
    fn the_last_separator_may_be_missing() {
        let mut properties = loaded("a\u{1}b\u{2}TAGS\u{1}t");
        properties.add_uniq_key("U").expect("there is room");
        properties.add_marks("CLUSTER\u{1}c\u{2}");
        assert_eq!(properties.encoded(), b"a\x01b\x02TAGS\x01t\x02UNIQ_KEY\x01U\x02CLUSTER\x01c\x02");
        assert_eq!((properties.tags(), properties.uniq_key()), (Some("t"), Some("U")));
    }

    #[test]
    fn what_is_the_brokers_to_say_is_not_taken_from_clients() {
        let properties = loaded(
            "POP_CK\u{1}1\u{2}KEYS\u{1}k\u{2}CLUSTER\u{1}x\u{2}TRACE_ON\u{1}y\u{2}__CRC32#\u{1}1\u{2}",
        );
        assert_eq!(properties.encoded(), b"KEYS\x01k\x02");
        assert_eq!(properties.keys(), Some("k"));
    }

    #[test]
    fn setting_and_removing() {
        let mut properties = loaded("DELAY\u{1}99\u{2}KEYS\u{1}k\u{2}");
        properties
            .set(&[("DELAY", Some("18")), ("REAL_TOPIC", Some("T")), ("KEYS", None)])
            .expect("there is room");
        assert_eq!(properties.encoded(), b"DELAY\x0118\x02REAL_TOPIC\x01T\x02");
        assert_eq!(properties.delay_level(), Ok(18));
    }

    #[test]
    fn lengths_up_to_the_limit_are_kept_whole() {
        for (length, legal) in
            [(32_766, true), (32_767, true), (32_768, false), (70_000, false), (1_000_000, false)]
        {
            let sent = format!("k\u{1}{}\u{2}", "v".repeat(length - 3));
            let mut properties = MessageProperties::default();
            let result = properties.load(Text::plain(&sent));
            assert_eq!(result.is_ok(), legal, "{length}");
            if let Err(refusal) = result {
                assert_eq!(refusal.code, response::MESSAGE_ILLEGAL);
                assert!(refusal.remark.contains(&length.to_string()), "{refusal}");
                continue;
            }
            properties.add_marks("CLUSTER\u{1}c\u{2}");
            assert_eq!(properties.encoded(), sent.as_bytes());
            assert!(properties.add_uniq_key("7F").is_err());
        }
    }

    #[test]
    fn only_a_message_that_is_nothing_else_has_a_priority() {
        let check = |sent: &str, expected| assert_eq!(loaded(sent).priority(), expected, "{sent}");
        check("", None);
        check("_SYS_MSG_PRIORITY_\u{1}3\u{2}", Some(3));
        check("_SYS_MSG_PRIORITY_\u{1}0\u{2}TAGS\u{1}a\u{2}", Some(0));
        check("_SYS_MSG_PRIORITY_\u{1}-1\u{2}", None);
        check("_SYS_MSG_PRIORITY_\u{1}high\u{2}", None);
        for other in ["DELAY\u{1}3", "TIMER_DELAY_MS\u{1}9", "__SHARDINGKEY\u{1}k", "TRAN_MSG\u{1}true"] {
            check(&format!("_SYS_MSG_PRIORITY_\u{1}3\u{2}{other}\u{2}"), None);
        }
    }

    #[test]
    fn a_level_that_is_no_number_is_refused() {
        let refusal = loaded("DELAY\u{1}soon\u{2}").delay_level().expect_err("no number");
        assert_eq!(refusal.code, response::MESSAGE_ILLEGAL);
        assert!(refusal.remark.contains("soon"), "{refusal}");
    }
}
