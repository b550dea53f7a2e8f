//! The codes for messages that may not be sent.

use super::*;
use crate::wire_time::{duration, timestamp};
use bytes::Bytes;

const NOW_MS: i64 = 1_795_987_636_606;
const DAY_MS: i64 = 86_400_000;

fn good() -> Message {
    let system = SystemProperties { message_id: "01AB".to_owned(), ..SystemProperties::default() };
    Message { body: Bytes::from_static(b"x"), system_properties: Some(system), ..Message::default() }
}

/// The code for a good message that was changed so.
fn check_with(change: impl FnOnce(&mut Message, &mut SystemProperties), expected: Code, what: &str) {
    let mut message = good();
    let mut system = message.system_properties.take().expect("a good message has them");
    change(&mut message, &mut system);
    message.system_properties = Some(system);
    let code =
        check(&message, &ProxyConfig::default(), NOW_MS).map_or_else(|refusal| refusal.code, |()| Code::Ok);
    assert_eq!(code, expected, "{what}");
}

#[test]
fn bodies() {
    let body = |bytes: usize, expected| {
        check_with(
            |message, _| message.body = Bytes::from(vec![7; bytes]),
            expected,
            &format!("{bytes} bytes"),
        );
    };
    body(0, Code::MessageBodyEmpty);
    body(1, Code::Ok);
    body(4 * 1024 * 1024, Code::Ok);
    body(4 * 1024 * 1024 + 1, Code::MessageBodyTooLarge);
}

#[test]
fn own_properties() {
    let property = |key: &str, value: &str, expected| {
        check_with(
            |message, _| drop(message.user_properties.insert(key.to_owned(), value.to_owned())),
            expected,
            &format!("{key:?}={value:?}"),
        );
    };
    property("color", "blue", Code::Ok);
    property("color", "", Code::Ok);
    property("UNIQ_KEY", "x", Code::IllegalMessagePropertyKey);
    property("__LITE_TOPIC", "x", Code::IllegalMessagePropertyKey);
    property("__SHARDINGKEY", "x", Code::Ok);
    property("a\u{1}b", "x", Code::IllegalMessagePropertyKey);
    property("a", "x\u{9f}", Code::IllegalMessagePropertyKey);
    property("a", &"v".repeat(16_383), Code::Ok);
    property("a", &"v".repeat(16_384), Code::MessagePropertiesTooLarge);
    let many = |count: usize, expected| {
        check_with(
            |message, _| {
                message.user_properties = (0..count).map(|n| (n.to_string(), String::new())).collect()
            },
            expected,
            &format!("{count} properties"),
        );
    };
    many(128, Code::Ok);
    many(129, Code::MessagePropertiesTooLarge);
}

#[test]
fn tags_keys_and_ids() {
    let tag = |tag: &str, expected| check_with(|_, system| system.tag = Some(tag.to_owned()), expected, tag);
    tag("TagA", Code::Ok);
    tag("", Code::Ok);
    tag("  ", Code::IllegalMessageTag);
    tag("a|b", Code::IllegalMessageTag);
    tag("a\n", Code::IllegalMessageTag);
    let key = |key: &str, expected| {
        check_with(|_, system| system.keys = vec!["fine".to_owned(), key.to_owned()], expected, key);
    };
    key("k1", Code::Ok);
    key("", Code::Ok);
    key(" ", Code::IllegalMessageKey);
    key("a\tb", Code::IllegalMessageKey);
    check_with(
        |_, system| system.keys = vec!["k".repeat(16_385)],
        Code::MessagePropertiesTooLarge,
        "long keys",
    );
    let id = |id: &str, expected| check_with(|_, system| system.message_id = id.to_owned(), expected, id);
    id("", Code::IllegalMessageId);
    id(" ", Code::IllegalMessageId);
    id("anything else", Code::Ok);
    check_with(|message, _| message.system_properties = None, Code::Ok, "put back by the test");
    let without = Message { system_properties: None, ..good() };
    let refusal = check(&without, &ProxyConfig::default(), NOW_MS).expect_err("no id");
    assert_eq!(refusal.code, Code::IllegalMessageId);
}

#[test]
fn times() {
    let recovery = |seconds: i64, message_type: MessageType, expected| {
        check_with(
            |_, system| {
                system.set_message_type(message_type);
                system.orphaned_transaction_recovery_duration = Some(duration(seconds * 1000));
            },
            expected,
            &format!("recovery after {seconds} s"),
        );
    };
    recovery(3600, MessageType::Transaction, Code::Ok);
    recovery(3601, MessageType::Transaction, Code::BadRequest);
    recovery(3601, MessageType::Normal, Code::Ok);
    let due = |ms: i64, expected| {
        check_with(
            |_, system| system.delivery_timestamp = Some(timestamp(NOW_MS + ms)),
            expected,
            &format!("due in {ms} ms"),
        );
    };
    due(DAY_MS, Code::Ok);
    due(DAY_MS + 1, Code::IllegalDeliveryTime);
    due(-5_000, Code::Ok);
    check_with(
        |_, system| system.delivery_timestamp = Some(prost_types::Timestamp { seconds: i64::MAX, nanos: 0 }),
        Code::IllegalDeliveryTime,
        "due at the end of time",
    );
}

#[test]
fn groups_priorities_and_lite_topics() {
    let group = |group: &str, expected| {
        check_with(|_, system| system.message_group = Some(group.to_owned()), expected, group)
    };
    group("g", Code::Ok);
    group("", Code::Ok);
    group(" ", Code::IllegalMessageGroup);
    group("a\u{7f}", Code::IllegalMessageGroup);
    group(&"g".repeat(63), Code::Ok);
    group(&"g".repeat(64), Code::IllegalMessageGroup);
    check_with(|_, system| system.priority = Some(-1), Code::BadRequest, "priority -1");
    check_with(|_, system| system.priority = Some(0), Code::Ok, "priority 0");
    let lite = |lite: &str, expected| {
        check_with(|_, system| system.lite_topic = Some(lite.to_owned()), expected, lite)
    };
    lite("l_1-A", Code::Ok);
    lite("", Code::Ok);
    lite("a b", Code::IllegalLiteTopic);
    lite("a%b", Code::IllegalLiteTopic);
    lite(&"l".repeat(64), Code::Ok);
    lite(&"l".repeat(65), Code::IllegalLiteTopic);
}

/// A transaction with a delivery time was stored as one of the two.
#[test]
fn a_message_is_of_one_kind() {
    let conflict = Code::MessagePropertyConflictWithType;
    check_with(
        |_, system| {
            system.set_message_type(MessageType::Transaction);
            system.delivery_timestamp = Some(timestamp(NOW_MS));
        },
        conflict,
        "a transaction for later",
    );
    check_with(
        |_, system| {
            system.message_group = Some("g".to_owned());
            system.delivery_timestamp = Some(timestamp(NOW_MS));
        },
        conflict,
        "a group for later",
    );
}
