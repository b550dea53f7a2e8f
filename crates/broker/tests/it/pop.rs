//! Pops, acknowledgements and changed invisible times.

use crate::node::Node;
use crate::pop_consumer::*;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub const INVISIBLE_MS: u64 = 60_000;

/// A node at a time that stands still, with a topic of one queue.
pub async fn node() -> (Node, Arc<TestClock>) {
    node_with(&[]).await
}

pub async fn node_with(settings: &[(&str, &str)]) -> (Node, Arc<TestClock>) {
    let clock = Arc::new(TestClock::at(Millis(1_800_000_000_000)));
    let node = Node::start_at(clock.clone(), settings).await;
    node.create_topic("T", 1, 6).await;
    (node, clock)
}

pub async fn send_all(node: &Node, texts: &[&str]) {
    for text in texts {
        assert_code(&node.call(send("T", *text)).await, 0, &[]);
    }
}

pub fn pass(node: &Node, clock: &TestClock, by_ms: u64) {
    clock.advance(Duration::from_millis(by_ms));
    node.clock_was_set();
}

#[tokio::test]
async fn a_message_is_given_once_while_it_is_invisible() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b", "c"]).await;
    let answer = node.call(pop("g", "T")).await;
    assert_code(&answer, response::SUCCESS, &["FOUND"]);
    assert_eq!(answer.field("startOffsetInfo"), Some("0 0 0"));
    assert_eq!(answer.field("msgOffsetInfo"), Some("0 0 0,1,2"));
    assert_eq!(answer.field("orderCountInfo"), None);
    assert_eq!((number(&answer, "popTime"), number(&answer, "invisibleTime")), (1_800_000_000_000, 60_000));
    assert_eq!(number(&answer, "restNum"), 0);
    assert!((0..8).contains(&number(&answer, "reviveQid")));
    assert_eq!(texts(&answer), ["a", "b", "c"]);
    let answer = node.call(pop("g", "T")).await;
    assert_code(&answer, response::POLLING_TIMEOUT, &["NO_MESSAGE_IN_QUEUE"]);
    // Another group has its own.
    assert_eq!(texts(&node.call(pop("h", "T")).await), ["a", "b", "c"]);
    node.stop().await;
}

#[tokio::test]
async fn as_many_as_were_asked_for_and_the_rest_is_counted() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b", "c"]).await;
    let answer = node.call(change(pop("g", "T"), "maxMsgNums", 2)).await;
    assert_eq!((texts(&answer), number(&answer, "restNum")), (vec!["a".to_owned(), "b".to_owned()], 1));
    assert_eq!(texts(&node.call(pop("g", "T")).await), ["c"]);
    node.stop().await;
}

#[tokio::test]
async fn all_queues_together_or_one_of_them() {
    let (node, _) = node().await;
    node.create_topic("M", 4, 6).await;
    for queue_id in 0..4 {
        assert_code(&node.call(send_to("M", queue_id, &[], format!("{queue_id}"))).await, 0, &[]);
    }
    let one = node.call(change(pop("g", "M"), "queueId", 2)).await;
    assert_eq!(texts(&one), ["2"]);
    let rest = node.call(pop("g", "M")).await;
    let found: BTreeSet<_> = texts(&rest).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["0", "1", "3"].map(str::to_owned)));
    let popped = Popped::of(&rest);
    assert_eq!(popped.len(), 3);
    for popped in popped {
        assert_code(&node.call(ack("g", &popped)).await, response::SUCCESS, &[]);
    }
    node.stop().await;
}

#[tokio::test]
async fn what_is_acknowledged_never_comes_again_and_the_rest_does() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b", "c"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    assert_code(&node.call(ack("g", &popped[1])).await, response::SUCCESS, &[]);
    // Twice is as good as once.
    assert_code(&node.call(ack("g", &popped[1])).await, response::SUCCESS, &[]);
    pass(&node, &clock, INVISIBLE_MS - 1);
    assert_code(&node.call(pop("g", "T")).await, response::POLLING_TIMEOUT, &[]);
    pass(&node, &clock, 1);
    let retried = node.wait_for("%RETRY%g_T", 0, 1).await;
    assert_eq!((retried.text(), retried.reconsume_times), ("c", 1));
    for (name, value) in [("1ST_POP_TIME", "1800000000000"), ("ORIGIN_GROUP", "g")] {
        assert_eq!(retried.property(name), Some(value), "{name}");
    }
    let again = node.call(pop("g", "T")).await;
    assert_eq!(texts(&again), ["a", "c"]);
    assert_eq!(again.field("msgOffsetInfo"), Some("1 0 0,1"));
    let message = &messages(&again)[0];
    assert_eq!((message.topic.as_str(), message.reconsume_times), ("T", 1));
    let receipt = format!("0 1800000060000 60000 {} 1 broker-a 0 0", number(&again, "reviveQid"));
    assert_eq!(message.property("POP_CK"), Some(receipt.as_str()));
    for popped in Popped::of(&again) {
        assert_code(&node.call(ack("g", &popped)).await, response::SUCCESS, &[]);
    }
    pass(&node, &clock, 10 * INVISIBLE_MS);
    assert_eq!(node.all("%RETRY%g_T", 0).await.len(), 2);
    node.stop().await;
}

#[tokio::test]
async fn an_expression_by_properties_if_that_is_allowed() {
    let (node, _) = node_with(&[("enablePropertyFilter", "false")]).await;
    send_all(&node, &["a"]).await;
    let by_properties = change(pop("g", "T").with("expType", "SQL92"), "exp", "a > 1");
    assert_code(&node.call(by_properties).await, response::SYSTEM_ERROR, &["SQL92", "enablePropertyFilter"]);
    assert_eq!(texts(&node.call(change(pop("g", "T"), "exp", "*")).await), ["a"]);
    node.stop().await;
}

/// Acknowledging with the receipt from before the change had no effect and no error.
#[tokio::test]
async fn a_changed_invisible_time_has_a_receipt_of_its_own() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    clock.advance(Duration::from_secs(1));
    let answer = node.call(change_invisible("g", &popped[1], 300_000)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!((number(&answer, "popTime"), number(&answer, "invisibleTime")), (1_800_000_001_000, 300_000));
    let renewed = popped[1].renewed(&answer);
    let old = [ack("g", &popped[1]), change_invisible("g", &popped[1], 1)];
    for request in old {
        assert_code(&node.call(request).await, response::NO_MESSAGE, &["invisible time was changed"]);
    }
    pass(&node, &clock, INVISIBLE_MS);
    // Only the other came again.
    assert_eq!(node.wait_for("%RETRY%g_T", 0, 0).await.text(), "a");
    assert_code(&node.call(ack("g", &renewed)).await, response::SUCCESS, &[]);
    pass(&node, &clock, 400_000);
    assert_eq!(node.all("%RETRY%g_T", 0).await.len(), 1);
    assert_code(&node.call(change_invisible("g", &renewed, 1)).await, response::NO_MESSAGE, &["in flight"]);
    node.stop().await;
}

#[tokio::test]
async fn many_acknowledgements_in_one_request() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b", "c", "d"]).await;
    let answer = node.call(pop("g", "T")).await;
    let popped = Popped::of(&answer);
    let body = batch_ack("g", &answer, &[0, 2, 17]);
    assert_code(&node.call(body).await, response::SUCCESS, &[]);
    pass(&node, &clock, INVISIBLE_MS);
    node.wait_for("%RETRY%g_T", 0, 1).await;
    let retried: Vec<_> =
        node.all("%RETRY%g_T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(retried, ["b", "d"]);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    let empty = Command::request(request::BATCH_ACK_MESSAGE);
    for body in ["", r#"{"brokerName":"b"}"#, r#"{"acks":[]}"#] {
        assert_code(&node.call(empty.clone().body(body.to_owned())).await, response::NO_MESSAGE, &[]);
    }
    for body in ["[", r#"{"acks":[{}]}"#, r#"{"acks":[{"c":"g"}]}"#] {
        assert_code(&node.call(empty.clone().body(body.to_owned())).await, response::SYSTEM_ERROR, &[]);
    }
    node.stop().await;
}

#[tokio::test]
async fn acknowledgements_that_can_not_be() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await).remove(0);
    let acknowledge = ack("g", &popped);
    let hide = change_invisible("g", &popped, 1_000);
    let cases: [(&'static str, &str, i32); 8] = [
        ("topic", "gone", response::TOPIC_NOT_EXIST),
        ("queueId", "1", response::MESSAGE_ILLEGAL),
        ("queueId", "-1", response::MESSAGE_ILLEGAL),
        ("offset", "-1", response::NO_MESSAGE),
        ("offset", "3", response::NO_MESSAGE),
        ("offset", "x", response::SYSTEM_ERROR),
        ("extraInfo", "random text", response::SYSTEM_ERROR),
        ("extraInfo", "0 x 60000 0 0 broker-a 0 0", response::SYSTEM_ERROR),
    ];
    for (name, value, code) in cases {
        for request in [&acknowledge, &hide] {
            let answer = node.call(change(request.clone(), name, value)).await;
            assert_eq!(answer.code, code, "{name} {value}: {answer:?}");
            assert!(answer.remark.is_some(), "{name} {value}: {answer:?}");
        }
    }
    for name in ["consumerGroup", "topic", "queueId", "extraInfo", "offset"] {
        for request in [&acknowledge, &hide] {
            assert_code(&node.call(without(request.clone(), name)).await, response::SYSTEM_ERROR, &[name]);
        }
    }
    for time in ["-1", "9223372036854775807"] {
        let request = change(hide.clone(), "invisibleTime", time);
        assert_code(&node.call(request).await, response::INVALID_PARAMETER, &[time]);
    }
    // Offsets and receipts that fit no message in flight: one past the end, another pop's, another group's.
    for (name, value) in [
        ("offset", "2"),
        ("extraInfo", "0 17 60000 0 0 broker-a 0 0"),
        ("extraInfo", "9223372036854775807 17 60000 0 0 broker-a 0 0"),
        ("consumerGroup", "h"),
    ] {
        assert_code(&node.call(change(acknowledge.clone(), name, value)).await, response::SUCCESS, &[]);
        let answer = node.call(change(hide.clone(), name, value)).await;
        assert_code(&answer, response::NO_MESSAGE, &[]);
    }
    assert_code(&node.call(acknowledge).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn pops_that_can_not_be() {
    let (node, _) = node().await;
    node.create_topic("W", 1, 2).await;
    let cases: [(&'static str, &str, i32); 13] = [
        ("topic", "gone", response::TOPIC_NOT_EXIST),
        ("topic", "W", response::NO_PERMISSION),
        ("consumerGroup", "bad group", response::SUBSCRIPTION_GROUP_NOT_EXIST),
        ("maxMsgNums", "33", response::INVALID_PARAMETER),
        ("maxMsgNums", "0", response::INVALID_PARAMETER),
        ("maxMsgNums", "-1", response::INVALID_PARAMETER),
        ("invisibleTime", "0", response::INVALID_PARAMETER),
        ("invisibleTime", "9223372036854775807", response::INVALID_PARAMETER),
        // Nothing is wrong with these, but that they don't wait: clients of the Java server's tests send them.
        ("pollTime", "-1", response::POLLING_TIMEOUT),
        ("pollTime", "-9223372036854775808", response::POLLING_TIMEOUT),
        ("queueId", "-2", response::INVALID_PARAMETER),
        ("queueId", "1", response::INVALID_PARAMETER),
        ("bornTime", "1", response::POLLING_TIMEOUT),
    ];
    for (name, value, code) in cases {
        let answer = node.call(change(pop("g", "T"), name, value)).await;
        assert_eq!(answer.code, code, "{name} {value}: {answer:?}");
    }
    node.stop().await;
}

#[tokio::test]
async fn a_filter_takes_what_it_wants_and_passes_the_rest() {
    let (node, clock) = node().await;
    for (tag, text) in [("A", "1"), ("B", "2"), ("B", "3"), ("A", "4")] {
        assert_code(&node.call(send_to("T", 0, &[("TAGS", tag)], text)).await, 0, &[]);
    }
    let only = |tag: &str| change(pop("g", "T"), "exp", tag);
    let answer = node.call(only("B")).await;
    assert_eq!(
        (texts(&answer), answer.field("msgOffsetInfo")),
        (vec!["2".into(), "3".into()], Some("0 0 1,2"))
    );
    let popped = Popped::of(&answer);
    assert_code(&node.call(ack("g", &popped[1])).await, response::SUCCESS, &[]);
    pass(&node, &clock, INVISIBLE_MS);
    assert_eq!(node.wait_for("%RETRY%g_T", 0, 0).await.text(), "2");
    assert_eq!(texts(&node.call(only("B")).await), ["2"]);
    assert_code(&node.call(only("C")).await, response::POLLING_TIMEOUT, &[]);
    node.stop().await;
}

/// A long stretch that nobody wants has to be passed at once, not at the pace of polls.
#[tokio::test]
async fn a_rare_tag_is_found_behind_many_others() {
    let (node, _) = node().await;
    let others: Vec<_> = (0..64).map(|_| ("x", properties(&[("TAGS", "B")]))).collect();
    for _ in 0..80 {
        assert_code(&node.call(batch("T", &others)).await, 0, &[]);
    }
    assert_code(&node.call(send_to("T", 0, &[("TAGS", "A")], "rare")).await, 0, &[]);
    let waiting = change(long_pop("g", "T", 20_000), "exp", "A");
    assert_eq!(texts(&node.call(waiting).await), ["rare"]);
    node.stop().await;
}

#[tokio::test]
async fn a_group_begins_where_it_says() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b"]).await;
    let from_end = |group| change(pop(group, "T"), "initMode", 1);
    // Its first message is still in memory: nobody is too late for a young queue.
    assert_eq!(texts(&node.call(from_end("young")).await), ["a", "b"]);
    node.stop().await;
    let (node, _) = node_with(&[("initPopOffsetByCheckMsgInMem", "false")]).await;
    send_all(&node, &["a", "b"]).await;
    assert_eq!(texts(&node.call(from_end("g")).await), ["b"]);
    assert_eq!(texts(&node.call(pop("h", "T")).await), ["a", "b"]);
    // Who has looked at an empty queue misses nothing that is sent to it.
    node.create_topic("E", 1, 6).await;
    assert_code(&node.call(change(pop("g", "E"), "initMode", 1)).await, response::POLLING_TIMEOUT, &[]);
    for text in ["1", "2"] {
        assert_code(&node.call(send("E", text)).await, 0, &[]);
    }
    assert_eq!(texts(&node.call(change(pop("g", "E"), "initMode", 1)).await), ["1", "2"]);
    node.stop().await;
}

#[tokio::test]
async fn a_reset_group_gets_its_messages_again() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    let reset = Command::request(request::INVOKE_BROKER_TO_RESET_OFFSET)
        .with("topic", "T")
        .with("group", "g")
        .with("timestamp", -1)
        .with("isForce", true)
        .with("queueId", 0)
        .with("offset", 1);
    assert_code(&node.call(reset).await, 0, &[]);
    let answer = node.call(pop("g", "T")).await;
    assert_eq!(texts(&answer), ["b"]);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn a_deleted_topic_leaves_nothing_in_flight() {
    let (node, clock) = node().await;
    send_all(&node, &["a"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await).remove(0);
    let delete = Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T");
    assert_code(&node.call(delete).await, 0, &[]);
    assert_code(&node.call(ack("g", &popped)).await, response::TOPIC_NOT_EXIST, &[]);
    node.create_topic("T", 1, 6).await;
    assert_code(&node.call(pop("g", "T")).await, response::POLLING_TIMEOUT, &[]);
    // Where the old message was is now another one, which is none of the old pop's.
    send_all(&node, &["new"]).await;
    pass(&node, &clock, INVISIBLE_MS);
    let popped = node.call(pop("g", "T")).await;
    assert_eq!((texts(&popped), popped.field("msgOffsetInfo")), (vec!["new".to_owned()], Some("0 0 0")));
    assert!(node.all("%RETRY%g_T", 0).await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn too_many_in_flight_if_that_is_limited() {
    let settings = [("enablePopMessageThreshold", "true"), ("popInflightMessageThreshold", "1")];
    let (node, _) = node_with(&settings).await;
    send_all(&node, &["a", "b", "c"]).await;
    let two = || change(pop("g", "T"), "maxMsgNums", 2);
    let popped = Popped::of(&node.call(two()).await);
    assert_code(&node.call(two()).await, response::POLLING_TIMEOUT, &[]);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    assert_eq!(texts(&node.call(two()).await), ["c"]);
    node.stop().await;
}
