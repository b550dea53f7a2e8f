//! Pops that wait: for a message, for their time, for nothing more.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::time::{Duration, Instant};

async fn node_with(settings: &[(&str, &str)]) -> Node {
    let node = Node::start_with(settings).await;
    node.create_topic("T", 4, 6).await;
    node
}

async fn node() -> Node {
    node_with(&[]).await
}

/// A pop that waits for one queue.
fn pop_of(queue_id: i32, wait_ms: i64) -> Command {
    change(long_pop("g", "T", wait_ms), "queueId", queue_id)
}

#[tokio::test]
async fn the_wait_is_as_long_as_was_asked() {
    let node = node().await;
    for wait_ms in [0, 50, 300] {
        let before = Instant::now();
        let answer = node.call(long_pop("g", "T", wait_ms)).await;
        let waited = before.elapsed();
        assert_code(&answer, response::POLLING_TIMEOUT, &["NO_MESSAGE_IN_QUEUE"]);
        assert!(waited >= Duration::from_millis(wait_ms as u64), "{waited:?} for {wait_ms} ms");
        assert!(waited < Duration::from_millis(wait_ms as u64 + 1_000), "{waited:?} for {wait_ms} ms");
    }
    node.pops_wait(0).await;
    node.stop().await;
}

/// The client asked a while ago, and waits from then on.
#[tokio::test]
async fn the_wait_begins_when_the_client_asked() {
    let node = node().await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let before = Instant::now();
    let answer = node.call(change(long_pop("g", "T", 5_000), "bornTime", now - 4_900)).await;
    assert_code(&answer, response::POLLING_TIMEOUT, &[]);
    assert!(before.elapsed() < Duration::from_secs(3), "{:?}", before.elapsed());
    node.stop().await;
}

#[tokio::test]
async fn more_than_the_limit_do_not_wait() {
    let node = node_with(&[("popPollingSize", "1"), ("maxPopPollingSize", "4")]).await;
    let mut waiting = Vec::new();
    for count in 1..=2 {
        waiting.push(node.connect().await);
        drop(waiting[count - 1].start(long_pop("g", "T", 60_000)));
        node.pops_wait(count).await;
    }
    // As the Java server counts, one more than the limit.
    assert_code(&node.call(long_pop("g", "T", 60_000)).await, response::POLLING_FULL, &[]);
    for (count, request) in [(3, pop_of(0, 60_000)), (4, long_pop("h", "T", 60_000))] {
        waiting.push(node.connect().await);
        drop(waiting[count - 1].start(request));
        node.pops_wait(count).await;
    }
    assert_code(&node.call(pop_of(1, 60_000)).await, response::POLLING_FULL, &[]);
    waiting[3].close();
    node.pops_wait(3).await;
    assert_code(&node.call(pop_of(1, 10)).await, response::POLLING_TIMEOUT, &[]);
    node.stop().await;
}

#[tokio::test]
async fn a_closed_connection_waits_no_more() {
    let node = node().await;
    let (leaving, staying) = (node.connect().await, node.connect().await);
    for queue_id in [-1, -1, 0, 1] {
        drop(leaving.start(pop_of(queue_id, 60_000)));
    }
    drop(staying.start(pop_of(0, 60_000)));
    node.pops_wait(5).await;
    leaving.close();
    node.pops_wait(1).await;
    node.stop().await;
}

#[tokio::test]
async fn a_stop_answers_those_who_wait() {
    let node = node().await;
    let waiting = node.connect().await;
    let popped = waiting.start(long_pop("g", "T", 60_000));
    node.pops_wait(1).await;
    node.stop().await;
    assert_code(&popped.await, response::POLLING_TIMEOUT, &[]);
}

#[tokio::test]
async fn what_is_deleted_is_not_waited_for() {
    let node = node().await;
    node.create_topic("U", 1, 6).await;
    let waiting = node.connect().await;
    let delete_topic = Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T");
    let delete_group = Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "h");
    for (group, deletion) in [("g", delete_topic), ("h", delete_group)] {
        let (topic, other) = if group == "g" { ("T", "U") } else { ("U", "V") };
        node.create_topic(other, 1, 6).await;
        let gone = waiting.start(long_pop(group, topic, 60_000));
        let stays = node.connect().await;
        drop(stays.start(long_pop("g", other, 60_000)));
        node.pops_wait(2).await;
        assert_code(&node.call(deletion).await, 0, &[]);
        assert_code(&gone.await, response::POLLING_TIMEOUT, &[]);
        node.pops_wait(1).await;
        stays.close();
        node.pops_wait(0).await;
    }
    node.stop().await;
}
