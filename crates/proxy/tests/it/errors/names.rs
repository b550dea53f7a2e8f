//! Names of topics and groups that nobody may use, in every call that has one; and names of what isn't there.

use super::requests::*;
use super::{Call, End, check};
use crate::client::Peer;
use crate::node::Node;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

/// Every call that names a topic.
fn with_topic(topic: &str) -> Vec<(&'static str, Call)> {
    vec![
        ("QueryRoute", route(topic).into()),
        ("QueryAssignment", assignment(topic, "G").into()),
        ("SendMessage", send(topic).into()),
        ("ReceiveMessage", receive(topic, "G").into()),
        ("AckMessage", ack(topic, "G", &[&handle()]).into()),
        ("ChangeInvisibleDuration", change(topic, "G", &handle()).into()),
        ("ForwardMessageToDeadLetterQueue", bury(topic, "G", &handle()).into()),
        ("EndTransaction", end(topic, "id").into()),
        ("RecallMessage", recall(topic, "handle").into()),
        ("SyncLiteSubscription", subscribe_lite(topic, "G", &["l"]).into()),
        ("PullMessage", pull(topic, "G").into()),
        ("UpdateOffset", update_offset(topic, "G").into()),
        ("GetOffset", get_offset(topic, "G").into()),
        ("QueryOffset", query_offset(topic).into()),
        ("Telemetry of a producer", producer(topic).into()),
        ("Telemetry of a consumer", consumer(ClientType::PushConsumer, topic, "G").into()),
    ]
}

/// Every call that names a group.
fn with_group(group: &str) -> Vec<(&'static str, Call)> {
    vec![
        ("QueryAssignment", assignment("T", group).into()),
        ("ReceiveMessage", receive("T", group).into()),
        ("AckMessage", ack("T", group, &[&handle()]).into()),
        ("ChangeInvisibleDuration", change("T", group, &handle()).into()),
        ("ForwardMessageToDeadLetterQueue", bury("T", group, &handle()).into()),
        ("Heartbeat", heartbeat(group).into()),
        ("NotifyClientTermination", terminate(group).into()),
        ("SyncLiteSubscription", subscribe_lite("T", group, &["l"]).into()),
        ("PullMessage", pull("T", group).into()),
        ("UpdateOffset", update_offset("T", group).into()),
        ("GetOffset", get_offset("T", group).into()),
        ("Telemetry", consumer(ClientType::PushConsumer, "T", group).into()),
    ]
}

/// A stream fails in the terms of gRPC.
fn end_of(call: &Call, code: Code) -> End {
    match call {
        Call::Settings(_) => tonic::Code::InvalidArgument.into(),
        _ => code.into(),
    }
}

async fn consumer_client(node: &Node) -> Peer {
    let mut client = node.client("c").await;
    let good = consumer(ClientType::PushConsumer, "T", "G");
    check(&mut client, "good settings", good, Code::Ok, &[]).await;
    client
}

#[tokio::test]
async fn of_topics() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = consumer_client(&node).await;
    let long = "t".repeat(128);
    for (name, texts) in [
        ("", &[][..]),
        (" ", &[]),
        (&long, &["128", "127"]),
        ("a b", &["'a b'"]),
        ("a/b", &["'a/b'"]),
        ("🚀", &["🚀"]),
        ("TBW102", &["'TBW102'"]),
        ("SCHEDULE_TOPIC_XXXX", &["SCHEDULE_TOPIC_XXXX"]),
        ("rmq_sys_wheel_timer", &["rmq_sys_wheel_timer"]),
    ] {
        for (call, request) in with_topic(name) {
            let end = end_of(&request, Code::IllegalTopic);
            check(&mut client, &format!("{call} of {name:?}"), request, end, texts).await;
        }
    }
    node.stop().await;
}

#[tokio::test]
async fn of_groups() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = consumer_client(&node).await;
    let long = "g".repeat(121);
    for (name, texts) in [
        ("", &[][..]),
        ("  ", &[]),
        (&long, &["121", "120"]),
        ("a b", &["'a b'"]),
        ("g🚀", &["🚀"]),
        ("CID_RMQ_SYS_x", &["'CID_RMQ_SYS_x'"]),
    ] {
        for (call, request) in with_group(name) {
            // Who has said that it leaves is unknown, even if it said it wrongly.
            if matches!(request, Call::HeartbeatRequest(_)) {
                check(&mut client, call, consumer(ClientType::PushConsumer, "T", "G"), Code::Ok, &[]).await;
            }
            let end = end_of(&request, Code::IllegalConsumerGroup);
            check(&mut client, &format!("{call} of {name:?}"), request, end, texts).await;
        }
    }
    node.stop().await;
}

/// Topics come first, whatever else is wrong.
#[tokio::test]
async fn of_both() {
    let node = Node::start().await;
    let mut client = node.client("c").await;
    for (call, request) in [
        ("QueryAssignment", Call::from(assignment("", ""))),
        ("ReceiveMessage", receive("", "").into()),
        ("AckMessage", ack("", "", &[]).into()),
        ("ChangeInvisibleDuration", change("", "", "").into()),
        ("SyncLiteSubscription", subscribe_lite("", "", &[]).into()),
    ] {
        check(&mut client, call, request, Code::IllegalTopic, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn of_topics_that_are_not_there() {
    let node = Node::start().await;
    let mut client = node.client("c").await;
    let client = &mut client;
    let not_found = Code::TopicNotFound;
    check(client, "QueryRoute", route("Nowhere"), not_found, &["Nowhere"]).await;
    check(client, "QueryAssignment", assignment("Nowhere", "G"), not_found, &["Nowhere"]).await;
    // Unlike the Java server, which finds that its type is no type.
    check(client, "SendMessage", send("Nowhere"), not_found, &["Nowhere"]).await;
    check(client, "RecallMessage", recall("Nowhere", "h"), not_found, &["Nowhere"]).await;
    check(client, "a retry topic", send("%RETRY%Nobody"), not_found, &["%RETRY%Nobody"]).await;
    check(client, "ReceiveMessage", receive("Nowhere", "G"), not_found, &["Nowhere"]).await;
    let acked = ack("Nowhere", "G", &[&handle()]);
    check(client, "AckMessage", acked, Code::InternalServerError, &["Nowhere"]).await;
    let changed = change("Nowhere", "G", &handle());
    check(client, "ChangeInvisibleDuration", changed, Code::InternalServerError, &["Nowhere"]).await;
    // Nothing of it is made by asking.
    check(client, "QueryRoute", route("Nowhere"), not_found, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn of_groups_that_are_not_there() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let client = &mut client;
    check(client, "QueryAssignment", assignment("T", "New1"), Code::Ok, &[]).await;
    check(client, "ReceiveMessage", receive("T", "New2"), Code::MessageNotFound, &[]).await;
    check(client, "Telemetry", consumer(ClientType::SimpleConsumer, "T", "New3"), Code::Ok, &[]).await;
    check(client, "Heartbeat", heartbeat("New3"), Code::Ok, &[]).await;
    node.stop().await;

    let keys = [("autoCreateSubscriptionGroup", "false")];
    let node = Node::start_with(&keys, ProxyConfig { facts_kept_ms: 0, ..ProxyConfig::default() }).await;
    node.topic("T", "NORMAL").await;
    node.group(r#"{"groupName":"Kept"}"#).await;
    let mut client = node.client("c").await;
    let client = &mut client;
    let missing = ["Nobody"];
    check(client, "QueryAssignment", assignment("T", "Nobody"), Code::Ok, &[]).await;
    check(client, "ReceiveMessage", receive("T", "Nobody"), Code::ConsumerGroupNotFound, &missing).await;
    // As with the Java server before one broker: a group that is gone has nothing to take back.
    check(client, "AckMessage", ack("T", "Nobody", &[&handle()]), Code::Ok, &[]).await;
    let settings = consumer(ClientType::SimpleConsumer, "T", "Nobody");
    check(client, "Telemetry", settings, tonic::Code::InvalidArgument, &missing).await;
    check(client, "Telemetry", consumer(ClientType::SimpleConsumer, "T", "Kept"), Code::Ok, &[]).await;
    node.delete_group("Kept").await;
    check(client, "Heartbeat", heartbeat("Kept"), Code::IllegalConsumerGroup, &["Kept"]).await;
    node.stop().await;
}
