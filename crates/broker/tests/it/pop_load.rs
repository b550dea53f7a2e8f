//! Pops under load and over restarts: nothing comes twice that was acknowledged in time, and no queue is forgotten.

use crate::node::{Node, Peer};
use crate::pop::{INVISIBLE_MS, node, pass};
use crate::pop_consumer::*;
use crate::requests::*;
use std::collections::BTreeSet;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

async fn send_many(node: &Node, range: std::ops::Range<usize>, queues: usize) {
    let sends = range.map(|n| send_to("T", (n % queues) as i32, &[], n.to_string())).collect();
    for answer in node.call_all(sends).await {
        assert_code(&answer, 0, &[]);
    }
}

/// The messages of one pop.
async fn popped(node: &Node) -> Vec<Popped> {
    Popped::of(&node.call(pop("g", "T")).await)
}

/// Consumers that had fetched more than they handled soon were given messages again, although they acknowledged each
/// before its time was over.
#[tokio::test]
async fn a_slow_consumer_that_is_in_time_gets_nothing_twice() {
    const HANDLING_MS: usize = 100;
    const BATCHES: usize = INVISIBLE_MS as usize / (32 * HANDLING_MS);
    const ROUNDS: usize = 4;
    let (node, clock) = node().await;
    send_many(&node, 0..ROUNDS * BATCHES * 32, 1).await;
    let mut given = BTreeSet::new();
    for round in 1..=ROUNDS {
        let mut fetched = Vec::new();
        for _ in 0..BATCHES {
            fetched.extend(popped(&node).await);
        }
        for message in fetched {
            pass(&node, &clock, HANDLING_MS as u64);
            assert!(given.insert(message.message.queue_offset), "{message:?} came twice");
            assert_code(&node.call(ack("g", &message)).await, 0, &[]);
        }
        assert_eq!(given.len(), round * BATCHES * 32);
    }
    // Who isn't in time gets his message again; before that everything else that was due had come.
    send_many(&node, 0..1, 1).await;
    assert_eq!(popped(&node).await.len(), 1);
    pass(&node, &clock, INVISIBLE_MS);
    let again = Popped::of(&node.call(long_pop("g", "T", 60_000)).await);
    assert_eq!(again.iter().map(|popped| popped.message.text()).collect::<Vec<_>>(), ["0"]);
    node.stop().await;
}

/// Pops and acknowledges for as long as there are messages, and tells of each.
async fn consume(peer: Peer, got: mpsc::UnboundedSender<String>) {
    loop {
        let pop = change(long_pop("g", "T", 60_000), "maxMsgNums", 3);
        for popped in Popped::of(&peer.call(pop).await) {
            assert_code(&peer.call(ack("g", &popped)).await, 0, &[]);
            got.send(popped.message.text().to_owned()).unwrap();
        }
    }
}

/// The lock of a queue was not given back, and one of two queues was late by more than a minute. Here that would be
/// longer than any answer is waited for.
#[tokio::test]
async fn consumers_that_wait_forget_no_queue() {
    const ROUNDS: usize = 100;
    const MESSAGES: usize = 20;
    let node = Node::start().await;
    node.create_topic("T", 2, 6).await;
    let (sender, mut got) = mpsc::unbounded_channel();
    let mut consumers = JoinSet::new();
    for _ in 0..3 {
        consumers.spawn(consume(node.connect().await, sender.clone()));
    }
    for round in 0..ROUNDS {
        let sent = round * MESSAGES..(round + 1) * MESSAGES;
        send_many(&node, sent.clone(), 2).await;
        let mut missing: BTreeSet<_> = sent.map(|n| n.to_string()).collect();
        while !missing.is_empty() {
            tokio::select! {
                text = got.recv() => assert!(missing.remove(&text.unwrap()), "a message came twice"),
                ended = consumers.join_next() => panic!("round {round}: {ended:?}, without {missing:?}"),
            }
        }
    }
    consumers.shutdown().await;
    node.stop().await;
}

/// A group began again at the first message when the server had been restarted.
async fn repeats_only_what_is_in_flight(restart: impl AsyncFn(Node) -> Node) {
    const ROUNDS: usize = 10;
    const IN_FLIGHT: usize = 3;
    let (mut node, clock) = node().await;
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        send_many(&node, round * 32..(round + 1) * 32, 1).await;
        let mut messages = popped(&node).await;
        assert_eq!(messages.len(), 32, "round {round}");
        let in_flight = messages.split_off(32 - IN_FLIGHT);
        for message in messages {
            assert!(acknowledged.insert(message.message.text().to_owned()), "{message:?} came twice");
            assert_code(&node.call(ack("g", &message)).await, 0, &[]);
        }
        node = restart(node).await;
        assert_eq!(popped(&node).await.len(), 0, "round {round}");
        pass(&node, &clock, INVISIBLE_MS);
        let mut again = Vec::new();
        while again.len() < IN_FLIGHT {
            again.extend(Popped::of(&node.call(long_pop("g", "T", 60_000)).await));
        }
        for (message, before) in again.iter().zip(&in_flight) {
            assert_eq!(message.message.text(), before.message.text());
            assert_code(&node.call(ack("g", message)).await, 0, &[]);
        }
    }
    node.stop().await;
}

#[tokio::test]
async fn restarts_repeat_only_what_is_in_flight() {
    repeats_only_what_is_in_flight(Node::restart).await;
}

#[tokio::test]
async fn crashes_repeat_only_what_is_in_flight() {
    repeats_only_what_is_in_flight(async |node| node.crash(|_| {}).await).await;
}
