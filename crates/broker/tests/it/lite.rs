//! Lite topics: subscribed to and popped together, each in order.

use crate::node::{Node, Peer};
use crate::requests::*;
use roxmq_protocol::body::lite::{
    LiteAction, LiteSubscription, LiteSubscriptions, OffsetOption, OffsetOptionType,
};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::Duration;

pub const NOW: Millis = Millis(1_800_000_000_000);

/// A parent P and a group G that is bound to it.
pub async fn prepare(node: &Node, attributes: &str) {
    let create = Command::request(request::UPDATE_AND_CREATE_TOPIC)
        .with("topic", "P")
        .with("defaultTopic", "TBW102")
        .with("readQueueNums", 1)
        .with("writeQueueNums", 1)
        .with("perm", 6)
        .with("topicFilterType", "SINGLE_TAG")
        .with("attributes", "+message.type=LITE,+lite.topic.expiration=30");
    assert_code(&node.call(create).await, 0, &[]);
    let body = format!(r#"{{"groupName":"G","attributes":{{"+lite.bind.topic":"P"{attributes}}}}}"#);
    let group = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(body);
    assert_code(&node.call(group).await, 0, &[]);
}

pub async fn started(clock: &Arc<TestClock>, attributes: &str) -> Node {
    let node = Node::start_at(clock.clone(), &[]).await;
    prepare(&node, attributes).await;
    node
}

pub fn clock() -> Arc<TestClock> {
    Arc::new(TestClock::at(NOW))
}

pub fn subscription(client: &str, action: LiteAction, lite_topics: &[&str]) -> LiteSubscription {
    LiteSubscription {
        action,
        client_id: client.to_owned(),
        group: "G".to_owned(),
        topic: "P".to_owned(),
        lite_topics: lite_topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..LiteSubscription::default()
    }
}

pub fn control(subscription: LiteSubscription) -> Command {
    let body = LiteSubscriptions { subscriptions: vec![subscription] }.to_json();
    Command::request(request::LITE_SUBSCRIPTION_CTL).body(body)
}

pub fn subscribe(client: &str, lite_topics: &[&str]) -> Command {
    control(subscription(client, LiteAction::PartialAdd, lite_topics))
}

pub fn pop(client: &str, count: i32, poll_ms: i64) -> Command {
    Command::request(request::POP_LITE_MESSAGE)
        .with("clientId", client)
        .with("consumerGroup", "G")
        .with("topic", "P")
        .with("maxMsgNum", count)
        .with("invisibleTime", 60_000)
        .with("pollTime", poll_ms)
        .with("bornTime", 0)
}

pub fn send_lite(lite_topic: &str, body: &str) -> Command {
    send_to("P", 0, &[("UNIQ_KEY", body), ("__LITE_TOPIC", lite_topic)], body)
}

/// The receipt that clients build from the answer and the message.
fn receipt(answer: &Command, message: &Message) -> (String, i64) {
    let offset: i64 = message.property("INNER_MULTI_QUEUE_OFFSET").unwrap().parse().unwrap();
    let field = |name| answer.field(name).unwrap();
    let text = format!(
        "0 {} {} {} 0 broker-a 0 {offset}",
        field("popTime"),
        field("invisibleTime"),
        field("reviveQid")
    );
    (text, offset)
}

fn about(code: i32, answer: &Command, message: &Message) -> Command {
    let (receipt, offset) = receipt(answer, message);
    Command::request(code)
        .with("consumerGroup", "G")
        .with("topic", "P")
        .with("queueId", 0)
        .with("extraInfo", receipt)
        .with("offset", offset)
        .with("liteTopic", message.property("__LITE_TOPIC").unwrap())
}

pub fn ack(answer: &Command, message: &Message) -> Command {
    about(request::ACK_MESSAGE, answer, message)
}

pub async fn popped(node: &Node, client: &str) -> (Command, Vec<Message>) {
    let answer = node.call(pop(client, 32, 0)).await;
    let found = messages(&answer);
    assert_code(&answer, if found.is_empty() { response::POLLING_TIMEOUT } else { 0 }, &[]);
    (answer, found)
}

pub fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::text).collect()
}

#[tokio::test]
async fn a_client_gets_the_lite_topics_it_subscribed_to() {
    let node = started(&clock(), "").await;
    for (lite_topic, body) in [("a", "a0"), ("b", "b0"), ("c", "c0"), ("a", "a1")] {
        assert_code(&node.call(send_lite(lite_topic, body)).await, 0, &[]);
    }
    assert!(popped(&node, "client").await.1.is_empty());
    assert_code(&node.call(subscribe("client", &["a", "b"])).await, 0, &[]);
    let (answer, found) = popped(&node, "client").await;
    assert_eq!(texts(&found), ["a0", "a1", "b0"]);
    assert_eq!((answer.field("reviveQid"), answer.field("orderCountInfo")), (Some("999"), Some("0;0;0")));
    assert!(popped(&node, "client").await.1.is_empty(), "they are out");
    for message in &found {
        assert_code(&node.call(ack(&answer, message)).await, 0, &[]);
    }
    assert_code(&node.call(send_lite("a", "a2")).await, 0, &[]);
    assert_eq!(texts(&popped(&node, "client").await.1), ["a2"]);
    // What was not acknowledged comes again after a restart, and nothing else.
    let node = node.restart().await;
    assert_code(
        &node.call(control(subscription("client", LiteAction::CompleteAdd, &["a", "b"]))).await,
        0,
        &[],
    );
    assert_eq!(texts(&popped(&node, "client").await.1), ["a2"]);
    node.stop().await;
}

#[tokio::test]
async fn a_lite_topic_waits_for_its_first_message() {
    let clock = clock();
    let node = started(&clock, "").await;
    for body in ["0", "1", "2"] {
        assert_code(&node.call(send_lite("a", body)).await, 0, &[]);
    }
    for client in ["one", "two"] {
        assert_code(&node.call(subscribe(client, &["a"])).await, 0, &[]);
    }
    let (answer, found) = popped(&node, "one").await;
    assert_eq!(texts(&found), ["0", "1", "2"]);
    assert_code(&node.call(ack(&answer, &found[1])).await, 0, &[]);
    assert!(popped(&node, "two").await.1.is_empty(), "0 is out");
    clock.advance(Duration::from_secs(60));
    assert_code(
        &node.call(Command::request(request::TRIGGER_LITE_DISPATCH).with("group", "G")).await,
        0,
        &[],
    );
    // 1 is acknowledged, and 2 waits for 0.
    let (again, second) = popped(&node, "two").await;
    assert_eq!((texts(&second), again.field("orderCountInfo")), (vec!["0"], Some("1")));
    assert_code(&node.call(ack(&answer, &found[0])).await, 0, &[]);
    assert!(popped(&node, "one").await.1.is_empty(), "a receipt of before acknowledges nothing");
    assert_code(&node.call(ack(&again, &second[0])).await, 0, &[]);
    assert_eq!(texts(&popped(&node, "one").await.1), ["2"]);
    node.stop().await;
}

#[tokio::test]
async fn who_waits_is_woken_by_a_message_and_by_an_acknowledgement() {
    let node = started(&clock(), "").await;
    assert_code(&node.call(subscribe("client", &["a"])).await, 0, &[]);
    let peer = node.connect().await;
    let waiting = peer.start(pop("client", 1, 30_000));
    assert_code(&node.call(send_lite("a", "0")).await, 0, &[]);
    assert_code(&node.call(send_lite("a", "1")).await, 0, &[]);
    let answer = waiting.await;
    let found = messages(&answer);
    assert_eq!(texts(&found), ["0"]);
    let waiting = peer.start(pop("client", 1, 30_000));
    assert_code(&node.call(ack(&answer, &found[0])).await, 0, &[]);
    assert_eq!(texts(&messages(&waiting.await)), ["1"]);
    node.stop().await;
}

#[tokio::test]
async fn a_message_comes_again_when_it_was_told_to() {
    let node = Node::start().await;
    prepare(&node, "").await;
    assert_code(&node.call(send_lite("a", "0")).await, 0, &[]);
    assert_code(&node.call(subscribe("client", &["a"])).await, 0, &[]);
    let (answer, found) = popped(&node, "client").await;
    let sooner = about(request::CHANGE_MESSAGE_INVISIBLETIME, &answer, &found[0]).with("invisibleTime", 50);
    assert_code(&node.call(sooner).await, 0, &[]);
    let again = node.call(pop("client", 1, 30_000)).await;
    assert_eq!((texts(&messages(&again)), again.field("orderCountInfo")), (vec!["0"], Some("1")));
    // The same attempt is given the same message again, at once.
    let attempt = |id: &str| pop("client", 1, 0).with("attemptId", id);
    let sooner = about(request::CHANGE_MESSAGE_INVISIBLETIME, &again, &found[0])
        .with("invisibleTime", 10)
        .with("suspend", true);
    assert_code(&node.call(sooner).await, 0, &[]);
    let third = node.call(change(attempt("x"), "pollTime", 30_000)).await;
    assert_eq!((texts(&messages(&third)), third.field("orderCountInfo")), (vec!["0"], Some("1")));
    assert_eq!(texts(&messages(&node.call(attempt("x")).await)), ["0"]);
    assert!(messages(&node.call(attempt("y")).await).is_empty());
    node.stop().await;
}

#[tokio::test]
async fn an_exclusive_lite_topic_belongs_to_the_last_that_asked() {
    let node =
        started(&clock(), r#","+lite.sub.model":"Exclusive","+lite.sub.reset.offset.exclusive":"true""#)
            .await;
    assert_code(&node.call(send_lite("a", "0")).await, 0, &[]);
    assert_code(&node.call(subscribe("one", &["a"])).await, 0, &[]);
    let (answer, found) = popped(&node, "one").await;
    assert_code(&node.call(ack(&answer, &found[0])).await, 0, &[]);
    assert_code(&node.call(subscribe("two", &["a"])).await, 0, &[]);
    assert_eq!(texts(&popped(&node, "two").await.1), ["0"], "from its beginning");
    assert_code(&node.call(send_lite("a", "1")).await, 0, &[]);
    assert!(popped(&node, "one").await.1.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn subscriptions_say_where_to_begin_and_end() {
    let node = started(&clock(), "").await;
    for body in ["0", "1", "2", "3"] {
        assert_code(&node.call(send_lite("a", body)).await, 0, &[]);
    }
    let with = |kind, value| {
        let option = OffsetOption { kind, value };
        control(LiteSubscription {
            offset_option: Some(option),
            ..subscription("client", LiteAction::PartialAdd, &["a"])
        })
    };
    let leave = || control(subscription("client", LiteAction::PartialRemove, &["a"]));
    let check = async |kind, value, expected: &[&str]| {
        assert_code(&node.call(with(kind, value)).await, 0, &[]);
        assert_eq!(texts(&popped(&node, "client").await.1), expected, "{kind:?} {value}");
        assert_code(&node.call(leave()).await, 0, &[]);
        assert!(popped(&node, "client").await.1.is_empty());
    };
    check(OffsetOptionType::Offset, 2, &["2", "3"]).await;
    check(OffsetOptionType::TailN, 1, &["1", "2", "3"]).await;
    check(OffsetOptionType::Policy, OffsetOption::POLICY_MAX, &[]).await;
    check(OffsetOptionType::Policy, OffsetOption::POLICY_MIN, &["0", "1", "2", "3"]).await;
    node.stop().await;
}

#[tokio::test]
async fn what_is_no_subscription_is_refused() {
    let node = Node::start_with(&[("maxLiteSubscriptionCount", "2")]).await;
    prepare(&node, "").await;
    node.create_topic("T", 1, 6).await;
    node.put_group("H", 1, 16).await;
    let empty = Command::request(request::LITE_SUBSCRIPTION_CTL);
    assert_code(&node.call(empty).await, response::ILLEGAL_OPERATION, &["null"]);
    let nothing = Command::request(request::LITE_SUBSCRIPTION_CTL).body(r#"{"subscriptionSet":[]}"#);
    assert_code(&node.call(nothing).await, response::ILLEGAL_OPERATION, &["empty"]);
    let other = |change: &dyn Fn(&mut LiteSubscription)| {
        let mut changed = subscription("client", LiteAction::PartialAdd, &["a"]);
        change(&mut changed);
        control(changed)
    };
    let stranger = other(&|subscription| subscription.group = "H".to_owned());
    assert_code(&node.call(stranger).await, response::INVALID_PARAMETER, &["H", "lite.bind.topic"]);
    let ordinary = other(&|subscription| subscription.topic = "T".to_owned());
    assert_code(&node.call(ordinary).await, response::INVALID_PARAMETER, &["T", "message.type"]);
    assert_code(&node.call(subscribe("client", &["a/b"])).await, response::INVALID_PARAMETER, &["a/b"]);
    assert_code(&node.call(subscribe("client", &["a", "b"])).await, 0, &[]);
    let third = node.call(subscribe("client", &["c"])).await;
    assert_code(&third, response::LITE_SUBSCRIPTION_QUOTA_EXCEEDED, &["2", "maxLiteSubscriptionCount"]);
    let bad = node.call(change(pop("client", 1, 0), "maxMsgNum", 33)).await;
    assert_code(&bad, response::INVALID_PARAMETER, &["33"]);
    assert_code(&node.call(send_lite("a/b", "x")).await, response::MESSAGE_ILLEGAL, &["a/b"]);
    node.stop().await;
}

#[tokio::test]
async fn many_clients_pop_each_message_once() {
    const LITE_TOPICS: usize = 40;
    const MESSAGES: usize = 5;
    let node = Node::start().await;
    prepare(&node, "").await;
    let lite_topics: Vec<String> = (0..LITE_TOPICS).map(|number| format!("l{number}")).collect();
    let names: Vec<&str> = lite_topics.iter().map(String::as_str).collect();
    let mut sends = Vec::new();
    for number in 0..MESSAGES {
        sends.extend(names.iter().map(|name| send_lite(name, &format!("{name}:{number}"))));
    }
    let mut clients = Vec::new();
    for client in ["one", "two", "three"] {
        assert_code(&node.call(subscribe(client, &names)).await, 0, &[]);
        let peer = node.connect().await;
        clients.push(tokio::spawn(async move { pop_until_quiet(&peer, client).await }));
    }
    for answer in node.call_all(sends).await {
        assert_code(&answer, 0, &[]);
    }
    let mut seen = Vec::new();
    for client in clients {
        seen.extend(client.await.unwrap());
    }
    assert_eq!(seen.len(), LITE_TOPICS * MESSAGES);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), LITE_TOPICS * MESSAGES, "a message came twice");
    node.stop().await;
}

/// Pops and acknowledges until there was nothing for a while; what it got, in order.
async fn pop_until_quiet(peer: &Peer, client: &str) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        let answer = peer.call(pop(client, 8, 2_000)).await;
        let found = messages(&answer);
        if found.is_empty() {
            return got;
        }
        for message in &found {
            assert_code(&peer.call(ack(&answer, message)).await, 0, &[]);
        }
        got.extend(found.iter().map(|message| message.text().to_owned()));
    }
}

/// Lite topics born after start were not delivered to wildcard subscribers until a restart.
#[tokio::test]
async fn who_wants_all_lite_topics_gets_new_ones_at_once() {
    let node = started(&clock(), r#","+lite.sub.wildcard":"true""#).await;
    assert_code(&node.call(send_lite("old", "old")).await, 0, &[]);
    let renew = |client: &str| control(subscription(client, LiteAction::CompleteAdd, &[]));
    assert_code(&node.call(renew("client")).await, 0, &[]);
    assert_eq!(texts(&popped(&node, "client").await.1), ["old"]);
    let peer = node.connect().await;
    for body in ["new0", "new1", "new2"] {
        let waiting = peer.start(pop("client", 1, 30_000));
        assert_code(&node.call(send_lite(body, body)).await, 0, &[]);
        assert_eq!(texts(&messages(&waiting.await)), [body]);
    }
    // One that came, went and comes again is new.
    assert_code(
        &node.call(Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "%LMQ%$P$new0")).await,
        0,
        &[],
    );
    assert_code(&node.call(send_lite("new0", "again")).await, 0, &[]);
    assert_eq!(texts(&popped(&node, "client").await.1), ["again"]);
    // Who has left gets nothing more, and nothing is kept for it.
    assert_code(&node.call(control(subscription("client", LiteAction::CompleteRemove, &[]))).await, 0, &[]);
    assert_code(&node.call(send_lite("late", "late")).await, 0, &[]);
    assert!(popped(&node, "client").await.1.is_empty());
    node.stop().await;
}

/// Pops of a client that was gone waited on, and took what came for it.
#[tokio::test]
async fn a_closed_connection_waits_no_more() {
    let node = started(&clock(), "").await;
    assert_code(&node.call(subscribe("client", &["a"])).await, 0, &[]);
    let (leaving, staying) = (node.connect().await, node.connect().await);
    drop(leaving.start(pop("client", 1, 60_000)));
    node.lite_pops_wait(1).await;
    let kept = staying.start(pop("client", 1, 60_000));
    node.lite_pops_wait(2).await;
    leaving.close();
    node.lite_pops_wait(1).await;
    assert_code(&node.call(send_lite("a", "x")).await, 0, &[]);
    assert_eq!(texts(&messages(&kept.await)), ["x"]);
    node.stop().await;
}
