//! Receives and pulls that get nothing.

use super::check;
use super::requests::*;
use crate::client::{Peer, resource};
use crate::node::Node;
use prost_types::Duration;
use roxmq_protocol::sys_flag::perm;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::Duration as Time;

fn with(change: impl FnOnce(&mut ReceiveMessageRequest)) -> ReceiveMessageRequest {
    let mut request = receive("T", "G");
    change(&mut request);
    request
}

async fn start() -> (Node, Peer) {
    let node = Node::start_with(&[("enablePropertyFilter", "true")], ProxyConfig::default()).await;
    node.topic("T", "NORMAL").await;
    let client = node.client("c").await;
    (node, client)
}

#[tokio::test]
async fn by_what_they_ask_for() {
    let (node, mut client) = start().await;
    let client = &mut client;
    check(client, "nothing there", receive("T", "G"), Code::MessageNotFound, &[]).await;
    check(client, "no group", with(|asked| asked.group = None), Code::IllegalConsumerGroup, &[]).await;
    check(client, "no queue", with(|asked| asked.message_queue = None), Code::IllegalTopic, &[]).await;
    // Unlike the Java server, which waits and has nothing.
    for count in [0, -1, i32::MIN] {
        let request = with(|asked| asked.batch_size = count);
        check(client, "a batch size", request, Code::BadRequest, &[&count.to_string()]).await;
    }
    let more = with(|asked| asked.batch_size = i32::MAX);
    check(client, "the largest", more, Code::MessageNotFound, &[]).await;

    let invisible = |time| with(|asked| asked.invisible_duration = time);
    let texts = ["10000", "43200000", "minInvisibleTimeMillsForRecv", "maxInvisibleTimeMills"];
    let half_day = 12 * 3600;
    for (time, code) in [
        (None, Code::IllegalInvisibleTime),
        (Some(Duration { seconds: 9, nanos: 999_999_999 }), Code::IllegalInvisibleTime),
        (Some(seconds(10)), Code::MessageNotFound),
        (Some(seconds(half_day)), Code::MessageNotFound),
        (Some(seconds(half_day + 1)), Code::IllegalInvisibleTime),
        (Some(seconds(-1)), Code::IllegalInvisibleTime),
        (Some(seconds(i64::MAX)), Code::IllegalInvisibleTime),
        (Some(Duration { seconds: i64::MIN, nanos: i32::MIN }), Code::IllegalInvisibleTime),
    ] {
        let texts = if code == Code::IllegalInvisibleTime { &texts[..] } else { &[] };
        check(client, &format!("{time:?}"), invisible(time), code, texts).await;
    }
    let renewed = with(|asked| {
        asked.auto_renew = true;
        asked.invisible_duration = None;
    });
    check(client, "renewed", renewed, Code::MessageNotFound, &[]).await;
    let nowhere = with(|asked| {
        asked.message_queue = Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() })
    });
    check(client, "no broker", nowhere, Code::MessageNotFound, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn by_their_filters() {
    let (node, mut client) = start().await;
    let client = &mut client;
    let filtered = |kind, text: &str| with(|asked| asked.filter_expression = filter(kind, text));
    for (kind, text, code) in [
        (FilterType::Tag, "", Code::MessageNotFound),
        (FilterType::Tag, "*", Code::MessageNotFound),
        (FilterType::Unspecified, "a || b", Code::MessageNotFound),
        (FilterType::Tag, "||", Code::IllegalFilterExpression),
        (FilterType::Tag, "||||", Code::IllegalFilterExpression),
        (FilterType::Sql, "a > 5", Code::MessageNotFound),
        (FilterType::Sql, "", Code::IllegalFilterExpression),
        (FilterType::Sql, "  ", Code::IllegalFilterExpression),
        (FilterType::Sql, "a >", Code::InternalServerError),
    ] {
        check(client, &format!("{kind:?} {text:?}"), filtered(kind, text), code, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn by_their_deadlines() {
    let (node, mut client) = start().await;
    let polling = |ms: i32| {
        with(|asked| asked.long_polling_timeout = Some(Duration { seconds: 0, nanos: ms * 1_000_000 }))
    };
    let long = || with(|asked| asked.long_polling_timeout = Some(seconds(20)));
    for (version, code) in [
        (Some("5.0.3"), Code::IllegalPollingTime),
        (Some("5.2.1"), Code::IllegalPollingTime),
        (Some("5.0.2"), Code::BadRequest),
        (Some(""), Code::BadRequest),
        (None, Code::BadRequest),
    ] {
        client.version = version;
        client.timeout = Some(Time::from_secs(4));
        check(&mut client, "a short deadline", long(), code, &["20000"]).await;
        client.timeout = Some(Time::from_secs(6));
        check(&mut client, "time enough", polling(1), Code::MessageNotFound, &[]).await;
        // Unlike the Java server, which has a shortest time to wait.
        client.timeout = Some(Time::from_secs(2));
        check(&mut client, "both short", polling(1), Code::MessageNotFound, &[]).await;
        // Unlike the Java server, which fails inside.
        client.timeout = None;
        check(&mut client, "no deadline", polling(1), Code::MessageNotFound, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn by_the_permissions_of_their_topic() {
    let (node, mut client) = start().await;
    node.topic_with("W", 4, 4, perm::WRITE).await;
    node.topic_with("N", 0, 4, perm::READ | perm::WRITE).await;
    for topic in ["W", "N"] {
        check(&mut client, topic, receive(topic, "G"), Code::Forbidden, &[topic]).await;
        check(&mut client, topic, assignment(topic, "G"), Code::Forbidden, &[topic]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn by_how_many_wait() {
    let keys = [("maxPopPollingSize", "1")];
    let node = Node::start_with(&keys, ProxyConfig::default()).await;
    node.topic("T", "NORMAL").await;
    let (mut first, mut second) = (node.client("c").await, node.client("d").await);
    let waiting = tokio::spawn(async move {
        let long = with(|asked| asked.long_polling_timeout = Some(seconds(20)));
        first.receive(long).await
    });
    node.until(|broker| broker.waiting_pops() == 1).await;
    let request = with(|asked| asked.long_polling_timeout = Some(seconds(20)));
    check(&mut second, "one more", request, Code::TooManyRequests, &["maxPopPollingSize"]).await;
    waiting.abort();
    node.stop().await;
}

#[tokio::test]
async fn pulls_by_what_they_ask_for() {
    let (node, mut client) = start().await;
    let client = &mut client;
    check(client, "nothing there", pull("T", "G"), Code::MessageNotFound, &[]).await;
    let negative = PullMessageRequest { offset: -1, ..pull("T", "G") };
    check(client, "a negative offset", negative, Code::IllegalOffset, &["-1"]).await;
    let beyond = PullMessageRequest { offset: 9, ..pull("T", "G") };
    check(client, "an offset beyond", beyond, Code::IllegalOffset, &[]).await;
    let negative = UpdateOffsetRequest { offset: -5, ..update_offset("T", "G") };
    check(client, "a negative offset to keep", negative, Code::IllegalOffset, &["-5"]).await;
    check(client, "no offset", get_offset("T", "G"), Code::OffsetNotFound, &["G", "T"]).await;
    let untimed =
        QueryOffsetRequest { query_offset_policy: QueryOffsetPolicy::Timestamp.into(), ..query_offset("T") };
    check(client, "no time", untimed, Code::BadRequest, &["timestamp"]).await;
    let elsewhere = |queue: &mut Option<MessageQueue>| {
        let broker = Broker { name: "elsewhere".to_owned(), ..Broker::default() };
        queue.as_mut().expect("it has one").broker = Some(broker);
    };
    let mut request = pull("T", "G");
    elsewhere(&mut request.message_queue);
    check(client, "an unknown broker", request, Code::BadRequest, &["'elsewhere'"]).await;
    let mut request = query_offset("T");
    elsewhere(&mut request.message_queue);
    check(client, "an unknown broker", request, Code::BadRequest, &["'elsewhere'"]).await;
    let missing = pull("Nowhere", "G");
    check(client, "no topic", missing, Code::TopicNotFound, &["Nowhere"]).await;
    node.stop().await;
}
