//! Access control: who asks, and whether it may.

mod rights;
mod users;

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::properties_text;
use roxmq_protocol::signature::SigningKey;
use std::time::Duration;

/// The super user that the configuration names.
const ADMIN: (&str, &str) = ("admin", "admin-password");
const AUTHENTICATION: [(&str, &str); 2] = [
    ("authenticationEnabled", "true"),
    ("initAuthenticationUser", r#"{"username":"admin","password":"admin-password"}"#),
];
const AUTHORIZATION: [(&str, &str); 3] =
    [AUTHENTICATION[0], AUTHENTICATION[1], ("authorizationEnabled", "true")];

/// The request as the user with this password sends it.
fn signed((user, password): (&str, &str), request: Command) -> Command {
    SigningKey::new(password).sign_command(user, request)
}

fn admin(request: Command) -> Command {
    signed(ADMIN, request)
}

fn user_request(code: i32, name: &str, body: &str) -> Command {
    Command::request(code).with("username", name).body(body.to_owned())
}

/// Makes a normal user.
async fn create_user(node: &Node, (name, password): (&str, &str)) {
    let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
    let created = node.call(admin(user_request(request::AUTH_CREATE_USER, name, &body))).await;
    assert_code(&created, response::SUCCESS, &[]);
}

fn acl(name: &str, resource: &str, actions: &str, decision: &str) -> Command {
    let body = format!(
        r#"{{"subject":"User:{name}","policies":[{{"policyType":"Custom","entries":[{{"resource":"{resource}","actions":["{actions}"],"decision":"{decision}"}}]}}]}}"#
    );
    Command::request(request::AUTH_CREATE_ACL).with("subject", format!("User:{name}")).body(body)
}

async fn allow(node: &Node, name: &str, resource: &str, actions: &str) {
    let allowed = node.call(admin(acl(name, resource, actions, "Allow"))).await;
    assert_code(&allowed, response::SUCCESS, &[]);
}

#[tokio::test]
async fn every_request_has_to_be_signed_by_a_user() {
    let node = Node::start_with(&AUTHENTICATION).await;
    let refused = async |request: Command, expected: &str| {
        let answer = node.call(request).await;
        assert_eq!((answer.code, answer.remark.as_deref()), (response::NO_PERMISSION, Some(expected)));
    };
    let heartbeat = || Command::request(request::HEART_BEAT).body(r#"{"clientID":"c"}"#);
    for request in [send("T", "x"), pull("g", "T", 0, 0), pop("g", "T"), heartbeat(), Command::request(3442)]
    {
        refused(request, "username cannot be null.").await;
    }
    refused(signed(("nobody", "p"), send("T", "x")), "User:nobody is not found.").await;
    refused(signed((ADMIN.0, "wrong"), send("T", "x")), "check signature failed.").await;
    let changed = admin(send("T", "x")).body("y");
    refused(changed, "check signature failed.").await;
    refused(send("T", "x").with("AccessKey", "admin"), "check signature failed.").await;
    refused(send("T", "x").with("AccessKey", "admin").with("Signature", "%%"), "check signature failed.")
        .await;
    assert_code(&node.call(admin(send("T", "x"))).await, response::SUCCESS, &[]);
    assert_code(&node.call(admin(heartbeat())).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn what_nobody_waits_for_is_checked_too() {
    let node = Node::start_with(&AUTHENTICATION).await;
    assert_code(&node.call(admin(send("T", "a"))).await, response::SUCCESS, &[]);
    node.oneway(send("T", "unsigned").oneway()).await;
    node.oneway(admin(send("T", "signed").oneway())).await;
    // The same connection: it is served behind the others.
    let all = messages(&node.call(admin(pull("g", "T", 0, 0))).await);
    assert_eq!(all.iter().map(Message::text).collect::<Vec<_>>(), ["a", "signed"]);
    node.stop().await;
}

#[tokio::test]
async fn what_is_on_both_lists_passes_unchecked() {
    let mut settings = AUTHORIZATION.to_vec();
    settings.extend([("authenticationWhitelist", "310, 11"), ("authorizationWhitelist", "310,34")]);
    let node = Node::start_with(&settings).await;
    create_user(&node, ("u", "p")).await;
    assert_code(&node.call(send("T", "x")).await, response::SUCCESS, &[]);
    // Without a proven name there is nobody whose rights could be looked at.
    assert_code(&node.call(pull("g", "T", 0, 0)).await, response::NO_PERMISSION, &["cannot be null"]);
    let heartbeat = Command::request(request::HEART_BEAT).body(
        r#"{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T","subString":"*"}]}]}"#,
    );
    assert_code(&node.call(heartbeat.clone()).await, response::NO_PERMISSION, &["cannot be null"]);
    assert_code(&node.call(signed(("u", "p"), heartbeat)).await, response::SUCCESS, &[]);
    node.stop().await;
}

/// Anybody who reached the broker could set paths and keys that ran commands (CVE-2023-33246), and later still read
/// passwords out of its configuration.
#[tokio::test]
async fn users_with_the_right_may_operate_from_elsewhere() {
    let node = Node::start_with(&AUTHORIZATION).await;
    create_user(&node, ("u", "p")).await;
    let set = |text: &str| Command::request(request::UPDATE_BROKER_CONFIG).body(text.to_owned());
    let answer = node.call_from_elsewhere(set("traceOn=false")).await;
    assert_code(&answer, response::NO_PERMISSION, &["username cannot be null."]);
    let answer = node.call_from_elsewhere(signed(("u", "p"), set("traceOn=false"))).await;
    let expected =
        "User:u has no permission to access Cluster:DefaultCluster from 203.0.113.9, no matched policies.";
    assert_code(&answer, response::NO_PERMISSION, &[expected]);
    assert_code(&node.call_from_elsewhere(admin(set("traceOn=false"))).await, response::SUCCESS, &[]);
    allow(&node, "u", "Cluster:DefaultCluster", "Update").await;
    let answer = node.call_from_elsewhere(signed(("u", "p"), set("traceOn=true"))).await;
    assert_code(&answer, response::SUCCESS, &[]);
    for key in ["storePathRootDir", "brokerConfigPath", "authorizationEnabled", "initAuthenticationUser"] {
        let answer = node.call_from_elsewhere(admin(set(&format!("{key}=x")))).await;
        assert_code(&answer, response::NO_PERMISSION, &["black list", key]);
    }
    node.stop().await;
}

#[tokio::test]
async fn without_rights_only_super_users_operate_from_elsewhere() {
    let node = Node::start_with(&AUTHENTICATION).await;
    create_user(&node, ("u", "p")).await;
    let clean = || Command::request(request::CLEAN_UNUSED_TOPIC);
    let answer = node.call_from_elsewhere(signed(("u", "p"), clean())).await;
    assert_code(&answer, response::NO_PERMISSION, &["203.0.113.9", "super user"]);
    assert_code(&node.call_from_elsewhere(admin(clean())).await, response::SUCCESS, &[]);
    assert_code(&node.call(signed(("u", "p"), clean())).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn the_configuration_is_shown_without_passwords() {
    let inner = r#"{"accessKey":"inner","secretKey":"inner-password"}"#;
    let mut settings = AUTHENTICATION.to_vec();
    settings.push(("innerClientAuthenticationCredentials", inner));
    let node = Node::start_with(&settings).await;
    let answer = node.call(admin(Command::request(request::GET_BROKER_CONFIG))).await;
    let text = std::str::from_utf8(&answer.body).unwrap();
    assert!(!text.contains("password"), "{text}");
    let listed = properties_text::parse(text);
    let value = |key: &str| listed.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str());
    assert_eq!(value("initAuthenticationUser"), Some("******"));
    assert_eq!(value("innerClientAuthenticationCredentials"), Some("******"));
    // The servers of the cluster sign with these.
    let inner = signed(("inner", "inner-password"), Command::request(request::AUTH_LIST_USER));
    assert_code(&node.call(inner).await, response::SUCCESS, &[]);
    node.stop().await;
}

/// The broker's own records have passwords; whoever guesses where one lies must not get it.
#[tokio::test]
async fn the_records_of_users_are_not_shown() {
    let node = Node::start_with(&AUTHORIZATION).await;
    create_user(&node, ("u", "p")).await;
    assert_code(&node.call(admin(send("T", "x"))).await, response::SUCCESS, &[]);
    let end = messages(&node.call(admin(pull("g", "T", 0, 0))).await)[0].phy_offset;
    let view = |topic: &str, offset: i64| {
        Command::request(request::VIEW_MESSAGE_BY_ID).with("topic", topic).with("offset", offset)
    };
    assert_code(&node.call(admin(view("T", end))).await, response::SUCCESS, &[]);
    assert_code(&node.call(admin(view("U", end))).await, response::SYSTEM_ERROR, &["can not find message"]);
    for topic in ["T", "rmq_sys_ROXMQ_STATE"] {
        let answer = node.call(admin(view(topic, 0))).await;
        assert_code(&answer, response::SYSTEM_ERROR, &["can not find message"]);
        let answer = node.call(admin(send_back("g", 0, -1))).await;
        assert_code(&answer, response::SYSTEM_ERROR, &["look message by offset failed"]);
    }
    let answer = node.call(admin(pull("g", "rmq_sys_ROXMQ_STATE", 0, 0))).await;
    assert_code(&answer, response::TOPIC_NOT_EXIST, &[]);
    node.stop().await;
}

#[tokio::test]
async fn a_signed_pull_that_waits_is_answered() {
    let node = Node::start_with(&AUTHENTICATION).await;
    assert_code(&node.call(admin(send("T", "a"))).await, response::SUCCESS, &[]);
    let connection = node.connect().await;
    let waiting =
        connection.start(admin(long_pull("g", "T", 0, 1, Duration::from_secs(20).as_millis() as i64)));
    node.holds(1).await;
    assert_code(&node.call(admin(send("T", "b"))).await, response::SUCCESS, &[]);
    assert_eq!(messages(&waiting.await)[0].text(), "b");
    node.stop().await;
}
