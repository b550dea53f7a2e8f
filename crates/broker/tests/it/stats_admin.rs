//! What tools see of topics, groups and offsets, in the exact form that Java's tools read: requests 43, 45, 202,
//! 208, 300, 303, 314, 317, 321, 328, 343, 345, 353.

use crate::clients::{body, heartbeat};
use crate::node::Node;
use crate::requests::{assert_code, commit, pull, send, send_to};
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{Value, parse};

fn of_topic(code: i32, topic: &str) -> Command {
    Command::request(code).with("topic", topic)
}

fn consume_stats(group: &str) -> Command {
    Command::request(request::GET_CONSUME_STATS).with("consumerGroup", group)
}

/// A broker with three messages in queue 0 of two of topic T, of which group g has consumed two.
async fn started() -> Node {
    let node = Node::start_with(&[("brokerName", "b")]).await;
    node.create_topic("T", 2, 6).await;
    node.put_group("g", 1, 16).await;
    for tag in ["TagA", "TagB", "TagA"] {
        assert_code(&node.call(send_to("T", 0, &[("TAGS", tag)], "m")).await, 0, &[]);
    }
    assert_code(&node.call(commit("g", "T", 0, 2)).await, 0, &[]);
    node
}

async fn expect(node: &Node, request: Command, expected: &str) {
    let answer = node.call(request).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!(without_rates(body(&answer)), expected);
}

/// Rates depend on when a test ran; they count as zero.
fn without_rates(text: &str) -> String {
    let mut parts = text.split("Tps\":");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        out.push_str("Tps\":0.0");
        out.push_str(rest);
    }
    out
}

fn queue(id: i32) -> String {
    format!(r#"{{"brokerName":"b","queueId":{id},"topic":"T"}}"#)
}

#[tokio::test]
async fn the_ends_of_queues() {
    let node = started().await;
    let last = node.store_times("T", 0).await[2];
    let expected = format!(
        r#"{{"offsetTable":{{{}:{{"lastUpdateTimestamp":{last},"maxOffset":3,"minOffset":0}},{}:{{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}}}},"topicPutTps":0.0}}"#,
        queue(0),
        queue(1)
    );
    expect(&node, of_topic(request::GET_TOPIC_STATS_INFO, "T"), &expected).await;
    let unknown = node.call(of_topic(request::GET_TOPIC_STATS_INFO, "None")).await;
    assert_code(&unknown, response::TOPIC_NOT_EXIST, &["None"]);
    node.stop().await;
}

#[tokio::test]
async fn how_far_a_group_is() {
    let node = started().await;
    let second = node.store_times("T", 0).await[1];
    node.call(pull("g", "T", 0, 2)).await;
    let table = format!(
        r#"{{"consumeTps":0.0,"offsetTable":{{{}:{{"brokerOffset":3,"consumerOffset":2,"lastTimestamp":{second},"pullOffset":3}},{}:{{"brokerOffset":0,"consumerOffset":0,"lastTimestamp":0,"pullOffset":0}}}}}}"#,
        queue(0),
        queue(1)
    );
    expect(&node, consume_stats("g"), &table).await;
    expect(&node, consume_stats("g").with("topic", "T"), &table).await;
    expect(&node, consume_stats("g").with("topicList", "T;None"), &table).await;
    let nothing = r#"{"consumeTps":0.0,"offsetTable":{}}"#;
    expect(&node, consume_stats("unknown"), nothing).await;
    expect(&node, consume_stats("g").with("topic", "None"), nothing).await;

    let all = node.call(Command::request(request::GET_BROKER_CONSUME_STATS).with("isOrder", false)).await;
    let text = without_rates(body(&all));
    assert!(text.contains(&format!(r#"{{"g":[{table}]}}"#)), "{text}");
    assert!(text.contains(r#""totalDiff":1,"totalInflightDiff":1"#), "{text}");
    let ordered = node.call(Command::request(request::GET_BROKER_CONSUME_STATS).with("isOrder", true)).await;
    assert!(body(&ordered).contains(r#"{"g":[]}"#), "{}", body(&ordered));
    node.stop().await;
}

/// A topic that an online group doesn't read any more is no backlog.
#[tokio::test]
async fn what_a_group_gave_up_is_no_backlog() {
    let node = started().await;
    let mut wire = Wire::connect(&node).await;
    wire.call(heartbeat("c", "g", &["Other"])).await;
    expect(&node, consume_stats("g"), r#"{"consumeTps":0.0,"offsetTable":{}}"#).await;
    wire.call(heartbeat("c", "g", &["Other", "T"])).await;
    assert!(body(&node.call(consume_stats("g")).await).contains(r#""consumerOffset":2"#));
    node.stop().await;
}

#[tokio::test]
async fn who_reads_what() {
    let node = started().await;
    let mut wire = Wire::connect(&node).await;
    wire.call(heartbeat("c", "online", &["T"])).await;
    expect(&node, of_topic(request::QUERY_TOPIC_CONSUME_BY_WHO, "T"), r#"{"groupList":["g","online"]}"#)
        .await;
    expect(&node, of_topic(request::QUERY_TOPIC_CONSUME_BY_WHO, "None"), r#"{"groupList":[]}"#).await;
    let topics = Command::request(request::QUERY_TOPICS_BY_CONSUMER).with("group", "g");
    expect(&node, topics, r#"{"brokerAddr":"127.0.0.1:10911","topicList":["T"]}"#).await;
    let subscription =
        |topic: &str| of_topic(request::QUERY_SUBSCRIPTION_BY_CONSUMER, topic).with("group", "online");
    expect(&node, subscription("None"), r#"{"group":"online","topic":"None"}"#).await;
    let expected = r#"{"group":"online","subscriptionData":{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":5,"tagsSet":["TagA"],"topic":"T"},"topic":"T"}"#;
    expect(&node, subscription("T"), expected).await;
    node.stop().await;
}

#[tokio::test]
async fn all_producers() {
    let node = Node::start().await;
    let mut wire = Wire::connect(&node).await;
    wire.call(heartbeat("c", "g", &["T"])).await;
    let answer = node.call(Command::request(request::GET_ALL_PRODUCER_INFO)).await;
    let text = body(&answer);
    let start = r#"{"data":{"P":[{"clientId":"c","language":"JAVA","lastUpdateTimestamp":1"#;
    let end = format!(r#","remoteIP":"/127.0.0.1:{}","version":513}}]}}}}"#, wire.port());
    assert!(text.starts_with(start) && text.ends_with(&end), "{text}");
    node.stop().await;
}

#[tokio::test]
async fn whole_tables_of_offsets() {
    let node = started().await;
    let answer = node.call(Command::request(request::GET_ALL_CONSUMER_OFFSET)).await;
    let text = body(&answer);
    assert!(text.contains(r#""groupTopicMap":{"g":["T"]},"offsetTable":{"T@g":{0:2}},"#), "{text}");
    let answer = node.call(Command::request(request::GET_ALL_DELAY_OFFSET)).await;
    assert!(body(&answer).starts_with(r#"{"dataVersion":{"counter":"#), "{}", body(&answer));
    assert!(body(&answer).contains(r#""offsetTable":{"#), "{}", body(&answer));
    node.stop().await;
}

#[tokio::test]
async fn the_times_of_queues() {
    let node = started().await;
    let times = node.store_times("T", 0).await;
    let request = of_topic(request::QUERY_CONSUME_TIME_SPAN, "T").with("group", "g");
    let answer = node.call(request.clone()).await;
    let spans = parse(&answer.body).unwrap();
    let span = |id: usize, name: &str| spans["consumeTimeSpanSet"][id][name].clone();
    let check = |id: usize, name: &str, expected: i64| assert_eq!(span(id, name), expected, "{id} {name}");
    check(0, "minTimeStamp", times[0]);
    check(0, "consumeTimeStamp", times[1]);
    check(0, "maxTimeStamp", times[2]);
    check(1, "minTimeStamp", -1);
    check(1, "consumeTimeStamp", -1);
    check(1, "maxTimeStamp", -1);
    check(1, "delayTime", 0);
    assert!(span(0, "delayTime").as_i64().unwrap() >= 0);
    assert_eq!(span(0, "minTimeStampStr").as_str().unwrap().len(), "2026-01-02#03:04:05:678".len());
    assert_eq!(span(0, "messageQueue")["queueId"], 0);
    let unknown = node.call(crate::requests::change(request, "topic", "None")).await;
    assert_code(&unknown, response::TOPIC_NOT_EXIST, &["None"]);
    node.stop().await;
}

#[tokio::test]
async fn the_entries_of_a_queue() {
    let node = started().await;
    let asked = |queue_id: i32, index: i64, count: i32| {
        of_topic(request::QUERY_CONSUME_QUEUE, "T")
            .with("queueId", queue_id)
            .with("index", index)
            .with("count", count)
    };
    let answer = node.call(asked(0, 1, 10)).await;
    let entries = parse(&answer.body).unwrap();
    assert_eq!((&entries["minQueueIndex"], &entries["maxQueueIndex"]), (&Value::from(0), &Value::from(3)));
    let tags: Vec<i64> = entries["queueData"].as_array().unwrap().iter().map(tags_code).collect();
    assert_eq!(tags, [2_598_920, 2_598_919]);
    assert_eq!(
        parse(&node.call(asked(0, 0, 1)).await.body).unwrap()["queueData"].as_array().unwrap().len(),
        1
    );

    let mut wire = Wire::connect(&node).await;
    let with_group = asked(0, 0, 10).with("consumerGroup", "online");
    let offline = node.call(with_group.clone()).await;
    assert!(body(&offline).contains("online@T is not online!"), "{}", body(&offline));
    wire.call(heartbeat("c", "online", &["T"])).await;
    let online = parse(&node.call(with_group).await.body).unwrap();
    let passes: Vec<bool> = online["queueData"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["eval"].as_bool().unwrap())
        .collect();
    assert_eq!(passes, [true, false, true]);

    assert_code(&node.call(asked(0, 3, 1)).await, response::SUCCESS, &["Index 3 of 0@T is not exist!"]);
    assert_code(&node.call(asked(7, 0, 1)).await, response::SYSTEM_ERROR, &["7@T is not exist!"]);
    node.stop().await;
}

fn tags_code(entry: &Value) -> i64 {
    entry["tagsCode"].as_i64().unwrap()
}

#[tokio::test]
async fn a_group_takes_over_the_offsets_of_another() {
    let node = started().await;
    let clone = |source: &str, target: &str| {
        Command::request(request::CLONE_GROUP_OFFSET).with("srcGroup", source).with("destGroup", target)
    };
    assert_code(&node.call(clone("g", "h")).await, response::SUCCESS, &[]);
    assert!(body(&node.call(consume_stats("h")).await).contains(r#""consumerOffset":2"#));
    assert_code(&node.call(commit("g", "T", 0, 3)).await, 0, &[]);
    // Who is online decides what counts, unless it is said that it doesn't matter.
    let mut wire = Wire::connect(&node).await;
    wire.call(heartbeat("c", "g", &["Other"])).await;
    node.call(clone("g", "h").with("topic", "T")).await;
    assert!(body(&node.call(consume_stats("h")).await).contains(r#""consumerOffset":2"#));
    node.call(clone("g", "h").with("topic", "T").with("offline", true)).await;
    assert!(body(&node.call(consume_stats("h")).await).contains(r#""consumerOffset":3"#));
    node.stop().await;
}

#[tokio::test]
async fn the_slowest_group_of_a_topic() {
    let node = started().await;
    for (group, offset) in [("fast", 3), ("slow", 1)] {
        node.put_group(group, 1, 16).await;
        assert_code(&node.call(commit(group, "T", 0, offset)).await, 0, &[]);
    }
    let asked = |compared: &str, left_out: &str| {
        of_topic(request::QUERY_CORRECTION_OFFSET, "T")
            .with("compareGroup", compared)
            .with("filterGroups", left_out)
    };
    expect(&node, asked("g", ""), r#"{"correctionOffsets":{0:1}}"#).await;
    expect(&node, asked("g", "slow"), r#"{"correctionOffsets":{0:2}}"#).await;
    // To leave a group out is not to forget it.
    expect(&node, asked("g", "fast"), r#"{"correctionOffsets":{0:1}}"#).await;
    let nothing = format!(r#"{{"correctionOffsets":{{0:{}}}}}"#, i64::MAX);
    expect(&node, asked("g", "slow,g"), &nothing).await;
    expect(&node, asked("unknown", "slow,g"), r#"{"correctionOffsets":{0:3}}"#).await;
    node.stop().await;
}

#[tokio::test]
async fn a_group_is_forbidden_a_topic() {
    let node = started().await;
    let asked = of_topic(request::UPDATE_AND_GET_GROUP_FORBIDDEN, "T").with("group", "g");
    expect(&node, asked.clone(), r#"{"group":"g","readable":true,"topic":"T"}"#).await;
    expect(&node, asked.clone().with("readable", false), r#"{"group":"g","readable":false,"topic":"T"}"#)
        .await;
    let node = node.restart().await;
    expect(&node, asked.clone(), r#"{"group":"g","readable":false,"topic":"T"}"#).await;
    expect(&node, asked.with("readable", true), r#"{"group":"g","readable":true,"topic":"T"}"#).await;
    node.stop().await;
}

/// A deleted group or topic used to leave its offsets behind: it still showed a backlog, and a new one of its name
/// started in the middle. (B029)
#[tokio::test]
async fn gone_means_gone() {
    let node = started().await;
    let delete_topic = of_topic(request::DELETE_TOPIC_IN_BROKER, "T");
    let delete_group = Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "g");
    assert_code(&node.call(delete_group.with("cleanOffset", true)).await, response::SUCCESS, &[]);
    assert_code(&node.call(delete_topic).await, response::SUCCESS, &[]);
    assert_no_trace(&node).await;
    let node = node.restart().await;
    assert_no_trace(&node).await;

    node.create_topic("T", 2, 6).await;
    node.put_group("g", 1, 16).await;
    for n in 0..5 {
        assert_code(&node.call(send("T", n.to_string())).await, 0, &[]);
    }
    assert_eq!(node.all("T", 0).await.len(), 5);
    let table = body(&node.call(consume_stats("g").with("topic", "T")).await).to_owned();
    assert!(table.contains(r#""brokerOffset":5,"consumerOffset":0"#), "{table}");
    node.stop().await;
}

async fn assert_no_trace(node: &Node) {
    expect(node, of_topic(request::QUERY_TOPIC_CONSUME_BY_WHO, "T"), r#"{"groupList":[]}"#).await;
    expect(node, consume_stats("g"), r#"{"consumeTps":0.0,"offsetTable":{}}"#).await;
    let offsets = node.call(Command::request(request::GET_ALL_CONSUMER_OFFSET)).await;
    assert!(!body(&offsets).contains("T@"), "{}", body(&offsets));
    let all = node.call(Command::request(request::GET_BROKER_CONSUME_STATS).with("isOrder", false)).await;
    assert!(!body(&all).contains(r#""g":"#), "{}", body(&all));
}

/// Backlogs turned negative when a topic was deleted and made again under a group that kept its offsets. (B031)
#[tokio::test]
async fn a_backlog_is_never_negative() {
    let node = started().await;
    for offset in [3, 1000, i64::MAX] {
        assert_code(&node.call(commit("g", "T", 0, offset)).await, 0, &[]);
        let table = body(&node.call(consume_stats("g")).await).to_owned();
        assert!(table.contains(r#""brokerOffset":3,"consumerOffset":3"#), "{table}");
    }
    node.call(pull("g", "T", 0, 3)).await;
    assert_code(&node.call(of_topic(request::DELETE_TOPIC_IN_BROKER, "T")).await, response::SUCCESS, &[]);
    node.create_topic("T", 2, 6).await;
    // The consumer still runs, and commits what it had.
    assert_code(&node.call(commit("g", "T", 0, 3)).await, 0, &[]);
    let table = body(&node.call(consume_stats("g")).await).to_owned();
    assert!(
        table.contains(r#""brokerOffset":0,"consumerOffset":0,"lastTimestamp":0,"pullOffset":0"#),
        "{table}"
    );
    let all = node.call(Command::request(request::GET_BROKER_CONSUME_STATS).with("isOrder", false)).await;
    assert!(body(&all).contains(r#""totalDiff":0,"totalInflightDiff":0"#), "{}", body(&all));
    node.stop().await;
}
