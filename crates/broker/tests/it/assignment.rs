//! Which queues a client is told to read, and how: requests 400, 401 and 402.

use crate::clients::{body, heartbeat};
use crate::node::Node;
use crate::requests::assert_code;
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

fn query(client_id: &str, topic: &str, model: &str, strategy: &str) -> Command {
    let body = format!(
        r#"{{"clientId":"{client_id}","consumerGroup":"g","messageModel":"{model}","strategyName":"{strategy}","topic":"{topic}"}}"#
    );
    Command::request(request::QUERY_ASSIGNMENT).body(body)
}

fn mode(topic: &str, group: &str, mode: &str, share: i32) -> Command {
    let body = format!(
        r#"{{"consumerGroup":"{group}","mode":"{mode}","popShareQueueNum":{share},"topic":"{topic}"}}"#
    );
    Command::request(request::SET_MESSAGE_REQUEST_MODE).body(body)
}

async fn modes(node: &Node) -> String {
    let answer = node.call(Command::request(request::GET_ALL_MESSAGE_REQUEST_MODE)).await;
    body(&answer).to_owned()
}

/// What an answer assigns: `mode id id …`; nothing at all if it says to keep what there is.
fn assigned(topic: &str, mode: &str, ids: Option<&[i32]>) -> String {
    let entry = |id: &i32| {
        format!(
            r#"{{"messageQueue":{{"brokerName":"broker-a","queueId":{id},"topic":"{topic}"}},"mode":"{mode}"}}"#
        )
    };
    match ids {
        None => "{}".to_owned(),
        Some(ids) => {
            let entries: Vec<String> = ids.iter().map(entry).collect();
            format!(r#"{{"messageQueueAssignments":[{}]}}"#, entries.join(","))
        }
    }
}

async fn check(node: &Node, query: Command, expected: &str) {
    let answer = node.call(query).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!(body(&answer), expected);
}

/// A node with topic `T` of 8 queues and members of the group `g`.
async fn node_with(settings: &[(&str, &str)], clients: &[&str]) -> (Node, Vec<Wire>) {
    let node = Node::start_with(settings).await;
    node.create_topic("T", 8, 6).await;
    let mut members = Vec::new();
    for client in clients {
        let mut member = Wire::connect(&node).await;
        assert_code(&member.call(heartbeat(client, "g", &["T"])).await, 0, &[]);
        members.push(member);
    }
    (node, members)
}

#[tokio::test]
async fn clients_share_the_queues_of_a_topic() {
    let (node, members) = node_with(&[], &["c2", "c1", "c3"]).await;
    let check = async |client: &str, strategy: &str, ids: Option<&[i32]>| {
        check(&node, query(client, "T", "CLUSTERING", strategy), &assigned("T", "PULL", ids)).await;
    };
    check("c1", "AVG", Some(&[0, 1, 2])).await;
    check("c2", "AVG", Some(&[3, 4, 5])).await;
    check("c3", "AVG", Some(&[6, 7])).await;
    check("c2", "AVG_BY_CIRCLE", Some(&[1, 4, 7])).await;
    check("stranger", "AVG", Some(&[])).await;
    check("c1", "CONFIG", None).await;
    check("", "AVG", None).await;
    drop(members);
    node.stop().await;
}

#[tokio::test]
async fn who_gets_everything_and_who_nothing() {
    let (node, members) = node_with(&[], &["c1"]).await;
    let all: Vec<i32> = (0..8).collect();
    check(&node, query("c9", "T", "BROADCASTING", "AVG"), &assigned("T", "PULL", Some(&all))).await;
    check(&node, query("c1", "Unknown", "CLUSTERING", "AVG"), "{}").await;
    check(&node, query("c1", "Unknown", "BROADCASTING", "AVG"), "{}").await;
    node.create_topic("Closed", 4, 2).await;
    check(&node, query("c1", "Closed", "CLUSTERING", "AVG"), "{}").await;
    check(&node, query("c1", "%LMQ%x", "CLUSTERING", "AVG"), &assigned("%LMQ%x", "PULL", Some(&[0]))).await;
    drop(members);
    node.stop().await;
    let node = Node::start().await;
    node.create_topic("T", 8, 6).await;
    check(&node, query("c1", "T", "CLUSTERING", "AVG"), "{}").await;
    node.stop().await;
    let (node, members) = node_with(&[("serverLoadBalancerEnable", "false")], &["c1", "c2"]).await;
    check(&node, query("c1", "T", "CLUSTERING", "AVG"), &assigned("T", "PULL", Some(&all))).await;
    drop(members);
    node.stop().await;
}

#[tokio::test]
async fn an_operator_switches_a_group_to_pop_and_back() {
    let (node, members) = node_with(&[], &["c1", "c2", "c3", "c4"]).await;
    let ask = |client: &str| query(client, "T", "CLUSTERING", "AVG");
    assert_code(&node.call(mode("T", "g", "POP", 1)).await, 0, &[]);
    check(&node, ask("c1"), &assigned("T", "POP", Some(&[0, 1, 2, 3]))).await;
    check(&node, ask("c4"), &assigned("T", "POP", Some(&[0, 1, 6, 7]))).await;
    assert_code(&node.call(mode("T", "g", "POP", 0)).await, 0, &[]);
    check(&node, ask("c1"), &assigned("T", "POP", Some(&[-1]))).await;
    // What comes back after failures is pulled.
    let retries = query("c1", "%RETRY%g", "CLUSTERING", "AVG");
    check(&node, retries, &assigned("%RETRY%g", "PULL", Some(&[0]))).await;
    assert_code(&node.call(mode("T", "g", "PULL", 0)).await, 0, &[]);
    check(&node, ask("c1"), &assigned("T", "PULL", Some(&[0, 1]))).await;
    drop(members);
    node.stop().await;
}

#[tokio::test]
async fn the_default_mode_is_the_brokers() {
    let settings = [("defaultMessageRequestMode", "POP"), ("defaultPopShareQueueNum", "1")];
    let (node, members) = node_with(&settings, &["c1", "c2", "c3", "c4"]).await;
    check(&node, query("c2", "T", "CLUSTERING", "AVG"), &assigned("T", "POP", Some(&[2, 3, 4, 5]))).await;
    drop(members);
    node.stop().await;
}

#[tokio::test]
async fn a_mode_survives_a_restart_and_goes_with_its_topic_or_group() {
    let node = Node::start().await;
    assert_eq!(modes(&node).await, r#"{"messageRequestModeMap":{}}"#);
    node.create_topic("T", 1, 6).await;
    node.create_topic("U", 1, 6).await;
    for (topic, group) in [("T", "g"), ("T", "h"), ("U", "g")] {
        assert_code(&node.call(mode(topic, group, "POP", 4)).await, 0, &[]);
    }
    let node = node.restart().await;
    let of = |group: &str| {
        format!(r#""{group}":{{"consumerGroup":"{group}","mode":"POP","popShareQueueNum":4,"topic":"T"}}"#)
    };
    let group = Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "h");
    let topic = Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "U");
    let both = format!(r#"{{"T":{{{},{}}}"#, of("g"), of("h"));
    assert!(modes(&node).await.contains(&both), "{}", modes(&node).await);
    assert_code(&node.call(group).await, 0, &[]);
    assert_code(&node.call(topic).await, 0, &[]);
    let left = format!(r#"{{"messageRequestModeMap":{{"T":{{{}}}}}}}"#, of("g"));
    assert_eq!(modes(&node).await, left);
    let node = node.restart().await;
    assert_eq!(modes(&node).await, left);
    node.stop().await;
}

#[tokio::test]
async fn modes_that_make_no_sense_are_refused() {
    let node = Node::start_with(&[("autoCreateSubscriptionGroup", "false")]).await;
    node.create_topic("T", 1, 6).await;
    node.put_group("g", 1, 16).await;
    let check = async |request: Command, code: i32, word: &str| {
        assert_code(&node.call(request).await, code, &[word]);
    };
    check(mode("%RETRY%g", "g", "POP", 1), response::NO_PERMISSION, "retry topic").await;
    check(mode("Unknown", "g", "POP", 1), response::TOPIC_NOT_EXIST, "Unknown").await;
    check(mode("T", "unknown", "POP", 1), response::SUBSCRIPTION_GROUP_NOT_EXIST, "unknown").await;
    check(mode("T", "g", "PUSH", 1), response::INVALID_PARAMETER, "PULL or POP").await;
    check(Command::request(request::SET_MESSAGE_REQUEST_MODE), response::SYSTEM_ERROR, "body").await;
    check(Command::request(request::QUERY_ASSIGNMENT), response::SYSTEM_ERROR, "body").await;
    check(query("c", "T", "UNHEARD", "AVG"), response::SYSTEM_ERROR, "messageModel").await;
    assert_eq!(modes(&node).await, r#"{"messageRequestModeMap":{}}"#);
    node.stop().await;
}
