//! Pops that wait: for a message, for their time, for nothing more.

use crate::node::{Node, soon};
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
        let wait = Duration::from_millis(wait_ms as u64);
        soon(wait + Duration::from_millis(500), async || {
            let before = Instant::now();
            let answer = node.call(long_pop("g", "T", wait_ms)).await;
            let waited = before.elapsed();
            assert_code(&answer, response::POLLING_TIMEOUT, &["NO_MESSAGE_IN_QUEUE"]);
            assert!(waited >= wait, "{waited:?} for {wait_ms} ms");
            waited
        })
        .await;
    }
    node.pops_wait(0).await;
    node.stop().await;
}

/// The client asked a while ago, and waits from then on.
#[tokio::test]
async fn the_wait_begins_when_the_client_asked() {
    let node = node().await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    // The whole time would be twice as long as any answer is waited for.
    let answer = node.call(change(long_pop("g", "T", 60_000), "bornTime", now - 59_500)).await;
    assert_code(&answer, response::POLLING_TIMEOUT, &[]);
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

/// A pop that was just served when its client closed its side took messages out, and the answer was thrown away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_takes_no_message_with_it() {
    let node = node().await;
    for _ in 0..300 {
        let leaving = node.connect().await;
        let popped = leaving.start_unsure(long_pop("g", "T", 60_000));
        node.pops_wait(1).await;
        let (sent, ()) = tokio::join!(node.call(send("T", "x")), async { leaving.close() });
        assert_code(&sent, 0, &[]);
        match popped.await.filter(|answer| answer.code == response::SUCCESS) {
            Some(answer) => assert_texts(&answer, &["x"]),
            None => assert_texts(&node.call(pop("g", "T")).await, &["x"]),
        }
        node.pops_wait(0).await;
    }
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

#[track_caller]
fn assert_texts(answer: &Command, expected: &[&str]) {
    assert_code(answer, response::SUCCESS, &["FOUND"]);
    let found = messages(answer);
    let texts: Vec<_> = found.iter().map(|message| message.text()).collect();
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn a_message_ends_the_wait_of_one_pop_at_once() {
    let node = node().await;
    let (first, second) = (node.connect().await, node.connect().await);
    soon(Duration::from_millis(500), async || {
        let popped = first.start(long_pop("g", "T", 60_000));
        node.pops_wait(1).await;
        let next = second.start(long_pop("g", "T", 60_000));
        node.pops_wait(2).await;
        let before = Instant::now();
        assert_code(&node.call(send_to("T", 2, &[], "a")).await, 0, &[]);
        assert_texts(&popped.await, &["a"]);
        let took = before.elapsed();
        node.pops_wait(1).await;
        assert_code(&node.call(send_to("T", 3, &[], "b")).await, 0, &[]);
        assert_texts(&next.await, &["b"]);
        took
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn several_messages_end_the_waits_of_as_many_pops_as_they_are_for() {
    let node = node().await;
    let mut popped = Vec::new();
    let connections = [node.connect().await, node.connect().await, node.connect().await];
    for (count, connection) in connections.iter().enumerate() {
        popped.push(connection.start(change(long_pop("g", "T", 60_000), "maxMsgNums", 1)));
        node.pops_wait(count + 1).await;
    }
    let two = [("a", String::new()), ("b", String::new())];
    assert_code(&node.call(batch("T", &two)).await, 0, &[]);
    let last = popped.pop().unwrap();
    for (popped, text) in popped.into_iter().zip(["a", "b"]) {
        assert_texts(&popped.await, &[text]);
    }
    node.pops_wait(1).await;
    assert_code(&node.call(send("T", "c")).await, 0, &[]);
    assert_texts(&last.await, &["c"]);
    node.stop().await;
}

#[tokio::test]
async fn each_group_gets_the_message() {
    let node = node().await;
    let connections = [node.connect().await, node.connect().await];
    let popped =
        ["g", "h"].map(|group| connections[usize::from(group == "h")].start(long_pop(group, "T", 60_000)));
    node.pops_wait(2).await;
    assert_code(&node.call(send("T", "x")).await, 0, &[]);
    for popped in popped {
        assert_texts(&popped.await, &["x"]);
    }
    node.stop().await;
}

#[tokio::test]
async fn a_pop_of_one_queue_waits_for_that_queue() {
    let node = node().await;
    let waiting = node.connect().await;
    let popped = waiting.start(pop_of(1, 60_000));
    node.pops_wait(1).await;
    assert_code(&node.call(send_to("T", 0, &[], "other")).await, 0, &[]);
    assert_code(&node.call(send_to("T", 1, &[], "own")).await, 0, &[]);
    assert_texts(&popped.await, &["own"]);
    node.stop().await;
}

#[tokio::test]
async fn unwanted_messages_end_no_wait() {
    let node = node().await;
    let waiting = node.connect().await;
    let popped = waiting.start(change(long_pop("g", "T", 60_000), "exp", "TagA"));
    node.pops_wait(1).await;
    for count in 0..200 {
        let unwanted = send_to("T", count % 4, &[("TAGS", "TagB")], "unwanted");
        assert_code(&node.call(unwanted).await, 0, &[]);
    }
    node.pops_wait(1).await;
    assert_code(&node.call(send_to("T", 0, &[("TAGS", "TagA")], "wanted")).await, 0, &[]);
    assert_texts(&popped.await, &["wanted"]);
    node.stop().await;
}

#[tokio::test]
async fn what_comes_again_ends_the_wait() {
    let node = node().await;
    assert_code(&node.call(send("T", "x")).await, 0, &[]);
    assert_texts(&node.call(change(pop("g", "T"), "invisibleTime", 200)).await, &["x"]);
    // The whole wait is twice as long as any answer is waited for.
    assert_texts(&node.call(long_pop("g", "T", 60_000)).await, &["x"]);
    node.stop().await;
}

/// Waiting pops wake one another when each leaves something behind; however many they are, they don't nest.
#[tokio::test]
async fn a_thousand_waiting_pops_share_a_thousand_messages() {
    const POPS: usize = 1_000;
    let node = node().await;
    let waiting = node.connect().await;
    let pop = change(long_pop("g", "T", 60_000), "maxMsgNums", 1);
    let popped: Vec<_> = (0..POPS).map(|_| waiting.start(pop.clone())).collect();
    node.pops_wait(POPS).await;
    let all: Vec<_> = (0..POPS).map(|count| ("x", properties(&[("KEYS", &count.to_string())]))).collect();
    assert_code(&node.call(batch("T", &all)).await, 0, &[]);
    let mut seen = std::collections::BTreeSet::new();
    for popped in popped {
        let answer = popped.await;
        let found = messages(&answer);
        assert_eq!(found.len(), 1, "{answer:?}");
        assert!(seen.insert(found[0].property("KEYS").unwrap().to_owned()));
    }
    assert_eq!(seen.len(), POPS);
    node.pops_wait(0).await;
    node.stop().await;
}
