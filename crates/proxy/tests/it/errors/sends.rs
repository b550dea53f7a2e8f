//! Messages that can't be sent.

use super::requests::send;
use super::{End, check};
use crate::client::{Peer, message, resource};
use crate::node::Node;
use prost_types::{Duration, Timestamp};
use roxmq_protocol::sys_flag::perm;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::{SystemTime, UNIX_EPOCH};

fn with(topic: &str, change: impl FnOnce(&mut SystemProperties)) -> SendMessageRequest {
    let mut request = send(topic);
    change(request.messages[0].system_properties.as_mut().expect("it has an id"));
    request
}

fn property(key: &str, value: &str) -> SendMessageRequest {
    let mut request = send("T");
    request.messages[0].user_properties.insert(key.to_owned(), value.to_owned());
    request
}

fn in_ms(ms: i64) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64;
    let at = now + ms;
    Timestamp { seconds: at / 1000, nanos: (at % 1000) as i32 * 1_000_000 }
}

async fn start() -> (Node, Peer) {
    let node = Node::start().await;
    for (topic, kind) in
        [("T", "NORMAL"), ("F", "FIFO"), ("D", "DELAY"), ("X", "TRANSACTION"), ("M", "MIXED"), ("L", "LITE")]
    {
        node.topic(topic, kind).await;
    }
    let client = node.client("c").await;
    (node, client)
}

#[tokio::test]
async fn by_their_number_and_bodies() {
    let (node, mut client) = start().await;
    let client = &mut client;
    let none = SendMessageRequest { messages: vec![] };
    check(client, "no message", none, Code::MessageCorrupted, &[]).await;
    let mixed = SendMessageRequest { messages: vec![message("T", "1", "x"), message("M", "2", "x")] };
    check(client, "two topics", mixed, Code::MessageCorrupted, &[]).await;
    let mut namespaces =
        SendMessageRequest { messages: vec![message("T", "1", "x"), message("T", "2", "x")] };
    namespaces.messages[1].topic = Some(Resource { resource_namespace: "ns".to_owned(), ..resource("T") });
    check(client, "two namespaces", namespaces, Code::MessageCorrupted, &[]).await;
    let mut nowhere = send("T");
    nowhere.messages[0].topic = None;
    check(client, "no topic", nowhere, Code::IllegalTopic, &[]).await;

    let body = |body: &str| SendMessageRequest { messages: vec![message("T", "1", body)] };
    check(client, "no body", body(""), Code::MessageBodyEmpty, &["enableMessageBodyEmptyCheck"]).await;
    let limit = 4 * 1024 * 1024;
    check(client, "the largest body", body(&"x".repeat(limit)), Code::Ok, &[]).await;
    let texts = ["4194305", "4194304", "maxMessageSize"];
    check(client, "a larger one", body(&"x".repeat(limit + 1)), Code::MessageBodyTooLarge, &texts).await;
    let mut second = body("x");
    second.messages.push(message("T", "2", ""));
    check(client, "the second has no body", second, Code::MessageBodyEmpty, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn by_their_properties() {
    let (node, mut client) = start().await;
    let client = &mut client;
    let many = |count: usize| {
        let mut request = send("T");
        request.messages[0].user_properties =
            (0..count).map(|key| (format!("k{key}"), "v".to_owned())).collect();
        request
    };
    let too_large = Code::MessagePropertiesTooLarge;
    check(client, "128 properties", many(128), Code::Ok, &[]).await;
    check(client, "129 properties", many(129), too_large, &["129", "128", "userPropertyMaxNum"]).await;
    check(client, "16 KiB", property("k", &"v".repeat(16_383)), Code::Ok, &[]).await;
    let texts = ["16385", "16384", "maxUserPropertySize"];
    check(client, "a byte more", property("k", &"v".repeat(16_384)), too_large, &texts).await;
    let mut tagged = property("k", &"v".repeat(16_380));
    if let Some(system) = &mut tagged.messages[0].system_properties {
        system.tag = Some("tag".to_owned());
        system.keys = vec!["k".to_owned()];
    }
    check(client, "with tag and keys", tagged, too_large, &texts).await;

    let key = Code::IllegalMessagePropertyKey;
    for reserved in ["UNIQ_KEY", "TAGS", "KEYS", "DELAY", "TIMER_DELIVER_MS", "PGROUP", "__LITE_TOPIC"] {
        check(client, reserved, property(reserved, "v"), key, &[reserved]).await;
    }
    check(client, "a control character", property("a\u{1}b", "v"), key, &["a\\u{1}b"]).await;
    check(client, "one in the value", property("k", "a\u{2}b"), key, &["\"k\""]).await;
    check(client, "one of the second set", property("k", "\u{85}"), key, &["\"k\""]).await;
    node.stop().await;
}

#[tokio::test]
async fn by_what_the_system_knows_of_them() {
    let (node, mut client) = start().await;
    let client = &mut client;
    let mut refuse = async |what: &str, request: SendMessageRequest, code: Code, texts: &[&str]| {
        check(client, what, request, End::from(code), texts).await;
    };
    let tag = |tag: &str| with("T", |system| system.tag = Some(tag.to_owned()));
    refuse("a blank tag", tag("  "), Code::IllegalMessageTag, &[]).await;
    refuse("two tags", tag("a|b"), Code::IllegalMessageTag, &["a|b"]).await;
    refuse("a control character in the tag", tag("a\n"), Code::IllegalMessageTag, &["a\\n"]).await;
    let key = |key: &str| with("T", |system| system.keys = vec!["good".to_owned(), key.to_owned()]);
    refuse("a blank key", key(" "), Code::IllegalMessageKey, &[]).await;
    refuse("a control character in a key", key("a\t"), Code::IllegalMessageKey, &["a\\t"]).await;
    refuse("no id", with("T", |system| system.message_id.clear()), Code::IllegalMessageId, &[]).await;
    refuse("a blank id", with("T", |system| system.message_id = " ".to_owned()), Code::IllegalMessageId, &[])
        .await;
    let mut nothing = send("T");
    nothing.messages[0].system_properties = None;
    refuse("no system properties", nothing, Code::IllegalMessageId, &[]).await;
    let recovery = |seconds| {
        with("X", |system| {
            system.set_message_type(MessageType::Transaction);
            system.orphaned_transaction_recovery_duration = Some(Duration { seconds, nanos: 0 });
        })
    };
    refuse("an hour", recovery(3600), Code::Ok, &[]).await;
    let texts = ["3601", "3600", "maxTransactionRecoverySecond"];
    refuse("more than an hour", recovery(3601), Code::BadRequest, &texts).await;
    let due = |ms| with("D", |system| system.delivery_timestamp = Some(in_ms(ms)));
    refuse("in a day", due(86_400_000), Code::Ok, &[]).await;
    refuse("after it", due(86_460_000), Code::IllegalDeliveryTime, &["86400000", "maxDelayTimeMills"]).await;
    refuse("in the past", due(-1_000), Code::Ok, &[]).await;
    // Unlike the Java server, which fails inside.
    let priority = with("T", |system| system.priority = Some(-1));
    refuse("a negative priority", priority, Code::BadRequest, &["-1"]).await;
    let group = |group: &str| with("F", |system| system.message_group = Some(group.to_owned()));
    refuse("a blank group", group(" "), Code::IllegalMessageGroup, &[]).await;
    refuse("63 bytes", group(&"g".repeat(63)), Code::Ok, &[]).await;
    let texts = ["64", "maxMessageGroupSize"];
    refuse("64 bytes", group(&"g".repeat(64)), Code::IllegalMessageGroup, &texts).await;
    refuse("64 bytes of 32 characters", group(&"ü".repeat(32)), Code::IllegalMessageGroup, &texts).await;
    refuse("a control character in a group", group("a\r"), Code::IllegalMessageGroup, &["a\\r"]).await;
    let lite = |name: &str| with("L", |system| system.lite_topic = Some(name.to_owned()));
    refuse("64 bytes", lite(&"l".repeat(64)), Code::Ok, &[]).await;
    let texts = ["65", "64", "maxLiteTopicSize"];
    refuse("65 bytes", lite(&"l".repeat(65)), Code::IllegalLiteTopic, &texts).await;
    refuse("a blank", lite(" "), Code::IllegalLiteTopic, &["\" \""]).await;
    refuse("a dot", lite("a.b"), Code::IllegalLiteTopic, &["a.b"]).await;
    node.stop().await;
}

#[tokio::test]
async fn by_the_type_of_their_topic() {
    let (node, mut client) = start().await;
    let client = &mut client;
    let conflict = Code::MessagePropertyConflictWithType;
    let plain = |topic: &str| with(topic, |_| {});
    let group = |topic: &str| with(topic, |system| system.message_group = Some("g".to_owned()));
    let delay = |topic: &str| with(topic, |system| system.delivery_timestamp = Some(in_ms(1_000)));
    let half = |topic: &str| with(topic, |system| system.set_message_type(MessageType::Transaction));
    let lite = |topic: &str| with(topic, |system| system.lite_topic = Some("l".to_owned()));
    for (topic, request, end, texts) in [
        ("T", plain("T"), Code::Ok, &[][..]),
        ("T", group("T"), conflict, &["topic T", "NORMAL", "FIFO"]),
        ("T", delay("T"), conflict, &["NORMAL", "DELAY"]),
        ("T", half("T"), conflict, &["NORMAL", "TRANSACTION"]),
        ("T", lite("T"), conflict, &["NORMAL", "LITE"]),
        ("F", plain("F"), conflict, &["FIFO", "NORMAL"]),
        ("D", plain("D"), conflict, &["DELAY", "NORMAL"]),
        ("X", plain("X"), conflict, &["TRANSACTION", "NORMAL"]),
        ("L", plain("L"), conflict, &["LITE", "NORMAL"]),
        ("M", group("M"), Code::Ok, &[]),
        ("M", delay("M"), Code::Ok, &[]),
        ("M", half("M"), Code::Ok, &[]),
        ("M", lite("M"), conflict, &["LITE"]),
    ] {
        check(client, topic, request, end, texts).await;
    }
    // What a message is, its properties say.
    let called = with("T", |system| system.set_message_type(MessageType::Fifo));
    check(client, "only called FIFO", called, Code::Ok, &[]).await;
    let called = with("F", |system| system.set_message_type(MessageType::Fifo));
    check(client, "without a group", called, conflict, &[]).await;

    // Unlike the Java server, which forgets one of the two.
    let mut both = half("M");
    both.messages[0].system_properties.as_mut().expect("it has some").delivery_timestamp = Some(in_ms(1_000));
    check(client, "a transaction with a time", both, conflict, &["transaction", "time"]).await;
    let mut both = group("M");
    both.messages[0].system_properties.as_mut().expect("it has some").delivery_timestamp = Some(in_ms(1_000));
    check(client, "a group with a time", both, conflict, &["group", "time"]).await;

    for (what, request) in [("DELAY", delay("M")), ("TRANSACTION", half("M"))] {
        let mut batch = plain("M");
        batch.messages.extend(request.messages);
        check(client, what, batch, Code::InternalServerError, &["batch", what]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn by_the_permissions_of_their_topic() {
    let node = Node::start_with(&[], ProxyConfig::default()).await;
    node.topic_with("R", 4, 4, perm::READ).await;
    node.topic_with("N", 4, 0, perm::READ | perm::WRITE).await;
    let mut client = node.client("c").await;
    for topic in ["R", "N"] {
        check(&mut client, topic, send(topic), Code::Forbidden, &[topic]).await;
    }
    node.stop().await;
}
