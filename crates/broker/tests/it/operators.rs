//! The configuration, the broker's figures, and who may change what.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::body::broker_stats::BrokerStatsData;
use roxmq_protocol::body::ha_status::HaStatus;
use roxmq_protocol::body::list::{KvTable, TopicList};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::properties_text;
use std::collections::BTreeMap;

fn set(text: &str) -> Command {
    Command::request(request::UPDATE_BROKER_CONFIG).body(text.to_owned())
}

async fn configuration(node: &Node) -> BTreeMap<String, String> {
    let answer = node.call(Command::request(request::GET_BROKER_CONFIG)).await;
    assert!(answer.field("version").is_some_and(|version| version.contains("\"counter\":")), "{answer:?}");
    properties_text::parse(std::str::from_utf8(&answer.body).unwrap()).into_iter().collect()
}

#[tokio::test]
async fn a_live_key_takes_effect_at_once() {
    let node = Node::start().await;
    let large = vec![b'x'; 5 << 20];
    assert_code(&node.call(send("T", large.clone())).await, response::MESSAGE_ILLEGAL, &["maxMessageSize"]);
    assert_code(&node.call(set("maxMessageSize=8388608\n")).await, response::SUCCESS, &[]);
    assert_eq!(configuration(&node).await["maxMessageSize"], "8388608");
    assert_code(&node.call(send("T", large)).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn the_answer_says_what_needs_a_start() {
    let node = Node::start().await;
    let answer = node.call(set("flushDiskType=SYNC_FLUSH\nackMessageThreadPoolNums=3\n")).await;
    assert_code(
        &answer,
        response::SUCCESS,
        &["next start: flushDiskType", "no effect", "ackMessageThreadPoolNums"],
    );
    node.stop().await;
}

#[tokio::test]
async fn a_faulty_change_changes_nothing() {
    let node = Node::start().await;
    let refused = async |text: &str, code: i32, words: &[&str]| {
        assert_code(&node.call(set(text)).await, code, words);
        assert_eq!(configuration(&node).await["traceOn"], "true");
    };
    refused("traceOn=false\nmaxMessageSize=big", response::INVALID_PARAMETER, &["maxMessageSize", "'big'"])
        .await;
    refused("traceOn=false\ntraceOnn=1", response::INVALID_PARAMETER, &["traceOnn", "did you mean traceOn?"])
        .await;
    for key in ["brokerConfigPath", "rocketmqHome", "configBlackList", "storePathRootDir"] {
        let words = ["Can not update config in black list.", key];
        refused(&format!("traceOn=false\n{key}=/tmp/x"), response::NO_PERMISSION, &words).await;
    }
    refused("traceOn=false\nregionId=a\\nb=c", response::INVALID_PARAMETER, &["regionId", "control"]).await;
    node.stop().await;
}

#[tokio::test]
async fn the_owners_text_of_the_file_stays() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("broker.conf");
    std::fs::write(&file, "# ours\ntraceOn = true\n\n! end\n").unwrap();
    let node = Node::start_with(&[("brokerConfigPath", file.to_str().unwrap())]).await;
    assert_code(&node.call(set("traceOn=false\nregionId=R")).await, response::SUCCESS, &[]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# ours\ntraceOn=false\n\n! end\nregionId=R\n");
    node.stop().await;
}

/// A broker set to read-only still accepted sends to ordinary topics.
#[tokio::test]
async fn a_broker_that_may_not_be_written_to_refuses_sends() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "1")).await, response::SUCCESS, &[]);
    assert_code(&node.call(set("brokerPermission=4")).await, response::SUCCESS, &[]);
    assert_code(&node.call(send("T", "2")).await, response::NO_PERMISSION, &[]);
    assert_eq!(node.all("T", 0).await.len(), 1);
    assert_code(&node.call(set("brokerPermission=6")).await, response::SUCCESS, &[]);
    assert_code(&node.call(send("T", "3")).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn changes_from_elsewhere_need_to_be_allowed() {
    let requests = || {
        [
            set("traceOn=true"),
            Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T"),
            Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", "G"),
            Command::request(request::CLEAN_UNUSED_TOPIC),
            Command::request(request::CLEAN_EXPIRED_CONSUMEQUEUE),
            Command::request(request::DELETE_EXPIRED_COMMITLOG),
        ]
    };
    let node = Node::start().await;
    for request in requests() {
        assert_code(
            &node.call_from_elsewhere(request.clone()).await,
            response::NO_PERMISSION,
            &["remoteAdminEnable"],
        );
        assert_code(&node.call(request).await, response::SUCCESS, &[]);
    }
    let show = Command::request(request::GET_BROKER_CONFIG);
    assert_code(&node.call_from_elsewhere(show).await, response::SUCCESS, &[]);
    node.stop().await;
    let node = Node::start_with(&[("remoteAdminEnable", "true")]).await;
    for request in requests() {
        assert_code(&node.call_from_elsewhere(request).await, response::SUCCESS, &[]);
    }
    node.stop().await;
}

#[tokio::test]
async fn the_figures_have_the_keys_that_tools_read() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "1")).await, response::SUCCESS, &[]);
    let answer = node.call(Command::request(request::GET_BROKER_RUNTIME_INFO)).await;
    let table = KvTable::from_json_bytes(&answer.body).unwrap().table;
    for key in [
        "brokerActive",
        "brokerVersion",
        "brokerVersionDesc",
        "bootTimestamp",
        "runtime",
        "msgPutTotalTodayNow",
        "msgPutTotalTodayMorning",
        "msgPutTotalYesterdayMorning",
        "msgGetTotalTodayNow",
        "msgGetTotalTodayMorning",
        "msgGetTotalYesterdayMorning",
        "dispatchBehindBytes",
        "dispatchMaxBuffer",
        "pageCacheLockTimeMills",
        "earliestMessageTimeStamp",
        "startAcceptSendRequestTimeStamp",
        "timerReadBehind",
        "timerOffsetBehind",
        "timerCongestNum",
        "timerEnqueueTps",
        "timerDequeueTps",
        "remainTransientStoreBufferNumbs",
        "remainHowManyDataToFlush",
        "commitLogDirCapacity",
        "sendThreadPoolQueueSize",
        "sendThreadPoolQueueCapacity",
        "sendThreadPoolQueueHeadWaitTimeMills",
        "pullThreadPoolQueueSize",
        "pullThreadPoolQueueHeadWaitTimeMills",
        "litePullThreadPoolQueueSize",
        "queryThreadPoolQueueSize",
        "ackThreadPoolQueueSize",
        "EndTransactionQueueSize",
        "EndTransactionThreadPoolQueueCapacity",
        "putMessageEntireTimeMax",
        "putMessageTimesTotal",
        "putMessageFailedTimes",
        "putMessageSizeTotal",
        "putMessageDistributeTime",
        "putMessageAverageSize",
        "getMessageEntireTimeMax",
        "putTps",
        "getFoundTps",
        "getMissTps",
        "getTotalTps",
        "getTransferredTps",
        "putLatency99",
        "putLatency999",
        "commitLogMaxOffset",
        "commitLogMinOffset",
        "commitLogDiskRatio",
        "consumeQueueDiskRatio",
    ] {
        assert!(table.contains_key(key), "{key} is missing");
    }
    assert_eq!(table["brokerVersionDesc"], "V5_5_0");
    assert_eq!(table["msgPutTotalTodayNow"], "1");
    assert_eq!(table["sendThreadPoolQueueCapacity"], "10000");
    let ratio: f64 = table["commitLogDiskRatio"].parse().unwrap();
    assert!((0.0..=1.0).contains(&ratio), "{ratio}");
    node.stop().await;
}

#[tokio::test]
async fn statistics_are_found_by_name_and_key() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "1")).await, response::SUCCESS, &[]);
    let view = |name: &str, key: &str| {
        Command::request(request::VIEW_BROKER_STATS_DATA).with("statsName", name).with("statsKey", key)
    };
    assert_code(&node.call(pull("g", "T", 0, 0)).await, response::SUCCESS, &[]);
    for (name, key) in [
        ("TOPIC_PUT_NUMS", "T"),
        ("TOPIC_PUT_SIZE", "T"),
        ("GROUP_GET_NUMS", "T@g"),
        ("GROUP_GET_SIZE", "T@g"),
        ("GROUP_GET_LATENCY", "T@g"),
        ("BROKER_PUT_NUMS", "DefaultCluster"),
        ("BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "DefaultCluster"),
        ("BROKER_GET_NUMS", "DefaultCluster"),
        ("BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC", "DefaultCluster"),
        ("CHANNEL_ACTIVITY", "CONNECT"),
    ] {
        let answer = node.call(view(name, key)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        BrokerStatsData::from_json_bytes(&answer.body).unwrap();
    }
    let unknown = node.call(view("TOPIC_PUT_NUMS", "U")).await;
    assert_code(&unknown, response::SYSTEM_ERROR, &["The stats <TOPIC_PUT_NUMS> <U> not exist"]);
    node.stop().await;
}

#[tokio::test]
async fn a_master_without_replicas_says_so() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "1")).await, response::SUCCESS, &[]);
    let answer = node.call(Command::request(request::GET_BROKER_HA_STATUS)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    let status = HaStatus::from_json_bytes(&answer.body).unwrap();
    assert!(status.master && status.master_commit_log_max_offset > 0, "{status:?}");
    assert_eq!((status.in_sync_slave_nums, status.ha_connection_info), (0, Vec::new()));
    node.stop().await;
}

#[tokio::test]
async fn the_systems_topics_are_listed() {
    let node = Node::start().await;
    let answer = node.call(Command::request(request::GET_SYSTEM_TOPIC_LIST_FROM_BROKER)).await;
    let topics = TopicList::from_json_bytes(&answer.body).unwrap().topic_list;
    for topic in ["TBW102", "SELF_TEST_TOPIC", "DefaultCluster", "broker-a"] {
        assert!(topics.contains(topic), "{topic} is missing in {topics:?}");
    }
    node.stop().await;
}
