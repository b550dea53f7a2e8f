//! Messages by key, by unique key and by id.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

fn query(topic: &str, key: &str) -> Command {
    Command::request(request::QUERY_MESSAGE)
        .with("topic", topic)
        .with("key", key)
        .with("maxNum", 64)
        .with("beginTimestamp", 0)
        .with("endTimestamp", i64::MAX)
}

async fn texts(node: &Node, request: Command) -> Vec<String> {
    let answer = node.call(request).await;
    if answer.code == response::QUERY_NOT_FOUND {
        assert!(answer.body.is_empty() && answer.field("indexLastUpdatePhyoffset").is_some());
        return Vec::new();
    }
    assert_code(&answer, response::SUCCESS, &[]);
    messages(&answer).iter().map(|message| message.text().to_owned()).collect()
}

#[tokio::test]
async fn messages_are_found_as_soon_as_they_are_stored() {
    let node = Node::start().await;
    for n in 0..100 {
        let (unique, keys) = (format!("U{n}"), format!("k{n} all"));
        let pairs = [("UNIQ_KEY", unique.as_str()), ("KEYS", &keys), ("TAGS", "TagA")];
        assert_code(&node.call(send_to("T", n % 4, &pairs, n.to_string())).await, 0, &[]);
        assert_eq!(texts(&node, query("T", &unique)).await, [n.to_string()]);
        assert_eq!(texts(&node, query("T", &format!("k{n}"))).await, [n.to_string()]);
    }
    let all = texts(&node, query("T", "all")).await;
    assert_eq!(all, (36..100).map(|n| n.to_string()).collect::<Vec<_>>(), "the newest 64, in order");
    assert_eq!(texts(&node, change(query("T", "all"), "maxNum", 2)).await, ["98", "99"]);
    let tagged = texts(&node, query("T", "TagA").with("indexType", "T")).await;
    assert_eq!(tagged.len(), 64);
    assert!(texts(&node, query("T", "k1 all")).await.is_empty());
    assert!(texts(&node, query("Other", "k1")).await.is_empty());
    let answer = node.call(change(query("T", "k1"), "maxNum", 0)).await;
    assert_code(&answer, response::INVALID_PARAMETER, &["maxNum[0]"]);
    node.stop().await;
}

/// Two keys with the same hash: a query once gave a message of the other key.
#[tokio::test]
async fn a_shared_hash_is_no_find() {
    let node = Node::start().await;
    for (topic, key) in [("AaTopic", "Aa"), ("BBTopic", "BB")] {
        assert_code(&node.call(send_to(topic, 0, &[("KEYS", key)], topic)).await, 0, &[]);
    }
    assert!(texts(&node, query("AaTopic", "BB")).await.is_empty());
    assert!(texts(&node, query("BBTopic", "Aa")).await.is_empty());
    assert_eq!(texts(&node, query("AaTopic", "Aa")).await, ["AaTopic"]);
    assert_eq!(texts(&node, query("BBTopic", "BB")).await, ["BBTopic"]);
    node.stop().await;
}

/// An open time range once found nothing.
#[tokio::test]
async fn time_ranges() {
    let node = Node::start().await;
    assert_code(&node.call(send_to("T", 0, &[("KEYS", "k")], "x")).await, 0, &[]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let now = now.as_millis() as i64;
    let between =
        |begin: i64, end: i64| change(change(query("T", "k"), "beginTimestamp", begin), "endTimestamp", end);
    for (begin, end, found) in [
        (0, now + 1, 1),
        (0, i64::MAX, 1),
        (now - 60_000, now + 60_000, 1),
        (now + 60_000, i64::MAX, 0),
        (0, now - 60_000, 0),
    ] {
        assert_eq!(texts(&node, between(begin, end)).await.len(), found, "{begin} to {end} at {now}");
    }
    node.stop().await;
}

/// A key named twice once gave its message twice; of two messages with one unique key only one was given.
#[tokio::test]
async fn each_message_once_and_every_one_of_a_unique_key() {
    let node = Node::start().await;
    assert_code(&node.call(send_to("T", 0, &[("KEYS", "k k j")], "twice")).await, 0, &[]);
    assert_eq!(texts(&node, query("T", "k")).await, ["twice"]);
    for queue_id in [0, 1] {
        let pairs = [("UNIQ_KEY", "7F01")];
        assert_code(&node.call(send_to("T", queue_id, &pairs, queue_id.to_string())).await, 0, &[]);
    }
    let unique = change(query("T", "7F01"), "maxNum", 0).with("_UNIQUE_KEY_QUERY", true);
    assert_eq!(texts(&node, unique).await, ["0", "1"]);
    node.stop().await;
}

#[tokio::test]
async fn a_message_by_its_place() {
    let node = Node::start().await;
    let answer = node.call(send("T", "here")).await;
    let id = answer.field("msgId").expect("an id").to_owned();
    let message = node.by_id(&id).await;
    assert_eq!(message.text(), "here");
    let view = |offset: i64| Command::request(request::VIEW_MESSAGE_BY_ID).with("offset", offset);
    for offset in [message.phy_offset + 1, 1_000_000, -1, i64::MIN, i64::MAX] {
        let words = ["can not find message by the offset", &offset.to_string()];
        assert_code(&node.call(view(offset)).await, response::SYSTEM_ERROR, &words);
    }
    node.stop().await;
}
