//! What is in flight over a restart, between this server and the Java server, and for tools.

use crate::node::Node;
use crate::pop::*;
use crate::pop_consumer::*;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::collections::BTreeSet;

const REVIVE_TOPIC: &str = "rmq_sys_REVIVE_LOG_DefaultCluster";

#[tokio::test]
async fn receipts_stay_good_over_a_restart() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b", "c", "d"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    let answer = node.call(change_invisible("g", &popped[2], 600_000)).await;
    let renewed = popped[2].renewed(&answer);
    let node = node.restart().await;
    // The group goes on where it was.
    assert_code(&node.call(pop("g", "T")).await, response::POLLING_TIMEOUT, &[]);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    assert_code(&node.call(ack("g", &renewed)).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    pass(&node, &clock, 600_001);
    node.wait_for("%RETRY%g_T", 0, 1).await;
    let retried: BTreeSet<_> =
        node.all("%RETRY%g_T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(retried, BTreeSet::from(["b".to_owned(), "d".to_owned()]));
    node.stop().await;
}

#[tokio::test]
async fn tools_see_what_is_in_flight() {
    let (node, _) = node().await;
    send_all(&node, &["a", "b", "c"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    assert_code(&node.call(ack("g", &popped[0])).await, response::SUCCESS, &[]);
    let stats = Command::request(request::GET_CONSUME_STATS).with("consumerGroup", "g").with("topic", "T");
    let answer = node.call(stats).await;
    let text = String::from_utf8_lossy(&answer.body);
    for part in [r#""brokerOffset":3"#, r#""consumerOffset":1"#, r#""pullOffset":3"#] {
        assert!(text.contains(part), "{part}: {text}");
    }
    node.stop().await;
}

/// A record as a Java server brings it to its revive topic.
async fn revive_record(node: &Node, tag: &str, body: &str) {
    assert_code(&node.call(send_to(REVIVE_TOPIC, 0, &[("TAGS", tag)], body)).await, 0, &[]);
}

#[tokio::test]
async fn what_a_java_server_had_in_flight_is_taken_over() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b", "c", "d"]).await;
    node.put_group("g", 1, 16).await;
    let commit = commit("g", "T", 0, 4);
    assert_code(&node.call(commit).await, 0, &[]);
    let point = r#"{"bm":8,"bn":"broker-a","c":"g","d":[0,1,2,3],"it":60000,"n":4,"pt":1800000000000,"q":0,"ro":0,"so":0,"t":"T"}"#;
    revive_record(&node, "ck", point).await;
    revive_record(&node, "ck", "[").await;
    let ack = r#"{"ao":1,"bn":"broker-a","c":"g","pt":1800000000000,"q":0,"so":0,"t":"T"}"#;
    revive_record(&node, "ack", ack).await;
    let node = node.restart().await;
    pass(&node, &clock, INVISIBLE_MS + 3_000);
    node.wait_for("%RETRY%g_T", 0, 1).await;
    let retried: Vec<_> =
        node.all("%RETRY%g_T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(retried, ["a", "c"]);
    node.stop().await;
}

#[tokio::test]
async fn what_is_in_flight_at_a_stop_is_left_for_a_java_server() {
    let (node, clock) = node().await;
    send_all(&node, &["a", "b", "c"]).await;
    let answer = node.call(pop("g", "T")).await;
    assert_code(&node.call(ack("g", &Popped::of(&answer)[1])).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    let left = node.all(REVIVE_TOPIC, number(&answer, "reviveQid") as i32).await;
    let point = r#"{"bm":2,"bn":"broker-a","c":"g","d":[0,1,2],"it":60000,"n":3,"pt":1800000000000,"q":0,"ro":0,"so":0,"t":"T"}"#;
    assert_eq!(left.iter().map(Message::text).collect::<Vec<_>>(), [point]);
    assert_eq!(left[0].property("UNIQ_KEY"), Some("T@0@0@g@1800000000000@broker-a@ck"));
    assert_eq!(left[0].property("TIMER_DELIVER_MS"), Some("1800000059000"));
    // The next start of this server doesn't count them twice.
    pass(&node, &clock, INVISIBLE_MS);
    node.wait_for("%RETRY%g_T", 0, 1).await;
    pass(&node, &clock, INVISIBLE_MS);
    assert_eq!(node.all("%RETRY%g_T", 0).await.len(), 2);
    node.stop().await;
}
