//! What a message must be to be stored, rule by rule, as functions of values.

use crate::refusal::Refusal;
use crate::topics::TopicConfig;
use roxmq_protocol::batch::BatchItems;
use roxmq_protocol::code::response;
use roxmq_protocol::names;
use roxmq_protocol::properties::{PROPERTIES_BYTES_MAX, name};
use roxmq_protocol::sys_flag;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::QueueId;

pub(super) fn check_open(topic: &str) -> Result<(), Refusal> {
    if names::is_not_for_sends(topic) || [roxmq_store::STATE_TOPIC, names::TIMER_TOPIC].contains(&topic) {
        return Err(Refusal::denied(format!("Sending message to topic[{topic}] is forbidden.")));
    }
    Ok(())
}

/// A broker that may not be written to takes nothing for any topic.
pub(super) fn check_broker_writable(broker_permission: i32, broker: &str) -> Result<(), Refusal> {
    if perm::is_writeable(broker_permission) {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "the broker[{broker}] sending message is forbidden: brokerPermission is {broker_permission}"
    )))
}

pub(super) fn check_topic_writable(topic: &TopicConfig) -> Result<(), Refusal> {
    if perm::is_writeable(topic.perm) {
        return Ok(());
    }
    let name = &topic.topic_name;
    Err(Refusal::denied(format!(
        "the topic[{name}] sending message is forbidden: its perm is {}",
        topic.perm
    )))
}

/// The queue of a message: the one asked for, or for a negative number one of the broker's choice.
pub(super) fn choose_queue(topic: &TopicConfig, asked: i32, turn: u32) -> Result<QueueId, Refusal> {
    let queues = topic.write_queue_nums.max(topic.read_queue_nums);
    if asked >= queues || topic.write_queue_nums <= 0 {
        return Err(Refusal::invalid(format!(
            "request queueId[{asked}] is illegal, topic[{}] has {} write queues and {} read queues",
            topic.topic_name, topic.write_queue_nums, topic.read_queue_nums
        )));
    }
    if asked < 0 {
        return Ok(QueueId((turn % topic.write_queue_nums as u32) as i32));
    }
    Ok(QueueId(asked))
}

pub(super) fn check_body(bytes: usize, bytes_max: usize) -> Result<(), Refusal> {
    if bytes == 0 {
        return Err(illegal("the message is illegal: its body is empty"));
    }
    if bytes > bytes_max {
        return Err(illegal(format!(
            "the message is illegal: its body has {bytes} bytes, the limit is {bytes_max} (maxMessageSize)"
        )));
    }
    Ok(())
}

/// Reads a whole batch before any of it is stored.
pub(super) fn check_batch(body: &[u8]) -> Result<(), Refusal> {
    for (index, item) in BatchItems::new(body).enumerate() {
        let item = item.map_err(|error| illegal(format!("the batch is illegal: {error}")))?;
        if item.body.is_empty() {
            return Err(illegal(format!("the batch is illegal: the body of message {index} is empty")));
        }
        // Recovery believes it.
        if item.properties.contains(name::INNER_MULTI_QUEUE_OFFSET) {
            return Err(illegal(format!(
                "the batch is illegal: message {index} has the property INNER_MULTI_QUEUE_OFFSET, which is the broker's to set"
            )));
        }
    }
    Ok(())
}

/// `added` of the bytes are the broker's own.
pub(super) fn check_properties(bytes: usize, added: usize) -> Result<(), Refusal> {
    if bytes <= PROPERTIES_BYTES_MAX {
        return Ok(());
    }
    let sent = bytes - added;
    Err(illegal(if added == 0 {
        format!(
            "the message is illegal: its properties have {sent} bytes, the limit is {PROPERTIES_BYTES_MAX}"
        )
    } else {
        format!(
            "the message is illegal: its properties have {sent} bytes and the broker adds {added}, the limit is {PROPERTIES_BYTES_MAX}"
        )
    }))
}

/// The bits of a transaction belong to the broker, those of an inner batch to topics that this broker doesn't have.
pub(super) fn check_sys_flag(flag: i32) -> Result<(), Refusal> {
    const INNER: i32 = sys_flag::INNER_BATCH | sys_flag::NEED_UNWRAP;
    if flag & INNER != 0 {
        return Err(illegal(format!(
            "the message is illegal: sysFlag {flag:#x} has the bits of an inner batch, and the topic is no batch topic"
        )));
    }
    Ok(())
}

pub(super) fn illegal(remark: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(response::MESSAGE_ILLEGAL, remark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::topic_config;
    use roxmq_protocol::batch;

    fn topic(write: i32, read: i32, perm: i32) -> TopicConfig {
        let mut config = topic_config("T", 1, perm);
        (config.write_queue_nums, config.read_queue_nums) = (write, read);
        config
    }

    #[track_caller]
    fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>, code: i32, words: &[&str]) {
        let refusal = result.expect_err("should be refused");
        assert_eq!(refusal.code, code, "{refusal}");
        for word in words {
            assert!(refusal.remark.contains(word), "'{word}' is not in: {refusal}");
        }
    }

    #[test]
    fn queues() {
        let check = |write, read, asked, turn, expected: i32| {
            assert_eq!(choose_queue(&topic(write, read, 6), asked, turn), Ok(QueueId(expected)), "{asked}");
        };
        check(4, 4, 0, 9, 0);
        check(4, 4, 3, 9, 3);
        check(4, 8, 7, 9, 7);
        check(4, 8, -1, 9, 1);
        check(4, 4, i32::MIN, u32::MAX, 3);
        refused(choose_queue(&topic(4, 4, 6), 4, 0), response::INVALID_PARAMETER, &["queueId[4]", "4 write"]);
        refused(choose_queue(&topic(4, 4, 6), i32::MAX, 0), response::INVALID_PARAMETER, &["2147483647"]);
        refused(choose_queue(&topic(0, 4, 6), -1, 0), response::INVALID_PARAMETER, &["0 write"]);
    }

    #[test]
    fn permissions() {
        for (perm, writable) in [(0, false), (2, true), (4, false), (6, true), (7, true)] {
            assert_eq!(check_topic_writable(&topic(1, 1, perm)).is_ok(), writable, "{perm}");
            assert_eq!(check_broker_writable(perm, "b").is_ok(), writable, "{perm}");
        }
        refused(
            check_broker_writable(4, "broker-a"),
            response::NO_PERMISSION,
            &["broker-a", "brokerPermission is 4"],
        );
        refused(check_topic_writable(&topic(1, 1, 4)), response::NO_PERMISSION, &["topic[T]", "perm is 4"]);
        for topic in ["SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"] {
            refused(check_open(topic), response::NO_PERMISSION, &[topic]);
        }
        assert_eq!(check_open("TBW102"), Ok(()));
    }

    #[test]
    fn sizes() {
        assert_eq!(check_body(1, 100), Ok(()));
        assert_eq!(check_body(100, 100), Ok(()));
        refused(check_body(0, 100), response::MESSAGE_ILLEGAL, &["empty"]);
        refused(check_body(101, 100), response::MESSAGE_ILLEGAL, &["101", "100", "maxMessageSize"]);
        assert_eq!(check_properties(32_767, 0), Ok(()));
        refused(check_properties(32_768, 0), response::MESSAGE_ILLEGAL, &["32768", "32767"]);
        refused(check_properties(32_770, 60), response::MESSAGE_ILLEGAL, &["32710", "adds 60", "32767"]);
    }

    #[test]
    fn batches() {
        let mut body = Vec::new();
        assert!(batch::push(&mut body, 0, b"a", b"k\x01v") && batch::push(&mut body, 0, b"b", b""));
        assert_eq!(check_batch(&body), Ok(()));
        for cut in 1..body.len() {
            // Between two messages is the one place where a batch may end.
            assert_eq!(check_batch(&body[..cut]).is_ok(), cut == batch::ITEM_FIXED_BYTES + 4, "cut at {cut}");
        }
        let forged = b"INNER_MULTI_QUEUE_OFFSET\x017\x02";
        let mut with_offset = body.clone();
        assert!(batch::push(&mut with_offset, 0, b"c", forged));
        refused(
            check_batch(&with_offset),
            response::MESSAGE_ILLEGAL,
            &["message 2", "INNER_MULTI_QUEUE_OFFSET"],
        );
        assert!(batch::push(&mut body, 0, b"", b""));
        refused(check_batch(&body), response::MESSAGE_ILLEGAL, &["message 2", "empty"]);
    }

    #[test]
    fn flags() {
        assert_eq!(check_sys_flag(0x303), Ok(()));
        refused(check_sys_flag(0x80), response::MESSAGE_ILLEGAL, &["0x80"]);
    }
}
