//! SQL92 filters, for pulls with their own expression and for those by the group's heartbeats.

use crate::clients::of_group;
use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

async fn node() -> Node {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    node
}

async fn send_all(node: &Node, numbers: std::ops::Range<i32>) {
    for n in numbers {
        let (price, region) = (n.to_string(), if n % 2 == 0 { "EU" } else { "US" });
        let message = send_to("T", 0, &[("price", &price), ("region", region)], n.to_string());
        assert_code(&node.call(message).await, 0, &[]);
    }
}

fn sql(pull: Command, expression: &str) -> Command {
    change(pull, "subscription", expression).with("expressionType", "SQL92")
}

/// By what the group's heartbeats say.
fn by_heartbeat(pull: Command, version: i64) -> Command {
    const SUSPEND: i32 = 2;
    change(change(pull, "sysFlag", SUSPEND), "subVersion", version)
}

fn texts(answer: &Command) -> Vec<String> {
    messages(answer).iter().map(|message| message.text().to_owned()).collect()
}

fn heartbeat(expression: &str, version: i64) -> Command {
    let body = format!(
        r#"{{"clientID":"c1","consumerDataSet":[{{"consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":[{{"expressionType":"SQL92","subString":"{expression}","subVersion":{version},"topic":"T"}}]}}]}}"#
    );
    Command::request(request::HEART_BEAT).body(body)
}

#[tokio::test]
async fn a_pull_gets_what_its_expression_is_true_for() {
    let node = node().await;
    send_all(&node, 0..40).await;
    let answer = node.call(sql(pull("g", "T", 0, 0), "price > 34 AND region = 'EU'")).await;
    assert_code(&answer, response::SUCCESS, &["FOUND"]);
    assert_eq!(texts(&answer), ["36", "38"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 40);

    let few = change(sql(pull("g", "T", 0, 0), "region = 'US' AND price >= 5"), "maxMsgNums", 3);
    let answer = node.call(few).await;
    assert_eq!(texts(&answer), ["5", "7", "9"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 10);

    // Nothing is wanted, nothing is missed, and nothing is read twice.
    let answer = node.call(sql(pull("g", "T", 0, 0), "missing = 1 OR region > 5")).await;
    assert_code(&answer, response::PULL_RETRY_IMMEDIATELY, &["NO_MATCHED_MESSAGE"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 40);
    node.stop().await;
}

#[tokio::test]
async fn what_is_not_in_memory_is_filtered_too() {
    let node = node().await;
    send_all(&node, 0..100).await;
    let node = node.restart().await;
    let mut found = Vec::new();
    let mut next = 0;
    while next < 100 {
        let answer =
            node.call(sql(pull("g", "T", 0, next), "price BETWEEN 10 AND 60 AND region = 'US'")).await;
        assert!([response::SUCCESS, response::PULL_RETRY_IMMEDIATELY].contains(&answer.code), "{answer:?}");
        found.extend(texts(&answer));
        assert!(number(&answer, "nextBeginOffset") > next, "{answer:?}");
        next = number(&answer, "nextBeginOffset");
    }
    let expected: Vec<String> = (10..=60).filter(|n| n % 2 == 1).map(|n| n.to_string()).collect();
    assert_eq!(found, expected);
    node.stop().await;
}

#[tokio::test]
async fn an_unwanted_message_does_not_end_the_wait() {
    let node = node().await;
    let waiting = node.connect().await;
    let wanted = sql(long_pull("g", "T", 0, 0, 10_000), "price = 200");
    let pulled = waiting.start(wanted);
    node.holds(1).await;
    send_all(&node, 0..100).await;
    assert_eq!(node.hold_count(), 1);
    send_all(&node, 200..201).await;
    let answer = pulled.await;
    assert_eq!(texts(&answer), ["200"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 101);
    // When its time is over it goes on behind what it has seen.
    let pulled = waiting.start(sql(long_pull("g", "T", 0, 101, 200), "price = 300"));
    node.holds(1).await;
    send_all(&node, 0..1).await;
    let answer = pulled.await;
    assert_code(&answer, response::PULL_RETRY_IMMEDIATELY, &["NO_MATCHED_MESSAGE"]);
    assert_eq!(number(&answer, "nextBeginOffset"), 102);
    node.stop().await;
}

#[tokio::test]
async fn pulls_by_the_groups_filter_need_it_to_be_there_and_new_enough() {
    let node = node().await;
    send_all(&node, 0..10).await;
    let consumer = node.connect().await;
    assert_code(&consumer.call(heartbeat("price > 7", 50)).await, 0, &[]);
    let pull_at = |version: i64| by_heartbeat(pull("g", "T", 0, 0), version);
    let answer = node.call(pull_at(50)).await;
    assert_eq!(texts(&answer), ["8", "9"]);
    assert_code(&node.call(pull_at(51)).await, response::SUBSCRIPTION_NOT_LATEST, &["version 50", "51"]);

    // Of two members with different expressions the newer one counts.
    assert_code(&consumer.call(heartbeat("price > 8", 60)).await, 0, &[]);
    assert_code(&consumer.call(heartbeat("price > 7", 50)).await, 0, &[]);
    assert_eq!(texts(&node.call(pull_at(60)).await), ["9"]);

    // A wrong one lets nothing through.
    assert_code(&consumer.call(heartbeat("price > ", 70)).await, 0, &[]);
    let answer = node.call(pull_at(70)).await;
    assert_code(&answer, response::FILTER_DATA_NOT_EXIST, &["filter of g for T", "character 9"]);
    assert_code(&consumer.call(heartbeat("price > 6", 80)).await, 0, &[]);
    assert_eq!(texts(&node.call(pull_at(80)).await), ["7", "8", "9"]);
    node.stop().await;
}

#[tokio::test]
async fn filters_survive_a_restart_in_javas_file() {
    let node = node().await;
    send_all(&node, 0..10).await;
    let consumer = node.connect().await;
    assert_code(&consumer.call(heartbeat("price > 7", 50)).await, 0, &[]);
    drop(consumer);
    let dir = node.stop().await;
    let file = dir.path().join("config/consumerFilter.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"expression\":\"price > 7\"") && text.contains("\"bitNum\":112"), "{text}");
    // As the Java server would have changed it.
    std::fs::write(&file, text.replace("price > 7", "price > 8")).unwrap();
    let node = Node::start_in(dir).await;
    let consumer = node.connect().await;
    assert_code(&consumer.call(heartbeat("price > 7", 50)).await, 0, &[]);
    let answer = node.call(by_heartbeat(pull("g", "T", 0, 0), 50)).await;
    assert_eq!(texts(&answer), ["9"], "what the file has is as new as what the heartbeat brings");
    node.stop().await;
}

#[tokio::test]
async fn where_filters_are_off_consumers_are_told_so() {
    let node = Node::start_with(&[("enablePropertyFilter", "false")]).await;
    node.create_topic("T", 1, 6).await;
    send_all(&node, 0..2).await;
    let answer = node.call(sql(pull("g", "T", 0, 0), "price > 0")).await;
    assert_code(&answer, response::SYSTEM_ERROR, &["filter message by SQL92", "enablePropertyFilter"]);
    let consumer = node.connect().await;
    assert_code(&consumer.call(heartbeat("price > 0", 50)).await, 0, &[]);
    let answer = node.call(by_heartbeat(pull("g", "T", 0, 0), 50)).await;
    assert_code(&answer, response::SYSTEM_ERROR, &["filter message by SQL92"]);
    node.stop().await;
}

#[tokio::test]
async fn hostile_expressions_are_refused() {
    let node = node().await;
    send_all(&node, 0..1).await;
    for (expression, words) in [
        ("(".repeat(20_000), "nested deeper than 100 levels"),
        (format!("price{}", " IS NULL".repeat(5_000)), "nested deeper"),
        (" ".repeat(5_000), "empty"),
        (format!("price > 0 AND region IN ('{}')", "x".repeat(70_000)), "over the limit of 65536"),
    ] {
        let answer = node.call(sql(pull("g", "T", 0, 0), &expression)).await;
        assert_code(&answer, response::SUBSCRIPTION_PARSE_FAILED, &[words]);
    }
    assert_code(&node.call(of_group(request::GET_CONSUMER_LIST_BY_GROUP, "g")).await, 1, &[]);
    node.stop().await;
}
