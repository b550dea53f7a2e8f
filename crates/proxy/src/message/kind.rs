//! What kind a message is: its properties say so, whatever the sender called it.

use crate::schema::MessageType;
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
