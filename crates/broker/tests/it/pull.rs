//! Pulls that are answered at once: every status and every refusal.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::time::Duration;

async fn node_with(messages: usize) -> Node {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    for n in 0..messages {
        let tag = ["TagA", "TagB"][n % 2];
        assert_code(&node.call(send_to("T", 0, &[("TAGS", tag)], n.to_string())).await, 0, &[]);
    }
    node
}

#[tokio::test]
async fn messages_and_where_to_go_on() {
    let node = node_with(40).await;
    let answer = node.call(pull("g", "T", 0, 0)).await;
    assert_code(&answer, response::SUCCESS, &["FOUND"]);
    assert_eq!(messages(&answer).len(), 32);
    for (name, value) in
        [("nextBeginOffset", 32), ("minOffset", 0), ("maxOffset", 40), ("suggestWhichBrokerId", 0)]
    {
        assert_eq!(number(&answer, name), value, "{name}");
    }
    let rest = node.call(change(pull("g", "T", 0, 32), "maxMsgNums", i32::MAX)).await;
    assert_eq!((messages(&rest).len(), number(&rest, "nextBeginOffset")), (8, 40));
    // The Go pull consumer asks for 0 and waits for ever if that is refused.
    let any = node.call(change(pull("g", "T", 0, 0), "maxMsgNums", 0)).await;
    assert_eq!(messages(&any).len(), 32);
    let one = node.call(change(pull("g", "T", 0, 5), "maxMsgNums", 1)).await;
    assert_eq!(messages(&one)[0].text(), "5");
    node.stop().await;
}

/// A pull beyond the end once sent the consumer back to 0, over days of data.
#[tokio::test]
async fn offsets_that_are_not_there_are_corrected() {
    let node = node_with(10).await;
    let check = async |queue_id: i32, offset: i64, code: i32, remark: &str, next: i64| {
        let answer = node.call(pull("g", "T", queue_id, offset)).await;
        assert_code(&answer, code, &[remark]);
        assert_eq!(number(&answer, "nextBeginOffset"), next, "queue {queue_id} at {offset}");
        assert!(answer.body.is_empty());
    };
    check(0, 10, response::PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", 10).await;
    check(0, 11, response::PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", 10).await;
    check(0, 1_000_010, response::PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", 10).await;
    check(0, i64::MAX, response::PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", 10).await;
    check(0, -5, response::PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", 0).await;
    check(0, i64::MIN, response::PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", 0).await;
    check(1, 0, response::PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE", 0).await;
    check(1, 7, response::PULL_OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE", 0).await;
    node.stop().await;
}

/// A broadcast consumer whose messages had expired could never correct its offset.
#[tokio::test]
async fn a_consumer_of_expired_messages_goes_on_with_what_is_left() {
    let (node, clock) = Node::start_with_many_files().await;
    node.put_group("slow", 1, 16).await;
    let commit = commit("slow", "T", 0, 2);
    assert_code(&node.call(commit).await, response::SUCCESS, &[]);
    clock.advance(Duration::from_secs(73 * 3_600));
    node.delete_expired().await;
    let min = number(&node.call(pull("g", "T", 0, 0)).await, "minOffset");
    assert!(min > 2, "{min}");
    for offset in [0, min - 1] {
        for request in [pull("g", "T", 0, offset), long_pull("g", "T", 0, offset, 600_000)] {
            let answer = node.call(request).await;
            assert_code(&answer, response::PULL_OFFSET_MOVED, &["OFFSET_TOO_SMALL"]);
            assert_eq!(number(&answer, "nextBeginOffset"), min);
        }
    }
    assert_eq!(messages(&node.call(pull("g", "T", 0, min)).await)[0].queue_offset, min);
    // All that the slow group lacks is what is still there.
    let stats = node.call(Command::request(request::GET_CONSUME_STATS).with("consumerGroup", "slow")).await;
    let text = String::from_utf8_lossy(&stats.body).into_owned();
    assert!(text.contains(r#""brokerOffset":20"#), "{text}");
    let node = node.restart().await;
    assert_eq!(number(&node.call(pull("g", "T", 0, 0)).await, "nextBeginOffset"), min);
    node.stop().await;
}

#[tokio::test]
async fn tags_choose_and_the_consumer_goes_on_behind_what_it_does_not_want() {
    let node = node_with(10).await;
    let check = async |subscription: &str, expected: &[&str], code: i32, next: i64| {
        let answer = node.call(change(pull("g", "T", 0, 0), "subscription", subscription)).await;
        assert_code(&answer, code, &[]);
        let found = messages(&answer);
        assert_eq!(found.iter().map(Message::text).collect::<Vec<_>>(), expected, "{subscription}");
        assert_eq!(number(&answer, "nextBeginOffset"), next, "{subscription}");
    };
    check("TagA", &["0", "2", "4", "6", "8"], response::SUCCESS, 10).await;
    check("TagA || TagB", &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], response::SUCCESS, 10).await;
    check("TagC", &[], response::PULL_RETRY_IMMEDIATELY, 10).await;
    node.stop().await;
}

#[tokio::test]
async fn refusals_in_their_order() {
    let node = node_with(1).await;
    let check = async |request: Command, code: i32, forbidden: Option<&str>, words: &[&str]| {
        let answer = node.call(request).await;
        assert_code(&answer, code, words);
        assert_eq!(answer.field("forbiddenType"), forbidden, "{answer:?}");
    };
    let good = || pull("g", "T", 0, 0);
    for queue_id in [-2, -1, 4, 1_000_000] {
        let words = format!("queueId[{queue_id}]");
        check(change(good(), "queueId", queue_id), response::INVALID_PARAMETER, None, &[&words]).await;
    }
    for count in [-1, i32::MIN] {
        check(change(good(), "maxMsgNums", count), response::INVALID_PARAMETER, None, &["maxMsgNums"]).await;
    }
    let waits = change(long_pull("g", "T", 0, 1, 0), "suspendTimeoutMillis", -1);
    check(waits, response::INVALID_PARAMETER, None, &["suspendTimeoutMillis[-1]"]).await;
    check(pull("g", "Unknown", 0, 0), response::TOPIC_NOT_EXIST, None, &["Unknown"]).await;
    check(pull("bad group", "T", 0, 0), response::SUBSCRIPTION_GROUP_NOT_EXIST, None, &["bad group"]).await;
    check(pull("", "T", 0, 0), response::SUBSCRIPTION_GROUP_NOT_EXIST, None, &[]).await;
    check(change(good(), "subscription", "||"), response::SUBSCRIPTION_PARSE_FAILED, None, &["||"]).await;
    let sql = change(good(), "subscription", "a > ").with("expressionType", "SQL92");
    check(sql, response::SUBSCRIPTION_PARSE_FAILED, None, &["SQL92", "character 5"]).await;
    check(change(good(), "sysFlag", 0), response::SUBSCRIPTION_NOT_EXIST, None, &["group info not exist"])
        .await;
    check(without(good(), "queueOffset"), response::SYSTEM_ERROR, None, &["queueOffset"]).await;
    check(change(good(), "queueOffset", "x"), response::SYSTEM_ERROR, None, &["queueOffset", "'x'"]).await;
    node.create_topic("W", 1, 2).await;
    check(pull("g", "W", 0, 0), response::NO_PERMISSION, Some("3"), &["W", "perm is 2"]).await;
    node.stop().await;

    let node = Node::start_with(&[("brokerPermission", "2"), ("autoCreateSubscriptionGroup", "false")]).await;
    let answer = node.call(pull("g", "T", 0, 0)).await;
    assert_code(&answer, response::NO_PERMISSION, &["brokerPermission is 2"]);
    assert_eq!(answer.field("forbiddenType"), Some("1"));
    node.stop().await;
}

#[tokio::test]
async fn a_lite_pull_is_a_pull() {
    let node = node_with(1).await;
    let lite = Command { code: request::LITE_PULL_MESSAGE, ..pull("g", "T", 0, 0) };
    assert_eq!(messages(&node.call(lite.clone()).await).len(), 1);
    node.stop().await;
    let node = Node::start_with(&[("litePullMessageEnable", "false")]).await;
    assert_code(&node.call(lite).await, response::NO_PERMISSION, &["litePullMessageEnable"]);
    node.stop().await;
}

/// Answers were once mixed up between clients that use the same request id on different connections.
#[tokio::test]
async fn equal_opaques_on_many_connections() {
    let node = node_with(0).await;
    for queue_id in 0..4 {
        assert_code(&node.call(send_to("T", queue_id, &[], format!("of {queue_id}"))).await, 0, &[]);
    }
    let mut connections = Vec::new();
    for n in 0..20 {
        connections.push((n % 4, node.connect().await));
    }
    for _ in 0..10 {
        let asked: Vec<_> = connections
            .iter()
            .map(|(queue_id, connection)| (queue_id, connection.start(pull("g", "T", *queue_id, 0))))
            .collect();
        for (queue_id, answer) in asked {
            assert_eq!(messages(&answer.await)[0].text(), format!("of {queue_id}"));
        }
    }
    node.stop().await;
}
