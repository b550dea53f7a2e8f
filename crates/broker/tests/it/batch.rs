//! Batches (320): each message by itself, or none.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::collections::BTreeSet;

/// The messages of a batch once had one and the same id.
#[tokio::test]
async fn every_message_has_an_id_of_its_own() {
    let node = Node::start().await;
    let sent: Vec<_> = (0..10)
        .map(|n| {
            (["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"][n], properties(&[("KEYS", "k")]))
        })
        .collect();
    let answer = node.call(batch("T", &sent)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!(answer.field("transactionId"), None);
    let ids: Vec<_> = answer.field("msgId").expect("ids").split(',').collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 10);
    for (id, (text, _)) in ids.iter().zip(&sent) {
        assert_eq!(node.by_id(id).await.text(), *text);
    }
    node.stop().await;
}

/// Newer clients leave out the last separator; what the broker added then melted into the last value.
#[tokio::test]
async fn properties_stay_as_every_client_version_sends_them() {
    let node = Node::start().await;
    let closed = properties(&[("a", "1"), ("TAGS", "TagA")]);
    let open = closed.trim_end_matches('\u{2}').to_owned();
    let answer = node.call(batch("T", &[("closed", closed), ("open", open), ("none", String::new())])).await;
    assert_code(&answer, response::SUCCESS, &[]);
    let tagged = node.call(change(pull("g", "T", 0, 0), "subscription", "TagA")).await;
    let tagged = messages(&tagged);
    assert_eq!(tagged.iter().map(Message::text).collect::<Vec<_>>(), ["closed", "open"]);
    for message in tagged {
        assert_eq!((message.property("a"), message.property("TAGS")), (Some("1"), Some("TagA")));
        assert_eq!(message.property("CLUSTER"), None);
    }
    node.stop().await;
}

/// Two batches written at once were once given the same queue offsets.
#[tokio::test]
async fn batches_of_many_producers_stay_whole() {
    const PRODUCERS: usize = 8;
    const BATCHES: usize = 20;
    const MESSAGES: usize = 20;
    let node = std::sync::Arc::new(Node::start().await);
    let producers = (0..PRODUCERS).map(|producer| {
        let node = std::sync::Arc::clone(&node);
        tokio::spawn(async move {
            let connection = node.connect().await;
            for number in 0..BATCHES {
                let name = format!("{producer}-{number}");
                let sent: Vec<_> = (0..MESSAGES).map(|_| (name.as_str(), String::new())).collect();
                assert_code(&connection.call(batch("T", &sent)).await, response::SUCCESS, &[]);
            }
        })
    });
    for producer in producers.collect::<Vec<_>>() {
        producer.await.expect("every batch is stored");
    }
    let all = node.all("T", 0).await;
    assert_eq!(all.len(), PRODUCERS * BATCHES * MESSAGES);
    for (at, message) in all.iter().enumerate() {
        assert_eq!(message.queue_offset, at as i64);
    }
    for chunk in all.chunks(MESSAGES) {
        assert!(chunk.iter().all(|message| message.body == chunk[0].body), "a batch was torn");
    }
    std::sync::Arc::into_inner(node).expect("the producers are done").stop().await;
}

/// The most that the form of a batch holds; what the broker adds must not push it over the edge.
#[tokio::test]
async fn the_longest_properties_of_a_batch_are_stored() {
    let node = Node::start().await;
    let wide = format!("k\u{1}{}\u{2}", "v".repeat(32_767 - 3));
    let answer = node.call(batch("T", &[("one", wide.clone()), ("two", String::new())])).await;
    assert_code(&answer, response::SUCCESS, &[]);
    let [one, two] = &node.all("T", 0).await[..] else { panic!("two messages") };
    assert!(one.properties.starts_with(wide.as_bytes()));
    assert_eq!((one.text(), two.text()), ("one", "two"));
    node.stop().await;
}

#[tokio::test]
async fn a_bad_batch_leaves_nothing() {
    let node = Node::start_with(&[("maxMessageSize", "65536")]).await;
    let good = batch("T", &[("one", String::new()), ("two", String::new())]);
    let cut = good.body.slice(..good.body.len() - 1);
    assert_code(&node.call(good.clone().body(cut)).await, response::MESSAGE_ILLEGAL, &["batch", "message 1"]);
    let empty = batch("T", &[("one", String::new()), ("", String::new())]);
    assert_code(&node.call(empty).await, response::MESSAGE_ILLEGAL, &["message 1", "empty"]);
    let large = "x".repeat(40_000);
    let answer = node.call(batch("T", &[(&large, String::new()), (&large, String::new())])).await;
    assert_code(&answer, response::MESSAGE_ILLEGAL, &["65536", "maxMessageSize"]);
    let retry = change(good.clone(), "b", "%RETRY%g");
    assert_code(&node.call(retry).await, response::MESSAGE_ILLEGAL, &["retry group"]);
    let delayed = change(good.clone(), "i", properties(&[("DELAY", "3")]));
    assert_code(&node.call(delayed).await, response::MESSAGE_ILLEGAL, &["delayed"]);
    assert!(node.all("T", 0).await.is_empty());
    assert_code(&node.call(good).await, response::SUCCESS, &[]);
    assert_eq!(node.all("T", 0).await.len(), 2);
    node.stop().await;
}

/// The Java client names each message of a batch, unless the broker says that the batch has an id of its own.
#[tokio::test]
async fn a_batch_for_a_topic_of_batches_has_one_id() {
    let mut node = Node::start().await;
    let create = Command::request(request::UPDATE_AND_CREATE_TOPIC)
        .with("topic", "B")
        .with("defaultTopic", "TBW102")
        .with("readQueueNums", 1)
        .with("writeQueueNums", 1)
        .with("perm", 6)
        .with("topicFilterType", "SINGLE_TAG")
        .with("attributes", "+queue.type=BatchCQ");
    assert_code(&node.call(create).await, response::SUCCESS, &[]);
    for first in ["0", "2"] {
        let sent = batch("B", &[("one", String::new()), ("two", String::new())]);
        let answer = node.call(change(sent, "i", properties(&[("UNIQ_KEY", "BATCH")]))).await;
        assert_code(&answer, response::SUCCESS, &[]);
        assert_eq!((answer.field("batchUniqId"), answer.field("queueOffset")), (Some("BATCH"), Some(first)));
        assert_eq!(node.by_id(answer.field("msgId").expect("one id")).await.text(), "one");
        // The files of a stop call the kind of topic something else.
        node = node.restart().await;
    }
    let all = node.all("B", 0).await;
    assert_eq!(all.iter().map(Message::text).collect::<Vec<_>>(), ["one", "two", "one", "two"]);
    let plain = node.call(batch("B", &[("one", String::new())])).await;
    assert_eq!((plain.field("batchUniqId"), plain.field("transactionId")), (None, None));
    node.stop().await;
}
