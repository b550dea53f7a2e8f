//! What users may ask.

use super::*;

const USER: (&str, &str) = ("u", "p");

/// A broker with rights and a user that has none yet. Retries come at once.
async fn node() -> Node {
    let mut settings = AUTHORIZATION.to_vec();
    settings.push(("messageDelayLevel", "1s 1s 1s 1s"));
    let node = Node::start_with(&settings).await;
    create_user(&node, USER).await;
    node
}

async fn check(node: &Node, request: Command, code: i32, words: &[&str]) -> Command {
    let answer = node.call(signed(USER, request)).await;
    assert_code(&answer, code, words);
    answer
}

#[tokio::test]
async fn a_producer_needs_its_topics() {
    let node = node().await;
    let denied = "User:u has no permission to access Topic:orders-eu from 127.0.0.1, no matched policies.";
    check(&node, send("orders-eu", "x"), response::NO_PERMISSION, &[denied]).await;
    allow(&node, "u", "Topic:orders*", "Pub").await;
    check(&node, send("orders-eu", "x"), response::SUCCESS, &[]).await;
    check(&node, batch("orders-eu", &[("a", String::new())]), response::SUCCESS, &[]).await;
    check(&node, pull("g", "orders-eu", 0, 0), response::NO_PERMISSION, &["Topic:orders-eu"]).await;
    let deny = acl("u", "Topic:orders-eu", "All", "Deny");
    assert_code(&node.call(admin(deny)).await, response::SUCCESS, &[]);
    check(&node, send("orders-eu", "x"), response::NO_PERMISSION, &["the decision is deny."]).await;
    check(&node, send("orders-us", "x"), response::SUCCESS, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn a_policy_may_be_for_some_places_only() {
    let node = node().await;
    let body = r#"{"policies":[{"entries":[{"resource":"Topic:T","actions":["Pub"],"decision":"Allow","sourceIps":["203.0.113.0/24"]}]}]}"#;
    let create = Command::request(request::AUTH_CREATE_ACL).with("subject", "User:u").body(body);
    assert_code(&node.call(admin(create)).await, response::SUCCESS, &[]);
    check(&node, send("T", "x"), response::NO_PERMISSION, &["from 127.0.0.1"]).await;
    let answer = node.call_from_elsewhere(signed(USER, send("T", "x"))).await;
    assert_code(&answer, response::SUCCESS, &[]);
    node.stop().await;
}

/// A consumer with the rights to subscribe and no others could not return the messages that it failed on.
#[tokio::test]
async fn whoever_may_only_subscribe_has_messages_retried_and_dead_lettered() {
    let node = node().await;
    assert_code(&node.call(admin(send("T", "fails"))).await, response::SUCCESS, &[]);
    allow(&node, "u", "Topic:T", "Sub").await;
    allow(&node, "u", "Group:g", "Sub").await;
    check(&node, send("T", "x"), response::NO_PERMISSION, &["Topic:T"]).await;
    let heartbeat = Command::request(request::HEART_BEAT).body(
        r#"{"clientID":"c","producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}],"consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T","subString":"*"},{"topic":"%RETRY%g","subString":"*"}]}]}"#,
    );
    check(&node, heartbeat, response::SUCCESS, &[]).await;
    let max = Command::request(request::GET_MAX_OFFSET).with("topic", "T").with("queueId", 0);
    check(&node, max, response::SUCCESS, &[]).await;
    let message = messages(&check(&node, pull("g", "T", 0, 0), response::SUCCESS, &[]).await).remove(0);
    check(&node, send_back("g", message.phy_offset, 1), response::SUCCESS, &[]).await;
    let retried = check(&node, long_pull("g", "%RETRY%g", 0, 0, 20_000), response::SUCCESS, &[]).await;
    assert_eq!(messages(&retried)[0].text(), "fails");
    // What clients do when the request to return a message fails, and orderly consumers when they give one up.
    let returned = change(send("%RETRY%g", "returned"), "a", "CLIENT_INNER_PRODUCER");
    check(&node, returned, response::SUCCESS, &[]).await;
    check(&node, send_back("g", message.phy_offset, -1), response::SUCCESS, &[]).await;
    let commit = Command::request(request::UPDATE_CONSUMER_OFFSET)
        .with("consumerGroup", "g")
        .with("topic", "%RETRY%g")
        .with("queueId", 0)
        .with("commitOffset", 1);
    check(&node, commit, response::SUCCESS, &[]).await;
    let dead = messages(&node.call(admin(pull("tool", "%DLQ%g", 0, 0))).await);
    assert_eq!(dead[0].text(), "fails");
    assert_code(&node.call(admin(send("theirs", "secret"))).await, response::SUCCESS, &[]);
    let theirs = messages(&node.call(admin(pull("tool", "theirs", 0, 0))).await)[0].phy_offset;
    for (request, resource) in [
        (send_back("g", theirs, 1), "Topic:theirs"),
        (send_back("h", message.phy_offset, 1), "Group:h"),
        (change(send("%RETRY%h", "x"), "a", "g"), "Group:h"),
        (pull("g", "%RETRY%h", 0, 0), "Group:h"),
    ] {
        check(&node, request, response::NO_PERMISSION, &[resource]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn whoever_may_only_subscribe_pops_and_acknowledges() {
    let node = node().await;
    assert_code(&node.call(admin(send("T", "a"))).await, response::SUCCESS, &[]);
    check(&node, pop("g", "T"), response::NO_PERMISSION, &["Topic:T"]).await;
    allow(&node, "u", "Topic:T", "Sub").await;
    allow(&node, "u", "Group:g", "Sub").await;
    let popped = check(&node, pop("g", "T"), response::SUCCESS, &[]).await;
    assert_eq!(messages(&popped).len(), 1);
    let ack = |topic: &str| {
        Command::request(request::ACK_MESSAGE)
            .with("consumerGroup", "g")
            .with("topic", topic)
            .with("queueId", 0)
            .with("extraInfo", format!("0 {} 60000 0 0 broker-a 0 0", number(&popped, "popTime")))
            .with("offset", 0)
    };
    check(&node, ack("T"), response::SUCCESS, &[]).await;
    // Receipts of another attempt name the retry topic of group and topic.
    let allowed = |answer: &Command| answer.code != response::NO_PERMISSION;
    assert!(allowed(&node.call(signed(USER, ack("%RETRY%g_T"))).await));
    assert!(!allowed(&node.call(signed(USER, ack("%RETRY%g_U"))).await));
    node.stop().await;
}

/// In the Java server these had no rule, so that every user could ask them.
#[tokio::test]
async fn what_had_no_rule_needs_a_right() {
    let node = node().await;
    let group = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(r#"{"groupName":"g"}"#);
    check(&node, group.clone(), response::NO_PERMISSION, &["Group:g"]).await;
    for code in [
        request::UPDATE_BROKER_CONFIG,
        request::GET_BROKER_CONFIG,
        request::GET_BROKER_RUNTIME_INFO,
        request::CLEAN_UNUSED_TOPIC,
        request::DELETE_EXPIRED_COMMITLOG,
        request::GET_ALL_CONSUMER_OFFSET,
        request::SET_COMMITLOG_READ_MODE,
    ] {
        check(&node, Command::request(code), response::NO_PERMISSION, &["Cluster:DefaultCluster"]).await;
    }
    let lite_pull = Command { code: request::LITE_PULL_MESSAGE, ..pull("g", "T", 0, 0) };
    check(&node, lite_pull, response::NO_PERMISSION, &["Topic:T"]).await;
    allow(&node, "u", "Group:g", "Create").await;
    check(&node, group, response::SUCCESS, &[]).await;
    allow(&node, "u", "*", "All").await;
    let unknown = check(&node, Command::request(3442), response::REQUEST_CODE_NOT_SUPPORTED, &[]).await;
    assert!(unknown.body.is_empty());
    node.stop().await;
}
