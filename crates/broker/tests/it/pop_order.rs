//! Ordered pops.

use crate::node::Node;
use crate::pop_consumer::*;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::Duration;

async fn node() -> (Node, Arc<TestClock>) {
    let clock = Arc::new(TestClock::at(Millis(1_800_000_000_000)));
    let node = Node::start_at(clock.clone(), &[]).await;
    node.create_topic("T", 1, 6).await;
    for text in ["a", "b", "c"] {
        assert_code(&node.call(send("T", text)).await, 0, &[]);
    }
    (node, clock)
}

fn ordered(attempt: &str) -> Command {
    pop("g", "T").with("order", "true").with("attemptId", attempt)
}

fn two(attempt: &str) -> Command {
    change(ordered(attempt), "maxMsgNums", 2)
}

#[tokio::test]
async fn one_batch_is_out_at_a_time() {
    let (node, _) = node().await;
    let answer = node.call(two("1")).await;
    assert_eq!(texts(&answer), ["a", "b"]);
    assert_eq!((number(&answer, "reviveQid"), answer.field("orderCountInfo")), (999, Some("0 0 0")));
    let blocked = node.call(two("2")).await;
    assert_code(&blocked, response::POLLING_TIMEOUT, &[]);
    assert_eq!(number(&blocked, "restNum"), 0);
    // The same attempt did not get its answer.
    assert_eq!(texts(&node.call(two("1")).await), ["a", "b"]);
    let popped = Popped::of(&answer);
    for popped in &popped {
        assert_code(&node.call(ack("g", popped)).await, response::SUCCESS, &[]);
    }
    assert_eq!(texts(&node.call(two("3")).await), ["c"]);
    // What is done is done.
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn what_was_not_acknowledged_is_given_again_in_place() {
    let (node, clock) = node().await;
    let popped = Popped::of(&node.call(two("1")).await);
    assert_code(&node.call(ack("g", &popped[1])).await, response::SUCCESS, &[]);
    clock.advance(Duration::from_secs(60));
    let answer = node.call(two("2")).await;
    assert_eq!(texts(&answer), ["a", "b"]);
    assert_eq!(answer.field("orderCountInfo"), Some("0 qo0%0 1;0 qo0%1 1;0 0 1"));
    let again = Popped::of(&answer);
    // The first pop's receipts don't count any more.
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    assert_code(&node.call(two("3")).await, response::POLLING_TIMEOUT, &[]);
    for popped in &again {
        assert_code(&node.call(ack("g", popped)).await, response::SUCCESS, &[]);
    }
    assert_eq!(texts(&node.call(two("4")).await), ["c"]);
    assert!(node.all("%RETRY%g_T", 0).await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_changed_invisible_time_holds_the_queue_back_for_as_long() {
    let (node, clock) = node().await;
    let popped = Popped::of(&node.call(two("1")).await);
    clock.advance(Duration::from_secs(1));
    let answer = node.call(change_invisible("g", &popped[0], 5_000)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!((number(&answer, "popTime"), number(&answer, "invisibleTime")), (1_800_000_000_000, 6_000));
    assert_eq!(number(&answer, "reviveQid"), 999);
    assert_code(&node.call(ack("g", &popped[1])).await, response::SUCCESS, &[]);
    let waiting = node.connect().await;
    let next = waiting.start(long_pop("g", "T", 600_000).with("order", "true"));
    node.pops_wait(1).await;
    clock.advance(Duration::from_secs(5));
    node.clock_was_set();
    assert_eq!(texts(&next.await), ["a", "b", "c"]);
    node.stop().await;
}

#[tokio::test]
async fn the_block_ends_with_the_last_acknowledgement() {
    let (node, _) = node().await;
    let popped = Popped::of(&node.call(two("1")).await);
    let waiting = node.connect().await;
    let next = waiting.start(long_pop("g", "T", 600_000).with("order", "true"));
    node.pops_wait(1).await;
    for popped in &popped {
        assert_code(&node.call(ack("g", popped)).await, response::SUCCESS, &[]);
    }
    assert_eq!(texts(&next.await), ["c"]);
    node.stop().await;
}

#[tokio::test]
async fn offsets_that_are_not_out_are_illegal() {
    let (node, _) = node().await;
    let popped = Popped::of(&node.call(two("1")).await);
    let answer = node.call(change(ack("g", &popped[0]), "offset", 2)).await;
    assert_code(&answer, response::MESSAGE_ILLEGAL, &["offset is illegal"]);
    let answer = node.call(change(change_invisible("g", &popped[0], 5), "offset", 2)).await;
    assert_code(&answer, response::NO_MESSAGE, &[]);
    node.stop().await;
}

/// A receipt that nobody was given, or one from before a reset or a deletion, moved the group over messages that it had
/// never got, and made offsets of groups that don't exist.
#[tokio::test]
async fn where_nothing_is_out_a_receipt_moves_nobody() {
    let (node, _) = node().await;
    let mut receipt = Popped::of(&node.call(change(two("1"), "consumerGroup", "another")).await).remove(1);
    receipt.message.queue_offset = 2;
    for group in ["g", "nobody"] {
        assert_code(&node.call(ack(group, &receipt)).await, response::SUCCESS, &[]);
        let asked = Command::request(request::QUERY_CONSUMER_OFFSET)
            .with("consumerGroup", group)
            .with("topic", "T")
            .with("queueId", 0)
            .with("setZeroIfNotFound", "false");
        assert_code(&node.call(asked).await, response::QUERY_NOT_FOUND, &[]);
    }
    assert_eq!(texts(&node.call(ordered("1")).await), ["a", "b", "c"]);
    node.stop().await;
}

#[tokio::test]
async fn what_is_out_stays_so_over_a_restart() {
    let (node, clock) = node().await;
    let popped = Popped::of(&node.call(two("1")).await);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    assert_code(&node.call(two("2")).await, response::POLLING_TIMEOUT, &[]);
    clock.advance(Duration::from_secs(60));
    let answer = node.call(two("3")).await;
    assert_eq!(texts(&answer), ["b", "c"]);
    assert_eq!(answer.field("orderCountInfo"), Some("0 qo0%1 1;0 0 0"));
    node.stop().await;
}

/// A FIFO group that skips a long stretch read it again and again, and its lag never fell.
#[tokio::test]
async fn what_a_filter_passes_over_is_passed_for_good() {
    let (node, _) = node().await;
    assert_code(&node.call(send_to("T", 0, &[("TAGS", "A")], "d")).await, 0, &[]);
    let only_a = change(ordered("1"), "exp", "A");
    let answer = node.call(only_a.clone()).await;
    assert_eq!(texts(&answer), ["d"]);
    for popped in Popped::of(&answer) {
        assert_code(&node.call(ack("g", &popped)).await, response::SUCCESS, &[]);
    }
    let node = node.restart().await;
    assert_code(&node.call(ordered("2")).await, response::POLLING_TIMEOUT, &[]);
    node.stop().await;
}
