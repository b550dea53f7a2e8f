//! Whether there is anything for a group, now or within a time (200054), and how many wait for it (200055).

use crate::node::{Node, Peer};
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::time::{Duration, Instant};

fn notification(queue_id: i32, wait_ms: i64) -> Command {
    Command::request(request::NOTIFICATION)
        .with("consumerGroup", "g")
        .with("topic", "T")
        .with("queueId", queue_id)
        .with("pollTime", wait_ms)
        .with("bornTime", 0)
}

fn polling_info(queue_id: i32) -> Command {
    Command::request(request::POLLING_INFO)
        .with("consumerGroup", "g")
        .with("topic", "T")
        .with("queueId", queue_id)
}

#[track_caller]
fn assert_notified(answer: &Command, has_messages: bool) {
    assert_code(answer, response::SUCCESS, &[]);
    assert_eq!(answer.field("hasMsg"), Some(if has_messages { "true" } else { "false" }));
    assert_eq!(answer.field("pollingFull"), Some("false"));
}

async fn node() -> Node {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    node
}

async fn peers<const COUNT: usize>(node: &Node) -> [Peer; COUNT] {
    let mut peers = Vec::new();
    for _ in 0..COUNT {
        peers.push(node.connect().await);
    }
    peers.try_into().unwrap_or_else(|_| unreachable!("so many were made"))
}

#[tokio::test]
async fn what_is_there_is_told_at_once() {
    let node = node().await;
    assert_notified(&node.call(notification(-1, 0)).await, false);
    assert_code(&node.call(send_to("T", 2, &[], "x")).await, 0, &[]);
    for (queue_id, has_messages) in [(-1, true), (2, true), (1, false)] {
        assert_notified(&node.call(notification(queue_id, 0)).await, has_messages);
    }
    // What is consumed counts no more.
    let commit = commit("g", "T", 2, 1);
    assert_code(&node.call(commit).await, 0, &[]);
    assert_notified(&node.call(notification(-1, 0)).await, false);
    node.stop().await;
}

#[tokio::test]
async fn a_message_is_told_to_the_first_of_each_lane() {
    let node = node().await;
    let [first, second, of_queue, of_other] = peers(&node).await;
    let any = first.start(notification(-1, 60_000));
    node.notifications_wait(1).await;
    let next = second.start(notification(-1, 60_000));
    node.notifications_wait(2).await;
    let queue = of_queue.start(notification(3, 60_000));
    drop(of_other.start(notification(1, 60_000)));
    node.notifications_wait(4).await;
    assert_code(&node.call(send_to("T", 3, &[], "x")).await, 0, &[]);
    assert_notified(&any.await, true);
    assert_notified(&queue.await, true);
    node.notifications_wait(2).await;
    assert_code(&node.call(send_to("T", 3, &[], "y")).await, 0, &[]);
    assert_notified(&next.await, true);
    node.notifications_wait(1).await;
    node.stop().await;
}

/// A connection that closed while its request waited must not take the turn of another.
#[tokio::test]
async fn who_is_gone_is_passed_over() {
    let node = node().await;
    let [gone, here] = peers(&node).await;
    drop(gone.start(notification(-1, 60_000)));
    node.notifications_wait(1).await;
    let told = here.start(notification(-1, 60_000));
    node.notifications_wait(2).await;
    gone.close();
    assert_code(&node.call(send("T", "x")).await, 0, &[]);
    assert_notified(&told.await, true);
    node.notifications_wait(0).await;
    node.stop().await;
}

#[tokio::test]
async fn unwanted_messages_are_not_told() {
    let node = node().await;
    let [waiting] = peers(&node).await;
    let wanted = notification(-1, 60_000).with("expType", "TAG").with("exp", "TagA");
    let told = waiting.start(wanted.clone());
    node.notifications_wait(1).await;
    for count in 0..1_000 {
        let unwanted = send_to("T", count % 4, &[("TAGS", "TagB")], "unwanted");
        assert_code(&node.call(unwanted).await, 0, &[]);
    }
    node.notifications_wait(1).await;
    assert_notified(&node.call(change(wanted, "pollTime", 0)).await, false);
    assert_code(&node.call(send_to("T", 0, &[("TAGS", "TagA")], "wanted")).await, 0, &[]);
    assert_notified(&told.await, true);
    node.stop().await;
}

#[tokio::test]
async fn nothing_is_told_at_the_deadline() {
    let node = node().await;
    for wait_ms in [50, 300] {
        let before = Instant::now();
        assert_notified(&node.call(notification(0, wait_ms)).await, false);
        assert!(before.elapsed() >= Duration::from_millis(wait_ms as u64), "{:?}", before.elapsed());
    }
    node.notifications_wait(0).await;
    node.stop().await;
}

/// The other was told, popped nothing or gave it back: who waits on must not hear that there is nothing.
#[tokio::test]
async fn a_message_that_nobody_took_is_told_at_the_deadline() {
    let node = node().await;
    let [first, second] = peers(&node).await;
    let told = first.start(notification(-1, 60_000));
    node.notifications_wait(1).await;
    let later = second.start(notification(-1, 1_000));
    node.notifications_wait(2).await;
    assert_code(&node.call(send("T", "x")).await, 0, &[]);
    assert_notified(&told.await, true);
    assert_notified(&later.await, true);
    node.stop().await;
}

#[tokio::test]
async fn what_comes_again_is_told_unless_it_is_in_order() {
    let node = node().await;
    node.create_topic("%RETRY%g_T", 1, 6).await;
    let [waiting, in_order, of_queue] = peers(&node).await;
    let told = waiting.start(notification(-1, 60_000));
    drop(in_order.start(notification(-1, 60_000).with("order", true)));
    node.notifications_wait(2).await;
    assert_code(&node.call(send("%RETRY%g_T", "again")).await, 0, &[]);
    assert_notified(&told.await, true);
    node.notifications_wait(1).await;
    assert_notified(&node.call(notification(1, 0)).await, true);
    drop(of_queue);
    node.stop().await;
}

/// Queues that a topic gets while somebody waits are waited for as well.
#[tokio::test]
async fn a_topic_that_grows_is_asked_about_anew() {
    let node = node().await;
    let [waiting] = peers(&node).await;
    let told = waiting.start(notification(-1, 60_000));
    node.notifications_wait(1).await;
    node.create_topic("T", 8, 6).await;
    assert_notified(&told.await, false);
    let told = waiting.start(notification(-1, 60_000));
    node.notifications_wait(1).await;
    assert_code(&node.call(send_to("T", 7, &[], "x")).await, 0, &[]);
    assert_notified(&told.await, true);
    node.stop().await;
}

#[tokio::test]
async fn more_than_the_limit_are_told_that_they_are_too_many() {
    let node = Node::start_with(&[("maxPopPollingSize", "1")]).await;
    node.create_topic("T", 4, 6).await;
    let [waiting] = peers(&node).await;
    drop(waiting.start(notification(-1, 60_000)));
    node.notifications_wait(1).await;
    let answer = node.call(notification(-1, 60_000)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!((answer.field("hasMsg"), answer.field("pollingFull")), (Some("false"), Some("true")));
    node.stop().await;
}

#[tokio::test]
async fn the_pops_that_wait_are_counted() {
    let node = node().await;
    let [waiting] = peers(&node).await;
    for queue_id in [-1, -1, 2] {
        drop(waiting.start(change(long_pop("g", "T", 60_000), "queueId", queue_id)));
    }
    drop(waiting.start(long_pop("h", "T", 60_000)));
    drop(waiting.start(notification(-1, 60_000)));
    node.pops_wait(4).await;
    for (queue_id, expected) in [(-1, 2), (2, 1), (0, 0)] {
        let answer = node.call(polling_info(queue_id)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        assert_eq!(number(&answer, "pollingNum"), expected, "{queue_id}");
    }
    node.stop().await;
}

#[tokio::test]
async fn the_next_messages_are_seen_without_being_taken() {
    let node = node().await;
    node.create_topic("%RETRY%g_T", 1, 6).await;
    let peek = |queue_id, count: i32| {
        let request = polling_info(queue_id).with("maxMsgNums", count);
        Command { code: request::PEEK_MESSAGE, ..request }
    };
    let nothing = node.call(peek(-1, 32)).await;
    assert_code(&nothing, response::PULL_NOT_FOUND, &["NO_MESSAGE_IN_QUEUE"]);
    assert_code(&node.call(send_to("T", 0, &[], "a")).await, 0, &[]);
    assert_code(&node.call(send_to("T", 2, &[], "b")).await, 0, &[]);
    assert_code(&node.call(send("%RETRY%g_T", "again")).await, 0, &[]);
    for _ in 0..2 {
        let answer = node.call(peek(-1, 32)).await;
        assert_code(&answer, response::SUCCESS, &["FOUND"]);
        let texts: Vec<_> = messages(&answer).iter().map(|message| message.text().to_owned()).collect();
        assert_eq!(texts, ["a", "b", "again"]);
        assert_eq!(number(&answer, "restNum"), 3);
    }
    assert_eq!(messages(&node.call(peek(-1, 2)).await).len(), 2);
    assert_eq!(messages(&node.call(peek(1, 32)).await)[0].text(), "again");
    assert_code(&node.call(peek(-1, 0)).await, response::INVALID_PARAMETER, &["maxMsgNums[0]"]);
    node.stop().await;
}

#[tokio::test]
async fn refusals() {
    let node = Node::start_with(&[("autoCreateSubscriptionGroup", "false")]).await;
    node.create_topic("T", 4, 6).await;
    node.create_topic("Closed", 4, 2).await;
    let check = async |request: Command, code: i32, word: &str| {
        assert_code(&node.call(request).await, code, &[word]);
    };
    for ask in [notification(-1, 0), polling_info(-1)] {
        check(ask.clone(), response::SUBSCRIPTION_GROUP_NOT_EXIST, "[g]").await;
        check(change(ask.clone(), "topic", "Unknown"), response::TOPIC_NOT_EXIST, "Unknown").await;
        check(change(ask.clone(), "topic", "Closed"), response::NO_PERMISSION, "perm is 2").await;
        check(change(ask.clone(), "queueId", 4), response::INVALID_PARAMETER, "queueId[4]").await;
        check(without(ask, "queueId"), response::SYSTEM_ERROR, "queueId").await;
    }
    node.put_group("g", 1, 16).await;
    assert_notified(&node.call(notification(-1, 0)).await, false);
    let bad = notification(-1, 0).with("exp", "||");
    check(bad, response::SUBSCRIPTION_PARSE_FAILED, "subscription").await;
    node.stop().await;
}
