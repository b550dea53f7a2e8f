//! Light queues: messages of ordinary topics that name them are read there, too.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

const ON: [(&str, &str); 2] = [("enableLmq", "true"), ("enableMultiDispatch", "true")];

fn send_naming(topic: &str, list: &str, body: &str) -> Command {
    send_to(topic, 0, &[("UNIQ_KEY", body), ("INNER_MULTI_DISPATCH", list)], body)
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::text).collect()
}

fn query(group: &str, topic: &str) -> Command {
    Command::request(request::QUERY_CONSUMER_OFFSET)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", 0)
}

#[tokio::test]
async fn a_message_is_read_from_the_queues_it_names() {
    let node = Node::start_with(&ON).await;
    for (list, body) in [("%LMQ%a,%LMQ%b", "0"), ("%LMQ%b", "1"), ("%LMQ%a", "2")] {
        assert_code(&node.call(send_naming("T", list, body)).await, 0, &[]);
    }
    let check = async |node: &Node| {
        let of_a = node.all("%LMQ%a", 0).await;
        assert_eq!(texts(&of_a), ["0", "2"]);
        assert_eq!(of_a[1].property("INNER_MULTI_QUEUE_OFFSET"), Some("1"));
        assert_eq!((of_a[1].topic.as_str(), of_a[1].queue_offset), ("T", 2));
        assert_eq!(texts(&node.all("%LMQ%b", 0).await), ["0", "1"]);
        assert_eq!(texts(&node.all("T", 0).await), ["0", "1", "2"]);
        let max = Command::request(request::GET_MAX_OFFSET).with("topic", "%LMQ%b").with("queueId", 0);
        assert_eq!(number(&node.call(max).await, "offset"), 2);
    };
    check(&node).await;
    // A group of light queues needs no configuration.
    assert_code(&node.call(commit("%LMQ%group", "%LMQ%a", 0, 1)).await, 0, &[]);
    let node = node.restart().await;
    check(&node).await;
    assert_eq!(number(&node.call(query("%LMQ%group", "%LMQ%a")).await, "offset"), 1);
    node.stop().await;
}

#[tokio::test]
async fn who_waits_at_a_light_queue_is_woken() {
    let node = Node::start_with(&ON).await;
    let peer = node.connect().await;
    let waiting = peer.start(long_pull("%LMQ%g", "%LMQ%a", 0, 0, 30_000));
    node.holds(1).await;
    assert_code(&node.call(send_naming("T", "%LMQ%a", "wakes")).await, 0, &[]);
    assert_eq!(texts(&messages(&waiting.await)), ["wakes"]);
    node.stop().await;
}

#[tokio::test]
async fn a_delayed_message_is_entered_when_its_time_has_come() {
    let node = Node::start_with(&[ON[0], ON[1], ("messageDelayLevel", "1s")]).await;
    let pairs = [("UNIQ_KEY", "k"), ("INNER_MULTI_DISPATCH", "%LMQ%a"), ("DELAY", "1")];
    assert_code(&node.call(send_to("T", 0, &pairs, "later")).await, 0, &[]);
    assert!(node.all("%LMQ%a", 0).await.is_empty());
    assert_eq!(node.wait_for("%LMQ%a", 0, 0).await.text(), "later");
    node.stop().await;
}

#[tokio::test]
async fn without_the_keys_the_names_mean_nothing() {
    let node = Node::start().await;
    assert_code(&node.call(send_naming("T", "%LMQ%a", "0")).await, 0, &[]);
    assert_eq!(node.all("T", 0).await[0].property("INNER_MULTI_QUEUE_OFFSET"), None);
    assert_code(&node.call(pull("g", "%LMQ%a", 0, 0)).await, response::TOPIC_NOT_EXIST, &["%LMQ%a"]);
    node.stop().await;
}

/// A client that says where its message stands in a queue could have moved that queue at the next recovery.
#[tokio::test]
async fn offsets_are_the_brokers_to_say() {
    let node = Node::start_with(&ON).await;
    let forged =
        [("INNER_MULTI_DISPATCH", "%LMQ%a"), ("INNER_MULTI_QUEUE_OFFSET", "1000"), ("UNIQ_KEY", "k")];
    assert_code(&node.call(send_to("T", 0, &forged, "0")).await, 0, &[]);
    assert_eq!(node.all("%LMQ%a", 0).await[0].property("INNER_MULTI_QUEUE_OFFSET"), Some("0"));
    let in_batch = batch("T", &[("1", properties(&forged))]);
    assert_code(&node.call(in_batch).await, response::MESSAGE_ILLEGAL, &["INNER_MULTI_QUEUE_OFFSET"]);
    node.stop().await;
}

#[tokio::test]
async fn there_are_no_more_of_them_than_allowed() {
    let node =
        Node::start_with(&[ON[0], ON[1], ("enableLmqQuota", "true"), ("maxLmqConsumeQueueNum", "2")]).await;
    assert_code(&node.call(send_naming("T", "%LMQ%a,%LMQ%b", "0")).await, 0, &[]);
    let refused = node.call(send_naming("T", "%LMQ%a,%LMQ%c", "1")).await;
    assert_code(&refused, response::LMQ_QUOTA_EXCEEDED, &["2", "maxLmqConsumeQueueNum", "%LMQ%c"]);
    assert_code(&node.call(send_naming("T", "%LMQ%a", "2")).await, 0, &[]);
    let refused = node.call(pull("%LMQ%g", "%LMQ%c", 0, 0)).await;
    assert_code(&refused, response::LMQ_QUOTA_EXCEEDED, &["%LMQ%c"]);
    assert_code(&node.call(commit("%LMQ%g", "%LMQ%c", 0, 1)).await, response::TOPIC_NOT_EXIST, &[]);
    let many = vec!["%LMQ%x"; 1001].join(",");
    let refused = node.call(send_naming("T", &many, "3")).await;
    assert_code(&refused, response::MESSAGE_ILLEGAL, &["1001", "1000"]);
    node.stop().await;
}

#[tokio::test]
async fn failed_messages_are_not_entered_again() {
    let node = Node::start_with(&[ON[0], ON[1], ("messageDelayLevel", "1s")]).await;
    node.put_group("g", 1, 1).await;
    assert_code(&node.call(send_naming("T", "%LMQ%a", "0")).await, 0, &[]);
    let at = node.all("T", 0).await[0].phy_offset;
    assert_code(&node.call(send_back("g", at, 1)).await, 0, &[]);
    let again = node.wait_for("%RETRY%g", 0, 0).await;
    assert_code(&node.call(send_back("g", again.phy_offset, 1)).await, 0, &[]);
    assert_eq!(node.wait_for("%DLQ%g", 0, 0).await.text(), "0");
    assert_eq!(node.all("%LMQ%a", 0).await.len(), 1);
    node.stop().await;
}

/// The Java server keeps the offsets of light groups in a file and table of their own.
#[tokio::test]
async fn offsets_that_a_java_server_left_count_and_it_finds_ours() {
    let node = Node::start_with(&ON).await;
    assert_code(&node.call(send_naming("T", "%LMQ%a", "0")).await, 0, &[]);
    assert_code(&node.call(commit("%LMQ%group", "%LMQ%a", 0, 1)).await, 0, &[]);
    let left = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},
        "lmqOffsetTable":{"%LMQ%a@%LMQ%group":0},"offsetTable":{"T@G":{0:1}},"pullOffsetTable":{}}"#;
    let node = node
        .restart_after(|root| {
            let file = root.join("config/lmqConsumerOffset.json");
            let ours = std::fs::read_to_string(&file).unwrap();
            assert!(ours.contains("\"%LMQ%a@%LMQ%group\":1"), "{ours}");
            std::fs::write(&file, left).unwrap();
        })
        .await;
    assert_eq!(number(&node.call(query("%LMQ%group", "%LMQ%a")).await, "offset"), 0);
    assert_eq!(number(&node.call(query("G", "T")).await, "offset"), 1);
    node.stop().await;
}
