//! Failed messages: other attempts, and the dead-letter queue.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::collections::BTreeSet;

/// Levels short enough for tests: 1 and 2 at once, the third much later.
const LEVELS: (&str, &str) = ("messageDelayLevel", "1s 1s 1s 1s 1h 1h");

async fn node() -> Node {
    Node::start_with(&[LEVELS]).await
}

/// Sends one message and reads it back.
async fn failed_message(node: &Node) -> Message {
    let pairs = [("KEYS", "k"), ("TAGS", "TagA"), ("UNIQ_KEY", "7F01")];
    assert_code(&node.call(send_to("T", 0, &pairs, "fails")).await, 0, &[]);
    node.all("T", 0).await.pop().expect("stored")
}

#[tokio::test]
async fn a_message_sent_back_comes_again_from_the_retry_topic() {
    let node = node().await;
    let first = failed_message(&node).await;
    assert_code(&node.call(send_back("g", first.phy_offset, 1)).await, response::SUCCESS, &[]);
    let retried = node.wait_for("%RETRY%g", 0, 0).await;
    assert_eq!((retried.text(), retried.reconsume_times), ("fails", 1));
    let id = node.offset_id(&first);
    for (name, value) in [
        ("RETRY_TOPIC", "T"),
        ("ORIGIN_MESSAGE_ID", id.as_str()),
        ("UNIQ_KEY", "7F01"),
        ("TAGS", "TagA"),
        ("DELAY", "1"),
    ] {
        assert_eq!(retried.property(name), Some(value), "{name}");
    }
    // The second failure keeps what the first has noted.
    assert_code(&node.call(send_back("g", retried.phy_offset, 1)).await, response::SUCCESS, &[]);
    let again = node.wait_for("%RETRY%g", 0, 1).await;
    assert_eq!(again.reconsume_times, 2);
    assert_eq!((again.property("RETRY_TOPIC"), again.property("ORIGIN_MESSAGE_ID")), (Some("T"), Some(&*id)));
    node.stop().await;
}

/// A dead letter once waited for the delay of the last failure, and lacked the id of the original.
#[tokio::test]
async fn used_up_attempts_dead_letter_at_once() {
    for flush in ["ASYNC_FLUSH", "SYNC_FLUSH"] {
        let node = Node::start_with(&[LEVELS, ("flushDiskType", flush)]).await;
        let first = failed_message(&node).await;
        let late = send_back("g", first.phy_offset, 6).with("maxReconsumeTimes", 0);
        for (at, request) in [late, send_back("g", first.phy_offset, -1)].into_iter().enumerate() {
            assert_code(&node.call(request).await, response::SUCCESS, &[]);
            // The answer comes when everybody sees it, so the dead letter is there already.
            let dead = node.all("%DLQ%g", 0).await.remove(at);
            assert_eq!((dead.text(), dead.reconsume_times), ("fails", 1));
            assert_eq!(dead.property("ORIGIN_MESSAGE_ID"), Some(&*node.offset_id(&first)));
            assert_eq!(dead.property("DELAY"), None);
            assert_eq!(node.by_id(dead.property("ORIGIN_MESSAGE_ID").expect("an id")).await, first);
        }
        node.stop().await;
    }
}

#[tokio::test]
async fn refusals() {
    let node = node().await;
    let first = failed_message(&node).await;
    let check = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    check(
        send_back("bad group", first.phy_offset, 0),
        response::SUBSCRIPTION_GROUP_NOT_EXIST,
        &["bad group"],
    )
    .await;
    check(send_back("", first.phy_offset, 0), response::SUBSCRIPTION_GROUP_NOT_EXIST, &[]).await;
    // At 0 lies the broker's own record of the topic, which once became a dead letter.
    assert!(first.phy_offset > 0);
    for offset in [0, first.phy_offset + 1, 1_000_000_000, -1, i64::MAX, i64::MIN] {
        let words = ["look message by offset failed", &offset.to_string()];
        check(send_back("g", offset, 0), response::SYSTEM_ERROR, &words).await;
    }
    check(without(send_back("g", 0, 0), "delayLevel"), response::SYSTEM_ERROR, &["delayLevel"]).await;
    node.put_group("none", 0, 16).await;
    check(send_back("none", first.phy_offset, 1), response::SUCCESS, &[]).await;
    assert!(node.all("%RETRY%none", 0).await.is_empty());
    node.stop().await;
}

/// A message of just-allowed size could once not be sent back: what the retry adds pushed it over the limit.
#[tokio::test]
async fn a_message_of_the_largest_size_is_retried_and_dead_lettered() {
    let node = Node::start_with(&[LEVELS, ("maxMessageSize", "65536")]).await;
    let body = vec![b'x'; 65_536];
    assert_code(&node.call(send("T", body.clone())).await, response::SUCCESS, &[]);
    let first = node.all("T", 0).await.pop().expect("stored");
    assert_code(&node.call(send_back("g", first.phy_offset, 1)).await, response::SUCCESS, &[]);
    let retried = node.wait_for("%RETRY%g", 0, 0).await;
    assert_code(&node.call(send_back("g", retried.phy_offset, -1)).await, response::SUCCESS, &[]);
    assert_eq!(node.wait_for("%DLQ%g", 0, 0).await.body, body);
    node.stop().await;
}

/// With more retry queues than the retry topic had, half of the retries were never delivered.
#[tokio::test]
async fn a_group_with_more_retry_queues_reads_all_of_them() {
    let node = node().await;
    let first = failed_message(&node).await;
    assert_code(&node.call(send_back("g", first.phy_offset, 1)).await, response::SUCCESS, &[]);
    node.wait_for("%RETRY%g", 0, 0).await;
    node.put_group("g", 2, 16).await;
    for _ in 0..10 {
        assert_code(&node.call(send_back("g", first.phy_offset, 1)).await, response::SUCCESS, &[]);
    }
    // Both queues can be pulled and have their half.
    node.wait_for("%RETRY%g", 1, 4).await;
    node.wait_for("%RETRY%g", 0, 5).await;
    node.stop().await;
}

/// A send to a retry topic without the field for the largest number of attempts once made the broker throw.
#[tokio::test]
async fn messages_that_clients_send_to_a_retry_topic_themselves() {
    let node = node().await;
    let retry = |attempts: i32| send("%RETRY%g", attempts.to_string()).with("j", attempts);
    assert_code(&node.call(send("%RETRY%g", "0")).await, response::SUCCESS, &[]);
    assert_code(&node.call(retry(16)).await, response::SUCCESS, &[]);
    assert_eq!(node.all("%RETRY%g", 0).await.len(), 2);
    // The seventeenth, and one more than the client allows.
    for request in [retry(17), retry(4).with("l", 3)] {
        let answer =
            node.call(change(request, "i", properties(&[("UNIQ_KEY", "7F01"), ("DELAY", "6")]))).await;
        assert_code(&answer, response::SUCCESS, &[]);
    }
    let dead = node.all("%DLQ%g", 0).await;
    assert_eq!(dead.iter().map(Message::text).collect::<Vec<_>>(), ["17", "4"]);
    for message in dead {
        assert_eq!((message.property("DELAY"), message.property("ORIGIN_MESSAGE_ID")), (None, Some("7F01")));
    }
    for topic in ["%RETRY%", "%RETRY%bad group"] {
        let answer = node.call(send(topic, "x")).await;
        assert!([26, 29].contains(&answer.code), "{answer:?}");
    }
    let unknown = Command { code: request::SEND_MESSAGE_V2, ..send("%RETRY%new", "x") };
    assert_code(&node.call(unknown).await, response::SUCCESS, &[]);
    node.stop().await;
}

/// An ordered consumer that gives a message up was once given it for ever.
#[tokio::test]
async fn what_an_ordered_consumer_gives_up_is_dead_lettered() {
    let node = node().await;
    let body =
        r#"{"clientId":"c","consumerGroup":"g","mqSet":[{"brokerName":"broker-a","queueId":0,"topic":"T"}]}"#;
    assert_code(
        &node.call(Command::request(request::LOCK_BATCH_MQ).body(body)).await,
        response::SUCCESS,
        &[],
    );
    let given_up = send("%RETRY%g", "given up").with("j", 1).with("l", 1);
    assert_code(
        &node.call(change(given_up, "i", properties(&[("DELAY", "4")]))).await,
        response::SUCCESS,
        &[],
    );
    assert_eq!(node.all("%DLQ%g", 0).await.len(), 1);
    assert!(node.all("%RETRY%g", 0).await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn every_accepted_group_can_retry_and_dead_letter() {
    let node = node().await;
    let first = failed_message(&node).await;
    for chars in [119, 120, 121] {
        let group = "g".repeat(chars);
        let code = if chars > 120 { response::SUBSCRIPTION_GROUP_NOT_EXIST } else { response::SUCCESS };
        for level in [1, -1] {
            assert_code(&node.call(send_back(&group, first.phy_offset, level)).await, code, &[]);
        }
        if chars <= 120 {
            let topics: BTreeSet<_> = [format!("%RETRY%{group}"), format!("%DLQ%{group}")].into();
            for topic in topics {
                assert_eq!(node.wait_for(&topic, 0, 0).await.text(), "fails");
            }
        }
    }
    node.stop().await;
}
