//! Offsets that operators set, and first commits that come all at once: request 222, pushes 220.

use crate::clients::{body, heartbeat};
use crate::node::Node;
use crate::requests::{assert_code, change, long_pull, messages, number, pull, send};
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::language::Language;
use std::time::{SystemTime, UNIX_EPOCH};

fn reset(timestamp: i64) -> Command {
    Command::request(request::INVOKE_BROKER_TO_RESET_OFFSET)
        .with("topic", "T")
        .with("group", "g")
        .with("timestamp", timestamp)
        .with("isForce", true)
}

fn to_offset(queue_id: i32, offset: i64) -> Command {
    reset(0).with("queueId", queue_id).with("offset", offset)
}

fn of_queue(code: i32, group: &str, queue_id: i32) -> Command {
    Command::request(code).with("consumerGroup", group).with("topic", "T").with("queueId", queue_id)
}

fn commit(queue_id: i32, offset: i64) -> Command {
    of_queue(request::UPDATE_CONSUMER_OFFSET, "g", queue_id).with("commitOffset", offset)
}

async fn consumed(node: &Node, queue_id: i32) -> i64 {
    number(&node.call(of_queue(request::QUERY_CONSUMER_OFFSET, "g", queue_id)).await, "offset")
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// Ten messages in queue 0 of topic T, of which group g has consumed four.
async fn started(settings: &[(&str, &str)]) -> Node {
    let node = Node::start_with(&[&[("brokerName", "b")], settings].concat()).await;
    node.create_topic("T", 1, 6).await;
    node.put_group("g", 1, 16).await;
    for n in 0..10 {
        assert_code(&node.call(send("T", n.to_string())).await, 0, &[]);
    }
    assert_code(&node.call(commit(0, 4)).await, 0, &[]);
    node
}

#[track_caller]
fn assert_reset(answer: &Command, offset: i64) {
    assert_code(answer, response::SUCCESS, &[]);
    let expected = format!(r#"{{"offsetTable":{{{{"brokerName":"b","queueId":0,"topic":"T"}}:{offset}}}}}"#);
    assert_eq!(body(answer), expected);
}

/// A reset to a time after the last message landed on the last message, which then came again. (B024)
#[tokio::test]
async fn a_time_after_the_last_message_is_the_end() {
    let node = started(&[]).await;
    for timestamp in [now() + 1, now() + 3_600_000, i64::MAX, -1] {
        assert_code(&node.call(commit(0, 4)).await, 0, &[]);
        assert_reset(&node.call(reset(timestamp)).await, 10);
        assert_eq!(consumed(&node, 0).await, 10, "{timestamp}");
        let told = node.call(pull("g", "T", 0, 4)).await;
        assert_code(&told, response::PULL_OFFSET_MOVED, &[]);
        assert_eq!(number(&told, "nextBeginOffset"), 10);
        assert!(messages(&node.call(pull("g", "T", 0, 10)).await).is_empty());
    }
    assert_reset(&node.call(reset(0)).await, 0);
    let times = node.store_times("T", 0).await;
    let first_of_its_time = times.iter().position(|time| *time == times[9]).unwrap() as i64;
    assert_reset(&node.call(reset(times[9])).await, first_of_its_time);
    node.stop().await;
}

/// A running consumer would commit its own position over the one that was set.
#[tokio::test]
async fn a_reset_holds_until_the_consumer_takes_it_up() {
    let node = started(&[]).await;
    assert_reset(&node.call(to_offset(0, 2)).await, 2);
    let ignored = node.call(commit(0, 9)).await;
    assert_code(&ignored, response::SUCCESS, &["reset"]);
    assert_eq!(consumed(&node, 0).await, 2);
    let told = node.call(pull("g", "T", 0, 9)).await;
    assert_code(&told, response::PULL_OFFSET_MOVED, &[]);
    assert_eq!(number(&told, "nextBeginOffset"), 2);
    assert_eq!(messages(&node.call(pull("g", "T", 0, 2)).await)[0].text(), "2");
    assert_code(&node.call(commit(0, 9)).await, response::SUCCESS, &[]);
    assert_eq!(consumed(&node, 0).await, 9);
    // Of a consumer that starts later, the offset alone is needed.
    assert_reset(&node.call(to_offset(0, 5)).await, 5);
    let node = node.restart().await;
    assert_eq!(consumed(&node, 0).await, 5);
    node.stop().await;
}

/// A consumer that has read everything waits at the end, where it would learn of the reset much later.
#[tokio::test]
async fn a_reset_reaches_a_consumer_that_waits() {
    let node = started(&[]).await;
    let waiting = node.connect().await;
    let held = waiting.start(long_pull("g", "T", 0, 10, 30_000));
    node.holds(1).await;
    assert_reset(&node.call(to_offset(0, 2)).await, 2);
    let woken = held.await;
    assert_eq!(number(&woken, "nextBeginOffset"), 10);
    let told = waiting.call(pull("g", "T", 0, 10)).await;
    assert_code(&told, response::PULL_OFFSET_MOVED, &[]);
    assert_eq!(number(&told, "nextBeginOffset"), 2);
    node.stop().await;
}

#[tokio::test]
async fn a_reset_goes_to_where_messages_are() {
    let node = started(&[]).await;
    let check = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    assert_reset(&node.call(to_offset(0, 11)).await, 10);
    check(to_offset(0, 12), response::SYSTEM_ERROR, &["12", "[0-10]"]).await;
    check(to_offset(0, -2), response::SYSTEM_ERROR, &["-2", "[0-10]"]).await;
    check(to_offset(1, 0), response::SYSTEM_ERROR, &["queue 1", "T"]).await;
    check(change(reset(-1), "topic", "None"), response::TOPIC_NOT_EXIST, &["None"]).await;
    check(change(reset(-1), "group", "none"), response::SUBSCRIPTION_GROUP_NOT_EXIST, &["none"]).await;
    check(change(reset(-1), "timestamp", "soon"), response::SYSTEM_ERROR, &["timestamp", "soon"]).await;
    assert_eq!(consumed(&node, 0).await, 10);
    node.stop().await;
}

#[tokio::test]
async fn offsets_are_not_set_from_elsewhere() {
    let clone = Command::request(request::CLONE_GROUP_OFFSET).with("srcGroup", "g").with("destGroup", "h");
    let forbid =
        Command::request(request::UPDATE_AND_GET_GROUP_FORBIDDEN).with("group", "g").with("topic", "T");
    let node = started(&[]).await;
    for request in [to_offset(0, 2), clone.clone(), forbid.clone().with("readable", false)] {
        let refused = node.call_from_elsewhere(request).await;
        assert_code(&refused, response::NO_PERMISSION, &["203.0.113.9", "remoteAdminEnable"]);
    }
    assert_code(&node.call_from_elsewhere(forbid).await, response::SUCCESS, &[]);
    assert_eq!(consumed(&node, 0).await, 4);
    node.stop().await;
    let node = started(&[("remoteAdminEnable", "true")]).await;
    assert_reset(&node.call_from_elsewhere(to_offset(0, 2)).await, 2);
    assert_code(&node.call_from_elsewhere(clone).await, response::SUCCESS, &[]);
    node.stop().await;
}

/// Servers before 5.0 asked the consumers to reset themselves.
#[tokio::test]
async fn consumers_are_asked_to_reset_themselves() {
    let node = started(&[("useServerSideResetOffset", "false")]).await;
    let offline = node.call(reset(-1)).await;
    assert_code(&offline, response::CONSUMER_NOT_ONLINE, &["Group: g Topic: T Timestamp: -1"]);
    let (mut consumer, mut tool) =
        (Wire::connect(&node).await, Wire::connect_as(&node, Language::Cpp, 513).await);
    consumer.call(heartbeat("c", "g", &["T"])).await;
    consumer.pushed().await;

    let check = async |consumer: &mut Wire, request: Command, offset: i64| {
        assert_reset(&node.call(request).await, offset);
        let push = consumer.pushed().await;
        assert_eq!((push.code, push.is_oneway()), (request::RESET_CONSUMER_CLIENT_OFFSET, true));
        assert_eq!((push.field("topic"), push.field("group")), (Some("T"), Some("g")));
        assert!(body(&push).ends_with(&format!(r#""topic":"T"}}:{offset}}}}}"#)), "{}", body(&push));
    };
    check(&mut consumer, reset(-1), 10).await;
    check(&mut consumer, change(reset(-1), "isForce", "false"), 4).await;
    check(&mut consumer, change(reset(0), "isForce", "false"), 0).await;
    assert_eq!(consumed(&node, 0).await, 4, "the consumer hasn't committed yet");

    assert_reset(&tool.call(reset(-1)).await, 10);
    let push = consumer.pushed().await;
    assert_eq!(body(&push), r#"{"offsetTable":[{"brokerName":"b","offset":10,"queueId":0,"topic":"T"}]}"#);

    let unknown = node.call(change(reset(-1), "group", "h")).await;
    assert_code(&unknown, response::SYSTEM_ERROR, &["THe consumer group <h> not exist"]);
    let mut old = Wire::connect_as(&node, Language::Java, 27).await;
    old.call(heartbeat("old", "g", &["T"])).await;
    assert_code(
        &node.call(reset(-1)).await,
        response::SYSTEM_ERROR,
        &["does not support this feature", "old"],
    );
    node.stop().await;
}

/// Of several first commits of a new group at one moment, some were lost when the tables were made. (B023)
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_commits_at_one_moment_are_all_kept() {
    const QUEUES: i32 = 64;
    const ROUNDS: i32 = 20;
    let node = Node::start().await;
    node.create_topic("T", QUEUES, 6).await;
    let mut peers = Vec::new();
    for _ in 0..QUEUES {
        peers.push(node.connect().await);
    }
    let group = |round: i32| format!("g{round}");
    for round in 0..ROUNDS {
        node.put_group(&group(round), 1, 16).await;
        let commits: Vec<_> = (0..QUEUES)
            .map(|id| {
                let commit = of_queue(request::UPDATE_CONSUMER_OFFSET, &group(round), id);
                peers[id as usize].start(commit.with("commitOffset", i64::from(id) + 1))
            })
            .collect();
        for commit in commits {
            assert_code(&commit.await, response::SUCCESS, &[]);
        }
    }
    assert_all_kept(&node, ROUNDS, QUEUES).await;
    let node = node.restart().await;
    assert_all_kept(&node, ROUNDS, QUEUES).await;
    node.stop().await;
}

async fn assert_all_kept(node: &Node, rounds: i32, queues: i32) {
    for round in 0..rounds {
        let asked = |id| of_queue(request::QUERY_CONSUMER_OFFSET, &format!("g{round}"), id);
        let answers = node.call_all((0..queues).map(asked).collect()).await;
        let offsets: Vec<i64> = answers.iter().map(|answer| number(answer, "offset")).collect();
        assert_eq!(offsets, (1..=i64::from(queues)).collect::<Vec<_>>(), "round {round}");
    }
}
