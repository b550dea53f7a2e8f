//! Consumer groups made, changed, deleted and listed by operators.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::body::group_table::SubscriptionGroupTable;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;

fn put(body: &str) -> Command {
    Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(body.to_owned())
}

async fn show(node: &Node, group: &str) -> Option<SubscriptionGroupConfig> {
    let answer =
        node.call(Command::request(request::GET_SUBSCRIPTIONGROUP_CONFIG).with("group", group)).await;
    match answer.code {
        response::SUCCESS => Some(SubscriptionGroupConfig::from_json_bytes(&answer.body).unwrap()),
        code => {
            assert_eq!(code, response::SUBSCRIPTION_GROUP_NOT_EXIST);
            None
        }
    }
}

async fn table(node: &Node) -> SubscriptionGroupTable {
    let answer = node.call(Command::request(request::GET_ALL_SUBSCRIPTIONGROUP_CONFIG)).await;
    SubscriptionGroupTable::from_json_bytes(&answer.body).unwrap()
}

#[tokio::test]
async fn a_group_is_made_changed_and_kept() {
    let node = Node::start_with(&[("autoCreateSubscriptionGroup", "false")]).await;
    assert_eq!(show(&node, "G").await, None);
    let body = r#"{"groupName":"G","retryMaxTimes":3,"attributes":{"+priority.factor":"2"},"newer":true}"#;
    assert_code(&node.call(put(body)).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    let group = show(&node, "G").await.unwrap();
    assert_eq!((group.retry_max_times, group.retry_queue_nums, group.consume_enable), (3, 1, true));
    assert_eq!(group.attributes.get("priority.factor").map(String::as_str), Some("2"));
    assert_eq!(group.extra.get("newer").and_then(|value| value.as_bool()), Some(true));
    assert_code(&node.call(put(r#"{"groupName":"G","consumeEnable":false}"#)).await, response::SUCCESS, &[]);
    let group = show(&node, "G").await.unwrap();
    assert!(!group.consume_enable && group.attributes.contains_key("priority.factor"));
    assert!(table(&node).await.subscription_group_table.contains_key("G"));
    node.stop().await;
}

#[tokio::test]
async fn what_is_no_group_is_refused() {
    let node = Node::start().await;
    let refused = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    refused(put(r#"{"groupName":"a b"}"#), response::INVALID_PARAMETER, &["' '"]).await;
    let long = format!(r#"{{"groupName":"{}"}}"#, "g".repeat(121));
    refused(put(&long), response::INVALID_PARAMETER, &["121", "120"]).await;
    refused(
        put(r#"{"groupName":"G","attributes":{"+x":"1"}}"#),
        response::SYSTEM_ERROR,
        &["unsupported key: x"],
    )
    .await;
    refused(put(r#"{"groupName":"#), response::SYSTEM_ERROR, &["JSON"]).await;
    let list = r#"{"groupConfigList":[{"groupName":"A"},{"groupName":"b b"}]}"#;
    let list = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST).body(list);
    refused(list, response::INVALID_PARAMETER, &["b b"]).await;
    assert!(!table(&node).await.subscription_group_table.contains_key("A"));
    node.stop().await;
}

#[tokio::test]
async fn a_deleted_group_is_gone_with_its_offsets() {
    let node = Node::start_with(&[("autoCreateSubscriptionGroup", "false")]).await;
    node.create_topic("T", 1, 6).await;
    node.put_group("G", 1, 16).await;
    let commit = commit("G", "T", 0, 2);
    assert_code(&node.call(commit).await, response::SUCCESS, &[]);
    let delete = |group: &str| {
        Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", group).with("cleanOffset", true)
    };
    assert_code(&node.call(delete("G")).await, response::SUCCESS, &[]);
    assert_code(&node.call(delete("TOOLS_CONSUMER")).await, response::INVALID_PARAMETER, &["TOOLS_CONSUMER"]);
    let node = node.restart().await;
    assert_eq!(show(&node, "G").await, None);
    let offsets = node.call(Command::request(request::GET_ALL_CONSUMER_OFFSET)).await;
    assert!(!String::from_utf8_lossy(&offsets.body).contains("T@G"));
    node.stop().await;
}

/// Several first commits of a new group at once: one table replaced the other, and offsets of some queues vanished.
#[tokio::test]
async fn first_commits_of_many_connections_are_all_kept() {
    const CONNECTIONS: i64 = 32;
    let node = Node::start().await;
    node.create_topic("T", CONNECTIONS as i32, 6).await;
    let commit = |group: &str, queue_id: i64| commit(group, "T", queue_id as i32, queue_id + 1);
    let query = |group: &str, queue_id: i64| {
        Command::request(request::QUERY_CONSUMER_OFFSET)
            .with("consumerGroup", group)
            .with("topic", "T")
            .with("queueId", queue_id)
    };
    let mut peers = Vec::new();
    for _ in 0..CONNECTIONS {
        peers.push(node.connect().await);
    }
    let groups: Vec<String> = (0..20).map(|round| format!("G{round}")).collect();
    for group in &groups {
        node.put_group(group, 1, 16).await;
        let calls: Vec<_> =
            peers.iter().zip(0..).map(|(peer, queue_id)| peer.start(commit(group, queue_id))).collect();
        for call in calls {
            assert_code(&call.await, response::SUCCESS, &[]);
        }
    }
    drop(peers);
    let node = node.restart().await;
    for group in &groups {
        for queue_id in 0..CONNECTIONS {
            assert_eq!(number(&node.call(query(group, queue_id)).await, "offset"), queue_id + 1, "{group}");
        }
    }
    node.stop().await;
}
