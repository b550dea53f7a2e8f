//! Delayed messages: when they come, that they come once, and what they then are.

use crate::node::{Node, soon};
use crate::requests::*;
use roxmq_protocol::code::response;
use std::time::{Duration, Instant};

const LEVELS: (&str, &str) = ("messageDelayLevel", "1s 2s 1h");

#[tokio::test]
async fn a_delayed_message_comes_on_time_and_not_before() {
    let node = Node::start_with(&[LEVELS]).await;
    let pairs = [("DELAY", "1"), ("TAGS", "TagA"), ("KEYS", "k"), ("UNIQ_KEY", "7F01")];
    let mut offset = 0;
    soon(Duration::from_millis(1_900), async || {
        let before = Instant::now();
        let answer = node.call(send_to("T", 2, &pairs, "delayed")).await;
        assert_code(&answer, response::SUCCESS, &[]);
        assert_eq!((number(&answer, "queueId"), answer.field("transactionId")), (2, Some("7F01")));
        let pulled = change(long_pull("g", "T", 2, offset, 60_000), "subscription", "TagA");
        let message = messages(&node.call(pulled).await).remove(0);
        offset += 1;
        let waited = before.elapsed();
        assert!(waited >= Duration::from_millis(990), "{waited:?}");
        assert_eq!((message.text(), message.queue_id, message.topic.as_str()), ("delayed", 2, "T"));
        for (name, value) in pairs.into_iter().chain([("REAL_TOPIC", "T"), ("REAL_QID", "2")]) {
            assert_eq!(message.property(name), Some(value), "{name}");
        }
        waited
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn levels_do_not_wait_for_each_other_and_the_highest_is_the_limit() {
    let node = Node::start_with(&[LEVELS]).await;
    for level in ["3", "99", "2", "1"] {
        assert_code(&node.call(send_to("T", 0, &[("DELAY", level)], level)).await, 0, &[]);
    }
    for level in ["0", "-3"] {
        assert_code(&node.call(send_to("T", 1, &[("DELAY", level)], level)).await, 0, &[]);
    }
    assert_eq!(node.all("T", 1).await.len(), 2);
    node.wait_for("T", 0, 1).await;
    let texts: Vec<_> = node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["1", "2"]);
    let waiting = node.all("SCHEDULE_TOPIC_XXXX", 2).await;
    assert_eq!(waiting.iter().map(|message| message.property("DELAY")).collect::<Vec<_>>(), [Some("3"); 2]);
    node.stop().await;
}

/// Progress was once overwritten or not saved at a stop: delayed messages came again.
#[tokio::test]
async fn a_stop_loses_nothing_and_repeats_nothing() {
    let node = Node::start_with(&[LEVELS]).await;
    assert_code(&node.call(send_to("T", 0, &[("DELAY", "1")], "first")).await, 0, &[]);
    node.wait_for("T", 0, 0).await;
    for n in 0..100 {
        assert_code(&node.call(send_to("T", 0, &[("DELAY", "2")], n.to_string())).await, 0, &[]);
    }
    let node = node.restart().await;
    node.wait_for("T", 0, 100).await;
    let node = node.restart().await;
    assert_code(&node.call(send_to("T", 0, &[("DELAY", "1")], "last")).await, 0, &[]);
    node.wait_for("T", 0, 101).await;
    let texts: Vec<_> = node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..100).map(|n| n.to_string()));
    expected.push("last".to_owned());
    assert_eq!(texts, expected);
    node.stop().await;
}
