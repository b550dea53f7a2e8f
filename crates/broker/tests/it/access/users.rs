//! Users and policies, made and shown by tools.

use super::*;
use roxmq_protocol::body::access::{AclInfo, UserInfo};
use roxmq_protocol::json::FromJson;
use std::os::unix::fs::PermissionsExt;

fn users(answer: &Command) -> Vec<UserInfo> {
    if answer.body.is_empty() { Vec::new() } else { Vec::from_json_bytes(&answer.body).unwrap() }
}

fn list(filter: &str) -> Command {
    Command::request(request::AUTH_LIST_USER).with("filter", filter)
}

#[tokio::test]
async fn users_are_made_changed_and_deleted() {
    let node = Node::start().await;
    let ask = async |code: i32, name: &str, body: &str| node.call(user_request(code, name, body)).await;
    let check = async |code: i32, name: &str, body: &str, expected: i32, words: &[&str]| {
        assert_code(&ask(code, name, body).await, expected, words);
    };
    let body = r#"{"username":"u","password":"p"}"#;
    check(request::AUTH_CREATE_USER, "u", body, response::SUCCESS, &[]).await;
    check(request::AUTH_CREATE_USER, "u", body, response::NO_PERMISSION, &["The user is existed"]).await;
    check(request::AUTH_CREATE_USER, "", body, response::INVALID_PARAMETER, &["The username is blank"]).await;
    check(request::AUTH_CREATE_USER, "v", "{}", response::NO_PERMISSION, &["password can not be blank"])
        .await;
    check(request::AUTH_UPDATE_USER, "v", body, response::NO_PERMISSION, &["The user is not exist"]).await;
    check(request::AUTH_UPDATE_USER, "u", r#"{"userStatus":"disable"}"#, response::SUCCESS, &[]).await;
    let answer = ask(request::AUTH_GET_USER, "u", "").await;
    assert_eq!(
        answer.body,
        r#"{"password":"p","userStatus":"disable","userType":"Normal","username":"u"}"#.as_bytes()
    );
    assert!(ask(request::AUTH_GET_USER, "v", "").await.body.is_empty());
    check(request::AUTH_GET_USER, " ", "", response::INVALID_PARAMETER, &["The username is blank"]).await;
    check(request::AUTH_CREATE_USER, "other", body, response::SUCCESS, &[]).await;
    assert_eq!(users(&node.call(list("")).await).len(), 2);
    assert_eq!(users(&node.call(list("oth")).await).len(), 1);
    for _ in 0..2 {
        check(request::AUTH_DELETE_USER, "u", "", response::SUCCESS, &[]).await;
    }
    assert!(users(&node.call(list("u")).await).is_empty());
    node.stop().await;
}

#[tokio::test]
async fn policies_are_made_changed_and_deleted() {
    let node = Node::start().await;
    let get = || Command::request(request::AUTH_GET_ACL).with("subject", "User:u");
    let body = |answer: &Command| String::from_utf8(answer.body.to_vec()).unwrap();
    let refused = async |request: Command, expected: &str| {
        assert_code(&node.call(request).await, response::NO_PERMISSION, &[expected]);
    };
    refused(acl("u", "Topic:T", "Pub", "Allow"), "The subject of User:u is not exist.").await;
    refused(get(), "The subject is not exist.").await;
    let create = user_request(request::AUTH_CREATE_USER, "u", r#"{"password":"p"}"#);
    assert_code(&node.call(create).await, response::SUCCESS, &[]);
    assert!(node.call(get()).await.body.is_empty());
    refused(acl("u", "Topic:T", "Any", "Allow"), "The actions can not be Any.").await;
    refused(acl("u", "Topic:T", "Pub", "Perhaps"), "The decision is null or illegal.").await;
    refused(acl("u", "", "Pub", "Allow"), "The resource is null.").await;
    refused(Command { code: request::AUTH_CREATE_ACL, ..acl("u", "King:T", "Pub", "Allow") }, "King:T").await;
    let empty = Command::request(request::AUTH_CREATE_ACL).with("subject", "User:u").body("{}");
    assert_code(&node.call(empty).await, response::SYSTEM_ERROR, &["The body of acl is null"]);
    assert_code(&node.call(acl("u", "Topic:T", "Pub", "Allow")).await, response::SUCCESS, &[]);
    assert_code(&node.call(acl("u", "Group:g*", "Sub", "Deny")).await, response::SUCCESS, &[]);
    let changed = Command { code: request::AUTH_UPDATE_ACL, ..acl("u", "Topic:T", "All", "Allow") };
    assert_code(&node.call(changed).await, response::SUCCESS, &[]);
    let shown = body(&node.call(get()).await);
    assert!(shown.contains(r#""actions":["All"]"#) && shown.contains("Group:g*"), "{shown}");
    assert!(!shown.contains("Pub"), "{shown}");
    let found = async |subject: &str, resource: &str| {
        let list = Command::request(request::AUTH_LIST_ACL)
            .with("subjectFilter", subject)
            .with("resourceFilter", resource);
        let answer = node.call(list).await;
        let acls =
            if answer.body.is_empty() { Vec::new() } else { Vec::from_json_bytes(&answer.body).unwrap() };
        let entries = |acl: &AclInfo| acl.policies.iter().map(|policy| policy.entries.len()).sum::<usize>();
        acls.iter().map(entries).sum::<usize>()
    };
    assert_eq!((found("", "").await, found("User:u", "Group").await, found("v", "").await), (2, 1, 0));
    let delete = |resource: &str| {
        Command::request(request::AUTH_DELETE_ACL).with("subject", "User:u").with("resource", resource)
    };
    assert_code(&node.call(delete("Topic:T")).await, response::SUCCESS, &[]);
    assert_eq!(found("", "").await, 1);
    assert_code(&node.call(delete("")).await, response::SUCCESS, &[]);
    assert!(node.call(get()).await.body.is_empty());
    refused(delete(""), "The acl is not exist.").await;
    node.stop().await;
}

#[tokio::test]
async fn super_users_are_the_business_of_super_users() {
    let node = Node::start_with(&AUTHENTICATION).await;
    create_user(&node, ("u", "p")).await;
    let ask = async |code: i32, name: &str, body: &str| {
        node.call(signed(("u", "p"), user_request(code, name, body))).await
    };
    let make = r#"{"password":"q","userType":"Super"}"#;
    let answer = ask(request::AUTH_CREATE_USER, "v", make).await;
    assert_code(&answer, response::SYSTEM_ERROR, &["The super user can only be create by super user"]);
    let by_super = "The super user can only be update by super user";
    assert_code(&ask(request::AUTH_UPDATE_USER, "u", make).await, response::SYSTEM_ERROR, &[by_super]);
    let change = r#"{"password":"mine"}"#;
    assert_code(&ask(request::AUTH_UPDATE_USER, "admin", change).await, response::NO_PERMISSION, &[by_super]);
    assert_code(&ask(request::AUTH_DELETE_USER, "admin", "").await, response::NO_PERMISSION, &[by_super]);
    let seen = users(&node.call(signed(("u", "p"), list(""))).await);
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|user| user.password.is_none()), "a password is a user");
    let answer = node.call(admin(user_request(request::AUTH_CREATE_USER, "v", make))).await;
    assert_code(&answer, response::SUCCESS, &[]);
    let seen = users(&node.call(signed(("v", "q"), list("admin"))).await);
    assert_eq!(seen[0].password.as_deref(), Some(ADMIN.1));
    node.stop().await;
}

#[tokio::test]
async fn a_changed_user_is_another_at_once() {
    let node = Node::start_with(&AUTHENTICATION).await;
    create_user(&node, ("u", "p")).await;
    let change = async |body: &str| {
        let answer = node.call(admin(user_request(request::AUTH_UPDATE_USER, "u", body))).await;
        assert_code(&answer, response::SUCCESS, &[]);
    };
    let send = async |password: &str, code: i32, words: &[&str]| {
        assert_code(&node.call(signed(("u", password), crate::requests::send("T", "x"))).await, code, words);
    };
    send("p", response::SUCCESS, &[]).await;
    change(r#"{"password":"q"}"#).await;
    send("p", response::NO_PERMISSION, &["check signature failed."]).await;
    send("q", response::SUCCESS, &[]).await;
    change(r#"{"userStatus":"disable"}"#).await;
    send("q", response::NO_PERMISSION, &["User:u is disabled."]).await;
    let answer = node.call(admin(user_request(request::AUTH_DELETE_USER, "u", ""))).await;
    assert_code(&answer, response::SUCCESS, &[]);
    send("q", response::NO_PERMISSION, &["User:u is not found."]).await;
    node.stop().await;
}

#[tokio::test]
async fn users_and_policies_survive_a_crash() {
    let node = Node::start_with(&AUTHORIZATION).await;
    create_user(&node, ("u", "p")).await;
    allow(&node, "u", "Topic:T", "Pub").await;
    let check = async |node: &Node| {
        assert_code(&node.call(signed(("u", "p"), send("T", "x"))).await, response::SUCCESS, &[]);
        assert_code(&node.call(signed(("u", "p"), send("U", "x"))).await, response::NO_PERMISSION, &[]);
    };
    check(&node).await;
    let node = node.crash(|_| {}).await;
    check(&node).await;
    let change = user_request(request::AUTH_UPDATE_USER, "admin", r#"{"password":"changed"}"#);
    assert_code(&node.call(admin(change)).await, response::SUCCESS, &[]);
    let node = node
        .restart_after(|root| {
            let file = root.join("config/accessControl.json");
            let mode = std::fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "it has passwords");
        })
        .await;
    check(&node).await;
    // The configuration makes the user, and doesn't set it back.
    assert_code(
        &node.call(admin(send("T", "x"))).await,
        response::NO_PERMISSION,
        &["check signature failed."],
    );
    assert_code(&node.call(signed(("admin", "changed"), send("T", "x"))).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn users_are_taken_from_this_host_only_without_authentication() {
    let node = Node::start().await;
    for code in 3001..=3010 {
        let answer = node.call_from_elsewhere(user_request(code, "u", r#"{"password":"p"}"#)).await;
        assert_code(&answer, response::NO_PERMISSION, &["203.0.113.9", "remoteAdminEnable"]);
    }
    node.stop().await;
}
