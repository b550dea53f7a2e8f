//! A client's message as a broker takes it: the properties, the flag, the time it was born.

use crate::schema::{Encoding, Message, MessageType, SystemProperties};
use crate::wire_time::{ms_of, ms_of_duration};
use roxmq_protocol::properties::{name, push, push_number};
use roxmq_protocol::sys_flag;

/// The properties of a message that has been checked. `producer_group` is who is asked for its transaction.
pub fn properties(message: &Message, system: &SystemProperties, producer_group: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    for (key, value) in &message.user_properties {
        push_some(&mut out, key, Some(value));
    }
    push_some(&mut out, name::TAGS, system.tag.as_deref());
    if !system.keys.is_empty() {
        push_some(&mut out, name::KEYS, Some(&system.keys.join(&name::KEY_SEPARATOR.to_string())));
    }
    push(&mut out, name::UNIQ_KEY, &system.message_id);
    if system.message_type() == MessageType::Transaction {
        push(&mut out, name::TRANSACTION_PREPARED, "true");
        if let Some(recovery) = &system.orphaned_transaction_recovery_duration {
            push_number(&mut out, name::CHECK_IMMUNITY_TIME_IN_SECONDS, ms_of_duration(recovery) / 1000);
        }
    }
    if let Some(time) = &system.delivery_timestamp {
        push_number(&mut out, name::TIMER_DELIVER_MS, ms_of(time));
    }
    if let Some(priority) = system.priority {
        push_number(&mut out, name::PRIORITY, priority.into());
    }
    push_number(&mut out, name::RECONSUME_TIME, system.delivery_attempt.unwrap_or_default().into());
    push(&mut out, name::PRODUCER_GROUP, producer_group);
    push_some(&mut out, name::SHARDING_KEY, system.message_group.as_deref());
    push_some(&mut out, name::LITE_TOPIC, system.lite_topic.as_deref());
    push_some(
        &mut out,
        name::TRACE_CONTEXT,
        system.trace_context.as_deref().filter(|trace| !has_separator(trace)),
    );
    push_some(&mut out, name::BORN_HOST, Some(system.born_host.as_str()).filter(|host| !has_separator(host)));
    if let Some(time) = &system.born_timestamp {
        push_number(&mut out, name::BORN_TIMESTAMP, ms_of(time));
    }
    out
}

/// Compression and transaction. A compressed body is passed on as it is.
pub fn flag(system: &SystemProperties) -> i32 {
    let compressed = if system.body_encoding() == Encoding::Gzip { sys_flag::COMPRESSED } else { 0 };
    let transaction = match system.message_type() {
        MessageType::Transaction => sys_flag::TRANSACTION_PREPARED,
        _ => sys_flag::TRANSACTION_NONE,
    };
    compressed | transaction
}

/// When the client says that the message was born, or else `now_ms`.
pub fn born_ms(system: &SystemProperties, now_ms: i64) -> i64 {
    system.born_timestamp.as_ref().map_or(now_ms, ms_of)
}

/// Nothing for an empty value: brokers pass those over.
fn push_some(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        push(out, name, value);
    }
}

/// Texts that nobody has checked might end their property early.
fn has_separator(text: &str) -> bool {
    text.contains(['\u{1}', '\u{2}'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_time::{duration, timestamp};
    use roxmq_protocol::properties::Properties;

    fn text_of(message: &Message) -> String {
        let system = message.system_properties.clone().unwrap_or_default();
        let raw = properties(message, &system, "T");
        let items: Vec<_> =
            Properties::new(&raw).iter().map(|(name, value)| format!("{name}={value}")).collect();
        items.join(";")
    }

    #[test]
    fn every_field_has_its_property() {
        let system = SystemProperties {
            tag: Some("TagA".to_owned()),
            keys: vec!["k1".to_owned(), "k2".to_owned()],
            message_id: "01AB".to_owned(),
            born_timestamp: Some(timestamp(1_234)),
            born_host: "host".to_owned(),
            delivery_timestamp: Some(timestamp(5_678)),
            message_group: Some("g".to_owned()),
            trace_context: Some("00-1".to_owned()),
            lite_topic: Some("lite".to_owned()),
            priority: Some(3),
            ..SystemProperties::default()
        };
        let message = Message {
            user_properties: [("color".to_owned(), "blue".to_owned()), ("none".to_owned(), String::new())]
                .into(),
            system_properties: Some(system),
            ..Message::default()
        };
        let expected = "color=blue;TAGS=TagA;KEYS=k1 k2;UNIQ_KEY=01AB;TIMER_DELIVER_MS=5678;_SYS_MSG_PRIORITY_=3;\
            RECONSUME_TIME=0;PGROUP=T;__SHARDINGKEY=g;__LITE_TOPIC=lite;TRACE_CONTEXT=00-1;__BORNHOST=host;\
            BORN_TIMESTAMP=1234";
        assert_eq!(text_of(&message), expected);
    }

    #[test]
    fn little_is_made_of_little() {
        let system = SystemProperties {
            message_id: "01AB".to_owned(),
            trace_context: Some("a\u{1}b\u{2}c".to_owned()),
            ..SystemProperties::default()
        };
        let message = Message { system_properties: Some(system.clone()), ..Message::default() };
        assert_eq!(text_of(&message), "UNIQ_KEY=01AB;RECONSUME_TIME=0;PGROUP=T");
        assert_eq!((flag(&system), born_ms(&system, 7)), (0, 7));
    }

    #[test]
    fn transactions_and_compressed_bodies_have_flags() {
        let mut system = SystemProperties { message_id: "1".to_owned(), ..SystemProperties::default() };
        system.set_message_type(MessageType::Transaction);
        system.set_body_encoding(Encoding::Gzip);
        system.orphaned_transaction_recovery_duration = Some(duration(90_500));
        assert_eq!(flag(&system), sys_flag::COMPRESSED | sys_flag::TRANSACTION_PREPARED);
        let message = Message { system_properties: Some(system), ..Message::default() };
        let expected = "UNIQ_KEY=1;TRAN_MSG=true;CHECK_IMMUNITY_TIME_IN_SECONDS=90;RECONSUME_TIME=0;PGROUP=T";
        assert_eq!(text_of(&message), expected);
    }
}
