//! Pulls that wait: for a message, for their time, for nothing more.

use crate::node::{Node, soon};
use crate::requests::*;
use roxmq_protocol::code::response;
use std::time::{Duration, Instant};

async fn node() -> Node {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    node
}

#[tokio::test]
async fn a_message_ends_the_wait_at_once() {
    let node = node().await;
    let waiting = node.connect().await;
    let mut n = 0;
    soon(Duration::from_millis(500), async || {
        let pulled = waiting.start(long_pull("g", "T", 0, n, 60_000));
        node.holds(1).await;
        let before = Instant::now();
        assert_code(&node.call(send("T", n.to_string())).await, response::SUCCESS, &[]);
        let answer = pulled.await;
        let took = before.elapsed();
        assert_code(&answer, response::SUCCESS, &["FOUND"]);
        assert_eq!(messages(&answer)[0].text(), n.to_string());
        n += 1;
        assert_eq!(number(&answer, "nextBeginOffset"), n);
        took
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn the_wait_is_as_long_as_was_asked() {
    let node = node().await;
    for wait_ms in [0, 50, 300] {
        let wait = Duration::from_millis(wait_ms as u64);
        soon(wait + Duration::from_millis(500), async || {
            let before = Instant::now();
            let answer = node.call(long_pull("g", "T", 0, 0, wait_ms)).await;
            let waited = before.elapsed();
            assert_code(&answer, response::PULL_NOT_FOUND, &["NO_MESSAGE_IN_QUEUE"]);
            assert!(waited >= wait, "{waited:?} for {wait_ms} ms");
            waited
        })
        .await;
    }
    node.stop().await;
}

#[tokio::test]
async fn unwanted_messages_neither_end_the_wait_nor_are_looked_at_again() {
    let node = node().await;
    let tagged = |tag: &str, text: &str| send_to("T", 0, &[("TAGS", tag)], text);
    let wanted = |wait_ms| change(long_pull("g", "T", 0, 0, wait_ms), "subscription", "TagA");
    let waiting = node.connect().await;
    let pulled = waiting.start(wanted(10_000));
    node.holds(1).await;
    for _ in 0..1_000 {
        assert_code(&node.call(tagged("TagB", "unwanted")).await, 0, &[]);
    }
    assert_eq!(node.hold_count(), 1);
    assert_code(&node.call(tagged("TagA", "wanted")).await, 0, &[]);
    let answer = pulled.await;
    assert_eq!(messages(&answer)[0].text(), "wanted");
    assert_eq!(number(&answer, "nextBeginOffset"), 1_001);
    // One that sees nothing it wants goes on behind it.
    let pulled = waiting.start(change(wanted(200), "queueOffset", 1_001));
    node.holds(1).await;
    assert_code(&node.call(tagged("TagB", "unwanted")).await, 0, &[]);
    let answer = pulled.await;
    assert_code(&answer, response::PULL_RETRY_IMMEDIATELY, &["NO_MATCHED_MESSAGE"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 1_002);
    node.stop().await;
}

#[tokio::test]
async fn many_waiters_of_one_queue_all_get_the_message() {
    let node = node().await;
    let mut connections = Vec::new();
    for _ in 0..50 {
        connections.push(node.connect().await);
    }
    let pulled: Vec<_> =
        connections.iter().map(|connection| connection.start(long_pull("g", "T", 0, 0, 10_000))).collect();
    node.holds(50).await;
    assert_code(&node.call(send("T", "for all")).await, 0, &[]);
    for answer in pulled {
        assert_eq!(messages(&answer.await)[0].text(), "for all");
    }
    assert_eq!(node.hold_count(), 0);
    node.stop().await;
}

#[tokio::test]
async fn a_closed_connection_waits_no_more() {
    let node = node().await;
    let leaving = node.connect().await;
    let staying = node.connect().await;
    let dropped = leaving.start(long_pull("g", "T", 0, 0, 60_000));
    let kept = staying.start(long_pull("g", "T", 0, 0, 10_000));
    node.holds(2).await;
    drop(dropped);
    leaving.close();
    node.holds(1).await;
    assert_code(&node.call(send("T", "x")).await, 0, &[]);
    assert_eq!(messages(&kept.await).len(), 1);
    node.stop().await;
}

#[tokio::test]
async fn a_stop_answers_those_who_wait() {
    let node = node().await;
    let waiting = node.connect().await;
    let pulled = waiting.start(long_pull("g", "T", 0, 0, 60_000));
    node.holds(1).await;
    node.stop().await;
    assert_code(&pulled.await, response::PULL_NOT_FOUND, &[]);
}

#[tokio::test]
async fn without_long_polling_the_wait_is_short() {
    let node = Node::start_with(&[("longPollingEnable", "false"), ("shortPollingTimeMills", "50")]).await;
    node.create_topic("T", 1, 6).await;
    // Twice as long as any answer is waited for.
    let answer = node.call(long_pull("g", "T", 0, 0, 60_000)).await;
    assert_code(&answer, response::PULL_NOT_FOUND, &[]);
    node.stop().await;
}
