//! What kind a message is: its properties say so, whatever the sender called it. And which kinds a topic takes.

use crate::invoker::Topic;
use crate::refusal::{Refusal, Result};
use crate::schema::{Code, MessageType};
use roxmq_protocol::names;
use roxmq_protocol::properties::{Properties, name};

pub fn of(properties: Properties<'_>) -> MessageType {
    let [transaction, level, deliver, seconds, milliseconds, group, priority, lite] = properties.get_all([
        name::TRANSACTION_PREPARED,
        name::DELAY_TIME_LEVEL,
        name::TIMER_DELIVER_MS,
        name::TIMER_DELAY_SEC,
        name::TIMER_DELAY_MS,
        name::SHARDING_KEY,
        name::PRIORITY,
        name::LITE_TOPIC,
    ]);
    if transaction == Some("true") {
        MessageType::Transaction
    } else if [level, deliver, seconds, milliseconds].iter().any(Option::is_some) {
        MessageType::Delay
    } else if group.is_some() {
        MessageType::Fifo
    } else if priority.is_some() {
        MessageType::Priority
    } else if lite.is_some() {
        MessageType::Lite
    } else {
        MessageType::Normal
    }
}

/// Refuses a kind that the topic doesn't take.
pub fn check(topic_name: &str, topic: &Topic, kind: MessageType) -> Result<()> {
    // What comes back to be tried again keeps its properties, whatever the topic was made for.
    if names::is_retry_topic(topic_name) || names::is_dlq_topic(topic_name) {
        return Ok(());
    }
    let accepted = accepted_types(topic);
    if accepted.contains(&kind) {
        return Ok(());
    }
    let expected: Vec<_> = accepted.iter().map(MessageType::as_str_name).collect();
    let text = format!(
        "topic {topic_name} takes messages of the type {} but this one is {}",
        expected.join(", "),
        kind.as_str_name()
    );
    Err(Refusal::new(Code::MessagePropertyConflictWithType, text))
}

/// The types of messages that a topic takes, by its attribute `message.type`.
pub fn accepted_types(topic: &Topic) -> &'static [MessageType] {
    match topic.attributes.get("message.type").map(String::as_str) {
        None | Some("NORMAL") => &[MessageType::Normal],
        Some("FIFO") => &[MessageType::Fifo],
        Some("DELAY") => &[MessageType::Delay],
        Some("TRANSACTION") => &[MessageType::Transaction],
        Some("LITE") => &[MessageType::Lite],
        Some("PRIORITY") => &[MessageType::Priority],
        Some("MIXED") => {
            &[MessageType::Normal, MessageType::Fifo, MessageType::Delay, MessageType::Transaction]
        }
        Some(_) => &[MessageType::Unspecified],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_tell_the_kind() {
        let check = |properties: &str, expected| {
            let raw = properties.replace('=', "\u{1}").replace(';', "\u{2}");
            assert_eq!(of(Properties::new(raw.as_bytes())), expected, "{properties}");
        };
        check("", MessageType::Normal);
        check("TRAN_MSG=true;TIMER_DELIVER_MS=1;", MessageType::Transaction);
        check("TRAN_MSG=false;", MessageType::Normal);
        for property in ["DELAY=1;", "TIMER_DELIVER_MS=1;", "TIMER_DELAY_SEC=1;", "TIMER_DELAY_MS=1;"] {
            check(property, MessageType::Delay);
        }
        check("__SHARDINGKEY=g;DELAY=1;", MessageType::Delay);
        check("__SHARDINGKEY=g;_SYS_MSG_PRIORITY_=1;", MessageType::Fifo);
        check("_SYS_MSG_PRIORITY_=1;__LITE_TOPIC=l;", MessageType::Priority);
        check("__LITE_TOPIC=l;", MessageType::Lite);
    }
}
