//! Heartbeats, what the members of a group are told, and how clients leave: requests 34, 35, 38, 46, pushes 40.

use crate::node::Node;
use crate::requests::{assert_code, pull};
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::language::Language;

const NOTHING: [i32; 0] = [];
const NOTICE: i32 = request::NOTIFY_CONSUMER_IDS_CHANGED;

/// A consumer's heartbeat as the Java client writes it.
pub fn heartbeat(client_id: &str, group: &str, topics: &[&str]) -> Command {
    with_model(client_id, group, topics, "CLUSTERING")
}

fn with_model(client_id: &str, group: &str, topics: &[&str], model: &str) -> Command {
    full(client_id, group, topics, model, 0, false)
}

fn full(
    client_id: &str,
    group: &str,
    topics: &[&str],
    model: &str,
    fingerprint: i32,
    without_sub: bool,
) -> Command {
    let subscriptions: Vec<String> = topics
        .iter()
        .map(|topic| {
            format!(
                r#"{{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":5,"tagsSet":["TagA"],"topic":"{topic}"}}"#
            )
        })
        .collect();
    let body = format!(
        r#"{{"clientID":"{client_id}","consumerDataSet":[{{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"{group}","messageModel":"{model}","subscriptionDataSet":[{}],"unitMode":false}}],"heartbeatFingerprint":{fingerprint},"producerDataSet":[{{"groupName":"P"}}],"withoutSub":{without_sub}}}"#,
        subscriptions.join(",")
    );
    Command::request(request::HEART_BEAT).body(body)
}

pub fn of_group(code: i32, group: &str) -> Command {
    Command::request(code).with("consumerGroup", group)
}

fn consumer_ids(group: &str) -> Command {
    of_group(request::GET_CONSUMER_LIST_BY_GROUP, group)
}

pub fn body(answer: &Command) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[track_caller]
fn assert_taken(answer: &Command, subscriptions_changed: bool) {
    assert_code(answer, response::SUCCESS, &[]);
    assert_eq!(answer.field("IS_SUPPORT_HEART_BEAT_V2"), Some("true"));
    assert_eq!(answer.field("IS_SUB_CHANGE"), Some(if subscriptions_changed { "true" } else { "false" }));
}

pub async fn assert_noticed(wire: &mut Wire, group: &str) {
    let notice = wire.pushed().await;
    assert_eq!((notice.code, notice.field("consumerGroup")), (NOTICE, Some(group)));
    assert!(notice.is_oneway());
}

#[tokio::test]
async fn a_heartbeat_makes_its_sender_known() {
    let node = Node::start().await;
    let mut wire = Wire::connect(&node).await;
    assert_taken(&wire.call(heartbeat("c1", "g", &["T"])).await, true);
    assert_noticed(&mut wire, "g").await;
    assert_taken(&wire.call(heartbeat("c1", "g", &["T"])).await, true);
    assert_eq!(wire.pushed_so_far().await, NOTHING, "nothing has changed");

    let ids = wire.call(consumer_ids("g")).await;
    assert_eq!(body(&ids), r#"{"consumerIdList":["c1"]}"#);
    let connections = wire.call(of_group(request::GET_CONSUMER_CONNECTION_LIST, "g")).await;
    let expected = format!(
        r#"{{"connectionSet":[{{"clientAddr":"127.0.0.1:{}","clientId":"c1","language":"JAVA","version":513}}],"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","subscriptionTable":{{"T":{{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":5,"tagsSet":["TagA"],"topic":"T"}}}}}}"#,
        wire.port()
    );
    assert_eq!(body(&connections), expected);
    let retry = Command::request(request::GET_TOPIC_STATS_INFO).with("topic", "%RETRY%g");
    assert_code(&wire.call(retry).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn every_member_is_told_of_every_change() {
    let node = Node::start().await;
    let (mut a, mut b) = (Wire::connect(&node).await, Wire::connect(&node).await);
    a.call(heartbeat("a", "g", &["T"])).await;
    assert_noticed(&mut a, "g").await;
    b.call(heartbeat("b", "g", &["T"])).await;
    assert_noticed(&mut a, "g").await;
    assert_noticed(&mut b, "g").await;
    b.call(heartbeat("b", "g", &["T", "U"])).await;
    assert_noticed(&mut a, "g").await;
    assert_noticed(&mut b, "g").await;

    let leave = Command::request(request::UNREGISTER_CLIENT).with("clientID", "b").with("consumerGroup", "g");
    assert_code(&b.call(leave.clone()).await, response::SUCCESS, &[]);
    assert_noticed(&mut a, "g").await;
    assert_eq!(b.pushed_so_far().await, NOTHING, "who left isn't told");
    assert_code(&b.call(leave).await, response::SUCCESS, &[]);
    assert_eq!(a.pushed_so_far().await, NOTHING, "nobody left");

    b.call(heartbeat("b", "g", &["T", "U"])).await;
    assert_noticed(&mut a, "g").await;
    drop(b);
    assert_noticed(&mut a, "g").await;
    assert_eq!(body(&a.call(consumer_ids("g")).await), r#"{"consumerIdList":["a"]}"#);
    node.stop().await;
}

#[tokio::test]
async fn groups_that_share_nothing_out_are_left_in_peace() {
    let node = Node::start().await;
    let mut wire = Wire::connect(&node).await;
    wire.call(with_model("a", "everywhere", &["T"], "BROADCASTING")).await;
    let quiet = r#"{"groupName":"quiet","notifyConsumerIdsChangedEnable":false}"#;
    let request = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(quiet);
    assert_code(&wire.call(request).await, response::SUCCESS, &[]);
    wire.call(heartbeat("a", "quiet", &["T"])).await;
    assert_eq!(wire.pushed_so_far().await, NOTHING);
    node.stop().await;
}

#[tokio::test]
async fn fingerprints_spare_the_subscriptions() {
    let node = Node::start().await;
    let mut wire = Wire::connect(&node).await;
    let full = |fingerprint| full("a", "g", &["T"], "CLUSTERING", fingerprint, false);
    let short = |fingerprint| self::full("a", "g", &[], "CLUSTERING", fingerprint, true);
    assert_taken(&wire.call(full(7)).await, false);
    assert_taken(&wire.call(short(7)).await, false);
    let asked =
        Command::request(request::QUERY_SUBSCRIPTION_BY_CONSUMER).with("group", "g").with("topic", "T");
    let known = wire.call(asked).await;
    assert!(body(&known).contains(r#""subString":"TagA""#), "{}", body(&known));
    assert_taken(&wire.call(full(8)).await, true);
    assert_taken(&wire.call(short(8)).await, false);
    drop(wire);
    // The client is back after the broker forgot it, and doesn't know that.
    let mut wire = Wire::connect(&node).await;
    while wire.call(consumer_ids("g")).await.code == response::SUCCESS {}
    assert_taken(&wire.call(short(8)).await, true);
    assert_taken(&wire.call(full(8)).await, false);
    node.stop().await;
}

/// The Go client names enums its own way, and leaves out or nulls what it has nothing for.
#[tokio::test]
async fn a_heartbeat_of_the_go_client_is_taken() {
    let node = Node::start().await;
    let mut wire = Wire::connect_as(&node, Language::Go, 317).await;
    let text = r#"{"clientID":"go","producerDataSet":null,"consumerDataSet":[{"groupName":"g","consumeType":"CONSUME_PASSIVELY","messageModel":"Clustering","consumeFromWhere":"CONSUME_FROM_SOMEWHERE_NEW","subscriptionDataSet":[{"topic":"T","subString":"*","tagsSet":null,"codeSet":null,"subVersion":"17","expressionType":"TAG"}],"unitMode":false}]}"#;
    assert_taken(&wire.call(Command::request(request::HEART_BEAT).body(text)).await, true);
    assert_noticed(&mut wire, "g").await;
    let connections = wire.call(of_group(request::GET_CONSUMER_CONNECTION_LIST, "g")).await;
    let text = body(&connections);
    assert!(text.contains(r#""language":"GO","version":317"#), "{text}");
    assert!(text.contains(r#""messageModel":"CLUSTERING""#) && text.contains(r#""subVersion":17"#), "{text}");
    assert!(!text.contains("consumeFromWhere"), "{text}");
    node.stop().await;
}

#[tokio::test]
async fn one_connection_is_in_many_groups() {
    let node = Node::start().await;
    let (mut a, mut b) = (Wire::connect(&node).await, Wire::connect(&node).await);
    for group in ["g0", "g1", "g2"] {
        b.call(heartbeat("b", group, &["T"])).await;
        assert_noticed(&mut b, group).await;
        a.call(heartbeat("a", group, &["T"])).await;
        assert_noticed(&mut b, group).await;
    }
    let producers = Command::request(request::GET_PRODUCER_CONNECTION_LIST).with("producerGroup", "P");
    assert_eq!(body(&b.call(producers.clone()).await).matches("clientId").count(), 2);
    drop(a);
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(b.pushed().await.field("consumerGroup").unwrap().to_owned());
    }
    told.sort();
    assert_eq!(told, ["g0", "g1", "g2"]);
    assert_eq!(body(&b.call(consumer_ids("g1")).await), r#"{"consumerIdList":["b"]}"#);
    assert_eq!(body(&b.call(producers).await).matches("clientId").count(), 1);
    node.stop().await;
}

#[tokio::test]
async fn who_falls_silent_is_out() {
    let node = Node::start_with(&[("channelExpiredTimeout", "1000")]).await;
    let (mut silent, mut alive) = (Wire::connect(&node).await, Wire::connect(&node).await);
    silent.call(heartbeat("silent", "g", &["T"])).await;
    let alone = r#"{"consumerIdList":["alive"]}"#;
    loop {
        alive.call(heartbeat("alive", "g", &["T"])).await;
        if body(&alive.call(consumer_ids("g")).await) == alone {
            break;
        }
    }
    let notices = alive.pushed_so_far().await;
    assert_eq!(notices, [NOTICE, NOTICE], "one for the coming, one for the going");
    silent.closed().await;
    node.stop().await;
}

#[tokio::test]
async fn nobody_online_is_said_so() {
    let node = Node::start().await;
    let check = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    check(consumer_ids("g"), response::SYSTEM_ERROR, &["no consumer for this group, g"]).await;
    let connections = of_group(request::GET_CONSUMER_CONNECTION_LIST, "g");
    check(connections, response::CONSUMER_NOT_ONLINE, &["the consumer group[g] not online"]).await;
    let producers = Command::request(request::GET_PRODUCER_CONNECTION_LIST).with("producerGroup", "p");
    check(producers, response::SYSTEM_ERROR, &["the producer group[p] not exist"]).await;
    check(Command::request(request::GET_CONSUMER_LIST_BY_GROUP), response::SYSTEM_ERROR, &["consumerGroup"])
        .await;
    node.stop().await;
}

#[tokio::test]
async fn heartbeats_that_can_not_be_read_are_refused_and_do_no_harm() {
    let node = Node::start().await;
    let mut wire = Wire::connect(&node).await;
    for (text, word) in [
        ("", "body"),
        ("{", "JSON is broken"),
        ("[]", "object"),
        ("{}", "clientID"),
        (r#"{"clientID":"a","consumerDataSet":7}"#, "consumerDataSet"),
        (r#"{"clientID":"a","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{}]}]}"#, "topic"),
    ] {
        let answer = wire.call(Command::request(request::HEART_BEAT).body(text)).await;
        assert_code(&answer, response::SYSTEM_ERROR, &[word]);
    }
    let deep = "[".repeat(100_000);
    assert_eq!(
        wire.call(Command::request(request::HEART_BEAT).body(deep)).await.code,
        response::SYSTEM_ERROR
    );
    assert_code(&wire.call(consumer_ids("g")).await, response::SYSTEM_ERROR, &["no consumer"]);
    node.stop().await;
}

#[tokio::test]
async fn a_group_that_may_not_be_made_is_passed_over() {
    let node = Node::start_with(&[("autoCreateSubscriptionGroup", "false")]).await;
    let mut wire = Wire::connect(&node).await;
    assert_taken(&wire.call(heartbeat("a", "g", &["T"])).await, true);
    assert_code(&wire.call(consumer_ids("g")).await, response::SYSTEM_ERROR, &["no consumer"]);
    node.stop().await;
}

#[tokio::test]
async fn a_filter_is_checked_before_its_consumer_starts() {
    let node = Node::start().await;
    let check = async |text: &str, code: i32, words: &[&str]| {
        let request = Command::request(request::CHECK_CLIENT_CONFIG).body(text.to_owned());
        assert_code(&node.call(request).await, code, words);
    };
    let tags = r#"{"clientId":"a","group":"g","subscriptionData":{"topic":"T","subString":"a","expressionType":"TAG"}}"#;
    check(tags, response::SUCCESS, &[]).await;
    check(r#"{"clientId":"a","group":"g"}"#, response::SUCCESS, &[]).await;
    let sql = tags.replace("TAG", "SQL92");
    let wrong = sql.replace(r#""subString":"a""#, r#""subString":"a > 1 AND 5""#);
    check(&wrong, response::SUBSCRIPTION_PARSE_FAILED, &["neither true nor false", "character 11"]).await;
    let good = sql.replace(r#""subString":"a""#, r#""subString":"a > 1""#);
    check(&good, response::SUCCESS, &[]).await;
    check(&good.replace("SQL92", "XPATH"), response::SUBSCRIPTION_PARSE_FAILED, &["XPATH", "SQL92"]).await;
    check("", response::SYSTEM_ERROR, &["body"]).await;
    node.stop().await;

    let node = Node::start_with(&[("enablePropertyFilter", "false")]).await;
    let request = |text: String| Command::request(request::CHECK_CLIENT_CONFIG).body(text);
    let answer = node.call(request(good)).await;
    assert_code(&answer, response::SYSTEM_ERROR, &["SQL92", "enablePropertyFilter is false"]);
    assert_code(&node.call(request(tags.to_owned())).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn changes_of_a_group_may_be_told_together_later() {
    let node = Node::start_with(&[("realTimeNotifyConsumerChange", "false")]).await;
    let mut wire = Wire::connect(&node).await;
    assert_taken(&wire.call(heartbeat("c1", "g", &["T"])).await, true);
    assert_eq!(wire.pushed_so_far().await, NOTHING);
    node.stop().await;
}

/// Where consumers that pull when they like aren't wanted, their heartbeats aren't taken, and only members of groups
/// that are online may pull.
#[tokio::test]
async fn pull_consumers_are_turned_away_where_they_are_not_wanted() {
    let node = Node::start_with(&[("rejectPullConsumerEnable", "true")]).await;
    node.create_topic("T", 1, 6).await;
    let mut wire = Wire::connect(&node).await;
    let pushes = heartbeat("c1", "push", &["T"]);
    let pulls = String::from_utf8(heartbeat("c1", "pull", &["T"]).body.to_vec()).unwrap();
    let pulls =
        Command::request(request::HEART_BEAT).body(pulls.replace("CONSUME_PASSIVELY", "CONSUME_ACTIVELY"));
    for heartbeat in [pushes, pulls] {
        assert_code(&wire.call(heartbeat).await, response::SUCCESS, &[]);
    }
    assert_code(&wire.call(consumer_ids("pull")).await, response::SYSTEM_ERROR, &["no consumer"]);
    let mut check = async |group: &str, code: i32| {
        let words: &[&str] =
            if code == response::PULL_NOT_FOUND { &[] } else { &["rejectPullConsumerEnable"] };
        assert_code(&wire.call(pull(group, "T", 0, 0)).await, code, words);
    };
    check("push", response::PULL_NOT_FOUND).await;
    check("pull", response::SUBSCRIPTION_NOT_EXIST).await;
    check("nobody", response::SUBSCRIPTION_NOT_EXIST).await;
    check("CID_RMQ_SYS_X", response::PULL_NOT_FOUND).await;
    node.stop().await;
}

#[tokio::test]
async fn tools_see_which_groups_do_not_agree_on_what_they_subscribe_to() {
    let node = Node::start().await;
    let (mut one, mut other) = (Wire::connect(&node).await, Wire::connect(&node).await);
    let check = async |expected: &str| {
        let status = node.call(Command::request(request::GET_BROKER_RUNTIME_INFO)).await;
        let entry = format!(r#""consumerGroupsWithDifferentSubscriptions":"{expected}""#);
        assert!(body(&status).contains(&entry), "{}", body(&status));
    };
    one.call(heartbeat("c1", "g", &["T"])).await;
    other.call(heartbeat("c2", "g", &["T"])).await;
    check("").await;
    other.call(heartbeat("c2", "g", &["T", "U"])).await;
    check("g").await;
    one.call(heartbeat("c1", "g", &["T", "U"])).await;
    check("").await;
    node.stop().await;
}
