//! What goes with a topic or a group, and doesn't come back.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::Duration;

async fn offset(node: &Node, group: &str, topic: &str) -> i32 {
    let query = Command::request(request::QUERY_CONSUMER_OFFSET)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", 0)
        .with("setZeroIfNotFound", false);
    node.call(query).await.code
}

async fn has_topic(node: &Node, topic: &str) -> bool {
    node.call(Command::request(request::GET_TOPIC_CONFIG).with("topic", topic)).await.code
        == response::SUCCESS
}

/// A deleted group left its retry topics behind, and a new one of its name was given what the old one had failed on.
#[tokio::test]
async fn a_group_goes_with_its_retry_topics_and_leaves_those_of_others() {
    let node = Node::start().await;
    for topic in ["T", "%RETRY%g", "%RETRY%g_T", "%RETRY%g_x", "%RETRY%gg", "%DLQ%g"] {
        node.create_topic(topic, 1, 6).await;
    }
    for group in ["g", "g_x", "gg"] {
        node.put_group(group, 1, 16).await;
        assert_code(&node.call(commit(group, "T", 0, 1)).await, 0, &[]);
    }
    let keep = Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "gg");
    assert_code(&node.call(keep).await, 0, &[]);
    let clean =
        Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "g").with("cleanOffset", true);
    assert_code(&node.call(clean).await, 0, &[]);
    let node = node.restart().await;
    for (topic, stays) in [
        ("%RETRY%g", false),
        ("%RETRY%g_T", false),
        ("%RETRY%g_x", true),
        ("%RETRY%gg", true),
        ("%DLQ%g", true),
    ] {
        assert_eq!(has_topic(&node, topic).await, stays, "{topic}");
    }
    assert_eq!(offset(&node, "g", "T").await, response::QUERY_NOT_FOUND);
    assert_eq!(offset(&node, "g_x", "T").await, response::SUCCESS);
    assert_eq!(offset(&node, "gg", "T").await, response::SUCCESS);
    node.stop().await;
}

/// The retry topic of the group `g_T` has the name that POP's retry topic of `g` for `T` would have.
#[tokio::test]
async fn a_topic_doesnt_take_another_groups_retry_topic_with_it() {
    let node = Node::start().await;
    for topic in ["T", "%RETRY%g_T"] {
        node.create_topic(topic, 1, 6).await;
    }
    for group in ["g", "g_T"] {
        node.put_group(group, 1, 16).await;
    }
    assert_code(&node.call(commit("g", "T", 0, 1)).await, 0, &[]);
    assert_code(
        &node.call(Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T")).await,
        0,
        &[],
    );
    assert!(has_topic(&node, "%RETRY%g_T").await);
    node.stop().await;
}

#[tokio::test]
async fn what_was_forbidden_for_a_topic_goes_with_it() {
    let node = Node::start().await;
    node.create_topic("T", 1, 6).await;
    node.put_group("g", 1, 16).await;
    let forbidden = |value: Option<&str>| {
        let request =
            Command::request(request::UPDATE_AND_GET_GROUP_FORBIDDEN).with("group", "g").with("topic", "T");
        request.with_some("readable", value)
    };
    assert_code(&node.call(forbidden(Some("false"))).await, 0, &[]);
    let said = String::from_utf8(node.call(forbidden(None)).await.body.to_vec()).unwrap();
    assert!(said.contains("\"readable\":false"), "{said}");
    assert_code(
        &node.call(Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T")).await,
        0,
        &[],
    );
    let node = node.restart().await;
    let said = String::from_utf8(node.call(forbidden(None)).await.body.to_vec()).unwrap();
    assert!(said.contains("\"readable\":true"), "{said}");
    node.stop().await;
}

#[tokio::test]
async fn a_topic_keeps_its_messages_for_a_time_of_its_own() {
    let clock = Arc::new(TestClock::at(Millis(1_800_000_000_000)));
    let node = Node::start_at(clock.clone(), &[]).await;
    for (topic, attributes) in [("Short", "+reserve.time=1"), ("T", "")] {
        node.create_topic(topic, 1, 6).await;
        let create = Command::request(request::UPDATE_AND_CREATE_TOPIC)
            .with("topic", topic)
            .with("defaultTopic", "TBW102")
            .with("readQueueNums", 1)
            .with("writeQueueNums", 1)
            .with("perm", 6)
            .with("topicFilterType", "SINGLE_TAG")
            .with("attributes", attributes);
        assert_code(&node.call(create).await, 0, &[]);
        assert_code(&node.call(send(topic, "old")).await, 0, &[]);
    }
    clock.advance(Duration::from_secs(3601));
    assert_code(&node.call(send("Short", "new")).await, 0, &[]);
    let node = node.restart().await;
    assert_code(&node.call(pull("g", "Short", 0, 0)).await, response::PULL_OFFSET_MOVED, &[]);
    let left = messages(&node.call(pull("g", "Short", 0, 1)).await);
    assert_eq!(left.iter().map(Message::text).collect::<Vec<_>>(), ["new"]);
    assert_eq!(node.all("T", 0).await.len(), 1);
    node.stop().await;
}
