//! Topics made, changed, deleted and listed by operators.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::body::topic_config::TopicConfig;
use roxmq_protocol::body::topic_table::TopicTableAndMapping;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{FromJson, ToJson};
use std::sync::atomic::{AtomicBool, Ordering};

fn create(topic: &str, attributes: &str) -> Command {
    Command::request(request::UPDATE_AND_CREATE_TOPIC)
        .with("topic", topic)
        .with("defaultTopic", "TBW102")
        .with("readQueueNums", 4)
        .with("writeQueueNums", 4)
        .with("perm", 6)
        .with("topicFilterType", "SINGLE_TAG")
        .with("topicSysFlag", 0)
        .with("order", false)
        .with("attributes", attributes)
}

fn delete(topic: &str) -> Command {
    Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", topic)
}

async fn show(node: &Node, topic: &str) -> Option<TopicConfig> {
    let answer = node.call(Command::request(request::GET_TOPIC_CONFIG).with("topic", topic)).await;
    match answer.code {
        response::SUCCESS => Some(TopicConfig::from_json_bytes(&answer.body).unwrap()),
        code => {
            assert_eq!(code, response::TOPIC_NOT_EXIST);
            None
        }
    }
}

#[tokio::test]
async fn a_topic_is_made_changed_and_kept() {
    let node = Node::start().await;
    assert_code(&node.call(create("T", "+message.type=FIFO")).await, response::SUCCESS, &[]);
    let made = show(&node, "T").await.unwrap();
    assert_eq!((made.read_queue_nums, made.write_queue_nums, made.perm), (4, 4, 6));
    assert_eq!(made.attributes.get("message.type").map(String::as_str), Some("FIFO"));
    let fewer = change(create("T", "-message.type"), "writeQueueNums", 2);
    assert_code(&node.call(fewer).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    let changed = show(&node, "T").await.unwrap();
    assert_eq!((changed.read_queue_nums, changed.write_queue_nums), (4, 2));
    assert!(changed.attributes.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn what_is_no_topic_is_refused() {
    let node = Node::start().await;
    let refused = async |request: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(request).await, code, words);
    };
    refused(create("a b", ""), response::INVALID_PARAMETER, &["' '"]).await;
    refused(create("", ""), response::INVALID_PARAMETER, &["blank"]).await;
    refused(create(&"t".repeat(128), ""), response::INVALID_PARAMETER, &["128", "127"]).await;
    refused(
        create("TBW102", ""),
        response::INVALID_PARAMETER,
        &["The topic[TBW102] is conflict with system topic."],
    )
    .await;
    refused(create("DefaultCluster", ""), response::INVALID_PARAMETER, &["conflict with system topic"]).await;
    refused(create("T", "+foo=1"), response::SYSTEM_ERROR, &["unsupported key: foo"]).await;
    refused(
        create("T", "message.type=FIFO"),
        response::SYSTEM_ERROR,
        &["add/alter attribute format is wrong"],
    )
    .await;
    refused(change(create("T", ""), "perm", 99), response::INVALID_PARAMETER, &["perm", "99"]).await;
    refused(change(create("T", ""), "writeQueueNums", -1), response::INVALID_PARAMETER, &["writeQueueNums"])
        .await;
    assert_eq!(show(&node, "T").await, None);
    node.stop().await;
}

#[tokio::test]
async fn a_list_is_made_as_a_whole() {
    let node = Node::start().await;
    let list = |names: &[&str]| {
        let topics: Vec<_> =
            names.iter().map(|name| format!(r#"{{"topicName":"{name}","readQueueNums":1}}"#)).collect();
        let body = format!(r#"{{"topicConfigList":[{}]}}"#, topics.join(","));
        Command::request(request::UPDATE_AND_CREATE_TOPIC_LIST).body(body)
    };
    assert_code(&node.call(list(&["A", "b b"])).await, response::INVALID_PARAMETER, &["b b"]);
    assert_eq!(show(&node, "A").await, None);
    assert_code(&node.call(list(&["A", "B"])).await, response::SUCCESS, &[]);
    // One that is as it was must not keep the others from being made.
    assert_code(&node.call(list(&["A", "C"])).await, response::SUCCESS, &[]);
    for name in ["A", "B", "C"] {
        assert!(show(&node, name).await.is_some(), "{name}");
    }
    node.stop().await;
}

/// A deleted topic left offsets behind, and a new one of its name started in the middle.
#[tokio::test]
async fn a_deleted_topic_is_gone_with_everything_of_it() {
    let node = Node::start().await;
    node.create_topic("T", 1, 6).await;
    node.create_topic("%RETRY%G_T", 1, 6).await;
    node.put_group("G", 1, 16).await;
    for text in ["1", "2", "3"] {
        assert_code(&node.call(send("T", text)).await, response::SUCCESS, &[]);
    }
    let commit = commit("G", "T", 0, 2);
    assert_code(&node.call(commit.clone()).await, response::SUCCESS, &[]);
    assert_code(&node.call(delete("T")).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    assert_eq!(show(&node, "T").await, None);
    assert_eq!(show(&node, "%RETRY%G_T").await, None);
    let query = Command::request(request::QUERY_CONSUMER_OFFSET)
        .with("consumerGroup", "G")
        .with("topic", "T")
        .with("queueId", 0);
    assert_code(&node.call(query).await, response::QUERY_NOT_FOUND, &[]);
    node.create_topic("T", 1, 6).await;
    assert_code(&node.call(send("T", "new")).await, response::SUCCESS, &[]);
    let all = node.all("T", 0).await;
    assert_eq!(all.iter().map(Message::text).collect::<Vec<_>>(), ["new"]);
    node.stop().await;
}

#[tokio::test]
async fn topics_of_the_system_stay() {
    let node = Node::start().await;
    for topic in ["RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "broker-a"] {
        assert_code(
            &node.call(delete(topic)).await,
            response::INVALID_PARAMETER,
            &["conflict with system topic"],
        );
        assert!(show(&node, topic).await.is_some());
    }
    assert_code(&node.call(delete(" ")).await, response::INVALID_PARAMETER, &["blank"]);
    assert_code(&node.call(delete("Unknown")).await, response::SUCCESS, &[]);
    node.stop().await;
}

/// Pulls that waited on a deleted topic stayed parked until their deadline.
#[tokio::test]
async fn a_deletion_ends_the_waiting_on_the_topic() {
    let node = Node::start().await;
    for topic in ["T", "Bystander"] {
        node.create_topic(topic, 1, 6).await;
    }
    let waiting = node.connect().await;
    let pulled = waiting.start(long_pull("g", "T", 0, 0, 600_000));
    let bystander = waiting.start(long_pull("g", "Bystander", 0, 0, 600_000));
    node.holds(2).await;
    assert_code(&node.call(delete("T")).await, response::SUCCESS, &[]);
    assert_code(&pulled.await, response::PULL_NOT_FOUND, &[]);
    assert_code(&node.call(long_pull("g", "T", 0, 0, 0)).await, response::TOPIC_NOT_EXIST, &["T"]);
    assert_eq!(node.hold_count(), 1);
    assert_code(&node.call(send("Bystander", "x")).await, response::SUCCESS, &[]);
    assert_code(&bystander.await, response::SUCCESS, &[]);
    node.stop().await;
}

/// Deleting a topic while producers wrote to it crashed the broker, and new queues had messages of the old ones.
#[tokio::test]
async fn a_topic_is_deleted_again_and_again_under_its_producers() {
    let node = Node::start().await;
    node.create_topic("Bystander", 1, 6).await;
    let done = AtomicBool::new(false);
    let produce = async |id: i32| {
        let peer = node.connect().await;
        while !done.load(Ordering::Relaxed) {
            let burst = (0..20).map(|n| peer.start(send_to("T", -1, &[], format!("{id} {n}"))));
            for answer in burst.collect::<Vec<_>>() {
                assert_code(&answer.await, response::SUCCESS, &[]);
            }
        }
    };
    let delete_and_watch = async {
        for n in 0..20 {
            assert_code(&node.call(delete("T")).await, response::SUCCESS, &[]);
            assert_code(&node.call(send("Bystander", n.to_string())).await, response::SUCCESS, &[]);
        }
        done.store(true, Ordering::Relaxed);
    };
    tokio::join!(produce(0), produce(1), produce(2), delete_and_watch);
    assert_code(&node.call(delete("T")).await, response::SUCCESS, &[]);
    assert_eq!(node.all("Bystander", 0).await.len(), 20);
    assert_code(&node.call(send("T", "new")).await, response::SUCCESS, &[]);
    let node = node.restart().await;
    assert_eq!(node.all("T", 0).await.iter().map(Message::text).collect::<Vec<_>>(), ["new"]);
    assert_eq!(node.all("Bystander", 0).await.len(), 20);
    node.stop().await;
}

#[tokio::test]
async fn the_table_comes_whole_or_in_parts() {
    let node = Node::start().await;
    for count in 0..5 {
        node.create_topic(&format!("T{count}"), 1, 6).await;
    }
    let all = Command::request(request::GET_ALL_TOPIC_CONFIG);
    let whole = node.call(all.clone()).await;
    let table = TopicTableAndMapping::from_json_bytes(&whole.body).unwrap();
    assert_eq!(number(&whole, "totalTopicNum"), table.topic_config_table.len() as i64);
    assert!(table.topic_config_table.contains_key("T4") && table.topic_config_table.contains_key("TBW102"));

    let mut names = Vec::new();
    let mut version = String::new();
    while names.len() < table.topic_config_table.len() {
        let part =
            all.clone().with("topicSeq", names.len()).with("dataVersion", &version).with("maxTopicNum", 3);
        let part = TopicTableAndMapping::from_json_bytes(&node.call(part).await.body).unwrap();
        assert!((1..=3).contains(&part.topic_config_table.len()));
        names.extend(part.topic_config_table.into_keys());
        version = part.data_version.to_json_text();
    }
    assert_eq!(names, table.topic_config_table.into_keys().collect::<Vec<_>>());
    node.stop().await;
}

#[tokio::test]
async fn queues_of_unknown_topics_are_cleaned() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "x")).await, response::SUCCESS, &[]);
    let clean = node.call(Command::request(request::CLEAN_UNUSED_TOPIC)).await;
    assert_code(&clean, response::SUCCESS, &["0 topics"]);
    assert_eq!(node.all("T", 0).await.len(), 1);
    node.stop().await;
}
