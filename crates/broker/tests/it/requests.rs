//! Requests as clients send them, and what is read from the answers.

use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::Properties;
use roxmq_protocol::record::{Record, Records};
use roxmq_protocol::sys_flag::pull;

/// A property string.
pub fn properties(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}\u{1}{value}\u{2}")).collect()
}

/// A commit (15) of a consumer's offset.
pub fn commit(group: &str, topic: &str, queue_id: i32, offset: i64) -> Command {
    Command::request(request::UPDATE_CONSUMER_OFFSET)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", queue_id)
        .with("commitOffset", offset)
}

/// A send (310) to queue 0, with only the fields that every client sends.
pub fn send(topic: &str, body: impl Into<Vec<u8>>) -> Command {
    send_to(topic, 0, &[], body)
}

pub fn send_to(topic: &str, queue_id: i32, pairs: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Command {
    send_raw(topic, queue_id, &properties(pairs), body)
}

pub fn send_raw(topic: &str, queue_id: i32, properties: &str, body: impl Into<Vec<u8>>) -> Command {
    Command::request(request::SEND_MESSAGE_V2)
        .with("a", "PG")
        .with("b", topic)
        .with("c", "TBW102")
        .with("d", 4)
        .with("e", queue_id)
        .with("f", 0)
        .with("g", 1_700_000_000_000_i64)
        .with("h", 7)
        .with("i", properties)
        .body(body.into())
}

/// A batch (320) to queue 0; each message with its property string.
pub fn batch(topic: &str, messages: &[(&str, String)]) -> Command {
    let mut body = Vec::new();
    for (text, properties) in messages {
        assert!(roxmq_protocol::batch::push(&mut body, 0, text.as_bytes(), properties.as_bytes()));
    }
    Command { code: request::SEND_BATCH_MESSAGE, ..send(topic, body).with("m", true) }
}

/// The request with a field set to something else.
pub fn change(mut request: Command, name: &'static str, value: impl ToString) -> Command {
    request.ext.retain(|(field, _)| field != name);
    request.with(name, value.to_string())
}

/// The request without a field.
pub fn without(mut request: Command, name: &str) -> Command {
    request.ext.retain(|(field, _)| field != name);
    request
}

/// A pull of everything from an offset on, which doesn't wait.
pub fn pull(group: &str, topic: &str, queue_id: i32, offset: i64) -> Command {
    Command::request(request::PULL_MESSAGE)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", queue_id)
        .with("queueOffset", offset)
        .with("maxMsgNums", 32)
        .with("sysFlag", pull::SUBSCRIPTION)
        .with("commitOffset", 0)
        .with("suspendTimeoutMillis", 15_000)
        .with("subscription", "*")
        .with("subVersion", 0)
}

/// A pull that waits for messages.
pub fn long_pull(group: &str, topic: &str, queue_id: i32, offset: i64, wait_ms: i64) -> Command {
    let request = change(pull(group, topic, queue_id, offset), "suspendTimeoutMillis", wait_ms);
    change(request, "sysFlag", pull::SUBSCRIPTION | pull::SUSPEND)
}

pub fn send_back(group: &str, offset: i64, delay_level: i32) -> Command {
    Command::request(request::CONSUMER_SEND_MSG_BACK)
        .with("offset", offset)
        .with("group", group)
        .with("delayLevel", delay_level)
}

/// A pop (200050) of up to 32 messages of any queue, which doesn't wait.
pub fn pop(group: &str, topic: &str) -> Command {
    Command::request(request::POP_MESSAGE)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", -1)
        .with("maxMsgNums", 32)
        .with("invisibleTime", 60_000)
        .with("pollTime", 0)
        .with("bornTime", 0)
        .with("initMode", 0)
        .with("expType", "TAG")
        .with("exp", "*")
}

/// A pop that waits for messages.
pub fn long_pop(group: &str, topic: &str, wait_ms: i64) -> Command {
    change(pop(group, topic), "pollTime", wait_ms)
}

/// A message of an answer, copied out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub phy_offset: i64,
    pub reconsume_times: i32,
    pub flag: i32,
    pub body: Vec<u8>,
    pub properties: Vec<u8>,
}

impl Message {
    pub fn property(&self, name: &str) -> Option<&str> {
        Properties::new(&self.properties).get(name)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("tests send text")
    }
}

impl From<Record<'_>> for Message {
    fn from(record: Record<'_>) -> Self {
        record.verify_crc().expect("the body that was sent");
        Message {
            topic: record.topic.to_owned(),
            queue_id: record.queue_id,
            queue_offset: record.queue_offset,
            phy_offset: record.phy_offset,
            reconsume_times: record.reconsume_times,
            flag: record.flag,
            body: record.body.to_vec(),
            properties: record.properties.raw().to_vec(),
        }
    }
}

pub fn messages(answer: &Command) -> Vec<Message> {
    Records::new(&answer.body).map(|record| record.expect("whole records").into()).collect()
}

pub fn number(answer: &Command, name: &str) -> i64 {
    let value = answer.field(name).unwrap_or_else(|| panic!("no {name} in {answer:?}"));
    value.parse().expect("a number")
}

#[track_caller]
pub fn assert_code(answer: &Command, code: i32, words: &[&str]) {
    let remark = answer.remark.as_deref().unwrap_or_default();
    assert_eq!(answer.code, code, "{remark}");
    for word in words {
        assert!(remark.contains(word), "'{word}' is not in: {remark}");
    }
}
