//! Lite topics as tools see them, and how they end.

use crate::lite::*;
use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::body::lite::{
    BrokerLiteInfo, LiteClientInfo, LiteGroupInfo, LiteTopicInfo, ParentTopicInfo,
};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use std::time::Duration;

#[tokio::test]
async fn tools_see_lite_topics() {
    let node = started(&clock(), "").await;
    for (lite_topic, body) in [("a", "0"), ("a", "1"), ("b", "2")] {
        assert_code(&node.call(send_lite(lite_topic, body)).await, 0, &[]);
    }
    assert_code(&node.call(subscribe("client", &["a"])).await, 0, &[]);
    let (answer, found) = popped(&node, "client").await;
    assert_code(&node.call(ack(&answer, &found[0])).await, 0, &[]);
    let broker = BrokerLiteInfo::from_json_bytes(
        &node.call(Command::request(request::GET_BROKER_LITE_INFO)).await.body,
    );
    let broker = broker.unwrap();
    assert_eq!((broker.light_queues, broker.subscriptions, broker.orders), (2, 1, 1));
    assert_eq!((broker.topics["P"], broker.groups["P"].len()), (30, 1));
    let ask = |code, pairs: &[(&'static str, &str)]| {
        pairs.iter().fold(Command::request(code), |request, (name, value)| request.with(name, value))
    };
    let parent = ask(request::GET_PARENT_TOPIC_INFO, &[("topic", "P")]);
    let parent = ParentTopicInfo::from_json_bytes(&node.call(parent).await.body).unwrap();
    assert_eq!((parent.lite_topics, parent.ttl_minutes), (2, 30));
    let topic = ask(request::GET_LITE_TOPIC_INFO, &[("parentTopic", "P"), ("liteTopic", "a")]);
    let topic = LiteTopicInfo::from_json_bytes(&node.call(topic).await.body).unwrap();
    assert_eq!((topic.offset.max_offset, topic.offset.last_update_timestamp), (2, NOW.0));
    assert_eq!(topic.subscribers[0].client_id, "client");
    let client = [("parentTopic", "P"), ("group", "G"), ("clientId", "client")];
    let client = ask(request::GET_LITE_CLIENT_INFO, &client);
    let client = LiteClientInfo::from_json_bytes(&node.call(client).await.body).unwrap();
    assert_eq!((client.lite_topic_count, client.last_consume), (1, NOW.0));
    let group = ask(request::GET_LITE_GROUP_INFO, &[("group", "G"), ("liteTopic", "a")]);
    let group = LiteGroupInfo::from_json_bytes(&node.call(group).await.body).unwrap();
    assert_eq!((group.total_lag, group.offsets.unwrap().consumer_offset), (1, 1));
    let most = ask(request::GET_LITE_GROUP_INFO, &[("group", "G"), ("topK", "5")]);
    let most = LiteGroupInfo::from_json_bytes(&node.call(most).await.body).unwrap();
    assert_eq!((most.total_lag, most.most_behind[0].lite_topic.as_str()), (1, "a"));
    node.stop().await;
}

#[tokio::test]
async fn unused_lite_topics_go_and_so_do_silent_clients() {
    let clock = clock();
    let settings = [("liteTtlCheckInterval", "10"), ("liteSubscriptionCheckInterval", "10")];
    let node = Node::start_at(clock.clone(), &settings).await;
    prepare(&node, "").await;
    for lite_topic in ["old", "new"] {
        assert_code(&node.call(send_lite(lite_topic, "0")).await, 0, &[]);
    }
    assert_code(&node.call(subscribe("client", &["new", "none"])).await, 0, &[]);
    clock.advance(Duration::from_secs(30 * 60));
    assert_code(&node.call(send_lite("new", "1")).await, 0, &[]);
    clock.advance(Duration::from_millis(1));
    let info = async || {
        let answer = node.call(Command::request(request::GET_BROKER_LITE_INFO)).await;
        let info = BrokerLiteInfo::from_json_bytes(&answer.body).unwrap();
        (info.light_queues, info.subscriptions)
    };
    let before = std::time::Instant::now();
    while info().await != (1, 0) {
        assert!(before.elapsed() < Duration::from_secs(30), "{:?}", info().await);
    }
    let node = node.restart().await;
    let topic = |lite_topic: &str| {
        Command::request(request::GET_LITE_TOPIC_INFO).with("parentTopic", "P").with("liteTopic", lite_topic)
    };
    let max = async |lite_topic: &str| {
        LiteTopicInfo::from_json_bytes(&node.call(topic(lite_topic)).await.body).unwrap().offset.max_offset
    };
    assert_eq!((max("old").await, max("new").await), (0, 2));
    // A deleted parent takes its lite topics with it.
    assert_code(
        &node.call(Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "P")).await,
        0,
        &[],
    );
    let node = node.restart().await;
    prepare(&node, "").await;
    let answer = node.call(Command::request(request::GET_BROKER_LITE_INFO)).await;
    assert_eq!(BrokerLiteInfo::from_json_bytes(&answer.body).unwrap().light_queues, 0);
    node.stop().await;
}

#[tokio::test]
async fn one_lite_topic_can_be_pulled_and_searched() {
    let node = started(&clock(), "").await;
    for (lite_topic, body) in [("a", "0"), ("b", "1"), ("a", "2")] {
        assert_code(&node.call(send_lite(lite_topic, body)).await, 0, &[]);
    }
    let of_a = node.call(pull("G", "P", 0, 1).with("liteTopic", "a")).await;
    assert_eq!(texts(&messages(&of_a)), ["2"]);
    let search = Command::request(request::SEARCH_OFFSET_BY_TIMESTAMP)
        .with("topic", "P")
        .with("queueId", 0)
        .with("timestamp", NOW.0 + 1)
        .with("liteTopic", "a");
    assert_eq!(number(&node.call(search).await, "offset"), 2);
    node.stop().await;
}
