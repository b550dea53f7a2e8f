//! Offsets of groups and queues: requests 14, 15, 29, 30, 31 and 32.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

fn of_group(code: i32, group: &str, topic: &str, queue_id: i32) -> Command {
    Command::request(code).with("consumerGroup", group).with("topic", topic).with("queueId", queue_id)
}

fn query(group: &str, topic: &str, queue_id: i32) -> Command {
    of_group(request::QUERY_CONSUMER_OFFSET, group, topic, queue_id)
}

fn of_queue(code: i32, topic: &str, queue_id: i32) -> Command {
    Command::request(code).with("topic", topic).with("queueId", queue_id)
}

#[tokio::test]
async fn what_is_committed_is_found() {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    node.put_group("g", 1, 16).await;
    for offset in [5, 9, 3] {
        assert_code(&node.call(commit("g", "T", 1, offset)).await, response::SUCCESS, &[]);
        assert_eq!(number(&node.call(query("g", "T", 1)).await, "offset"), offset);
    }
    node.oneway(commit("g", "T", 1, 12)).await;
    assert_eq!(number(&node.call(query("g", "T", 1)).await, "offset"), 12);
    // A pull that says so commits too.
    let pulled = change(change(pull("g", "T", 2, 0), "sysFlag", 5), "commitOffset", 4);
    node.call(pulled).await;
    assert_eq!(number(&node.call(query("g", "T", 2)).await, "offset"), 4);
    let node = node.restart().await;
    assert_eq!(number(&node.call(query("g", "T", 1)).await, "offset"), 12);
    assert_eq!(number(&node.call(query("g", "T", 2)).await, "offset"), 4);
    node.stop().await;
}

#[tokio::test]
async fn commits_that_can_only_be_mistakes() {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    node.put_group("g", 1, 16).await;
    let check = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    check(commit("unknown", "T", 0, 1), response::SUBSCRIPTION_GROUP_NOT_EXIST, &["unknown"]).await;
    check(commit("g", "Unknown", 0, 1), response::TOPIC_NOT_EXIST, &["Unknown"]).await;
    check(commit("g", "T", -2, 1), response::INVALID_PARAMETER, &["queueId[-2]"]).await;
    check(commit("g", "T", 1_000_000, 1), response::INVALID_PARAMETER, &["queueId[1000000]"]).await;
    check(commit("g", "T", 0, -1), response::INVALID_PARAMETER, &["commitOffset[-1]"]).await;
    check(without(commit("g", "T", 0, 1), "queueId"), response::INVALID_PARAMETER, &["QueueId is null"])
        .await;
    check(without(commit("g", "T", 0, 1), "commitOffset"), response::INVALID_PARAMETER, &["Offset is null"])
        .await;
    check(change(commit("g", "T", 0, 1), "queueId", "x"), response::SYSTEM_ERROR, &["queueId", "'x'"]).await;
    node.stop().await;
}

#[tokio::test]
async fn where_a_new_group_starts() {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    assert_code(&node.call(query("g", "T", 4)).await, response::QUERY_NOT_FOUND, &["Not found"]);
    assert_code(&node.call(query("g", "Unknown", 0)).await, response::QUERY_NOT_FOUND, &["Not found"]);
    assert_eq!(number(&node.call(query("g", "T", 0)).await, "offset"), 0);
    assert_code(&node.call(send("T", "young")).await, 0, &[]);
    assert_eq!(number(&node.call(query("g", "T", 0)).await, "offset"), 0);
    let asked = query("g", "T", 0).with("setZeroIfNotFound", false);
    assert_code(&node.call(asked).await, response::QUERY_NOT_FOUND, &["do not set to zero"]);
    node.stop().await;
}

#[tokio::test]
async fn both_ends_of_a_queue() {
    let node = Node::start().await;
    for n in 0..3 {
        assert_code(&node.call(send("T", n.to_string())).await, 0, &[]);
    }
    let check = async |code: i32, topic: &str, queue_id: i32, expected: i64| {
        let answer = node.call(of_queue(code, topic, queue_id)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        assert_eq!(number(&answer, "offset"), expected, "{code} {topic} {queue_id}");
    };
    check(request::GET_MAX_OFFSET, "T", 0, 3).await;
    check(request::GET_MIN_OFFSET, "T", 0, 0).await;
    for (topic, queue_id) in [("T", 1), ("T", -1), ("T", 1_000_000), ("Unknown", 0)] {
        check(request::GET_MAX_OFFSET, topic, queue_id, 0).await;
        check(request::GET_MIN_OFFSET, topic, queue_id, 0).await;
        let earliest = node.call(of_queue(request::GET_EARLIEST_MSG_STORETIME, topic, queue_id)).await;
        assert_eq!(number(&earliest, "timestamp"), -1);
    }
    let earliest = node.call(of_queue(request::GET_EARLIEST_MSG_STORETIME, "T", 0)).await;
    assert!(number(&earliest, "timestamp") > 1_700_000_000_000);
    node.stop().await;
}

/// A search by time once landed in the middle of a run of equal times.
#[tokio::test]
async fn searches_by_time_find_the_ends_of_a_run() {
    let node = Node::start().await;
    node.at_another_millisecond(async || node.call(send("T", "before")).await).await;
    let fifty: Vec<_> = (0..50).map(|_| ("run", String::new())).collect();
    node.at_another_millisecond(async || node.call(batch("T", &fifty)).await).await;
    node.at_another_millisecond(async || node.call(send("T", "after")).await).await;
    let times = node.store_times("T", 0).await;
    let (before, run, after) = (times[0], times[1], times[51]);
    assert!(before < run && run == times[50] && run < after, "{times:?}");
    let check = async |time: i64, boundary: &str, expected: i64| {
        let request = of_queue(request::SEARCH_OFFSET_BY_TIMESTAMP, "T", 0);
        let answer = node.call(request.with("timestamp", time).with("boundaryType", boundary)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        assert_eq!(number(&answer, "offset"), expected, "{boundary} {time} in {before} {run} {after}");
    };
    for (time, lower, upper) in [
        (run, 1, 50),
        (run - 1, 1, 0),
        (run + 1, 51, if run + 1 < after { 50 } else { 51 }),
        (before, 0, 0),
        (after, 51, 51),
    ] {
        check(time, "lower", lower).await;
        check(time, "UPPER", upper).await;
    }
    check(before - 1_000, "lower", 0).await;
    check(before - 1_000, "upper", 0).await;
    check(after + 1_000, "lower", 52).await;
    check(after + 1_000, "upper", 51).await;
    let unknown = of_queue(request::SEARCH_OFFSET_BY_TIMESTAMP, "Unknown", 0).with("timestamp", 0);
    assert_eq!(number(&node.call(unknown).await, "offset"), 0);
    node.stop().await;
}
