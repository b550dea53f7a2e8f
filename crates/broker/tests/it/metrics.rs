//! What Prometheus reads at `/metrics`.

use crate::clients::heartbeat;
use crate::node::Node;
use crate::requests::{assert_code, commit, pull, send_to};
use std::sync::Arc;
use std::time::{Duration, Instant};

async fn metrics(node: &Node) -> String {
    Arc::clone(node.broker()).metrics().await.expect("metrics")
}

/// The value of the one sample that has the name and all of the labels.
#[track_caller]
fn value(text: &str, name: &str, labels: &[&str]) -> f64 {
    let named = |line: &&str| line.split(['{', ' ']).next() == Some(name);
    let mut found = text.lines().filter(named).filter(|line| labels.iter().all(|label| line.contains(label)));
    let sample = found.next().unwrap_or_else(|| panic!("no {name} with {labels:?} in\n{text}"));
    assert_eq!(found.next(), None, "more than one {name} with {labels:?}");
    sample.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{sample}"))
}

#[tokio::test]
async fn traffic_lag_and_clients_are_told() {
    let node = Node::start_with(&[("brokerName", "b"), ("brokerClusterName", "c")]).await;
    node.create_topic("T", 2, 6).await;
    node.put_group("g", 1, 16).await;
    for _ in 0..3 {
        assert_code(&node.call(send_to("T", 0, &[], "body")).await, 0, &[]);
    }
    assert_code(&node.call(heartbeat("client", "g", &["T"])).await, 0, &[]);
    node.call(pull("g", "T", 0, 0)).await;
    assert_code(&node.call(commit("g", "T", 0, 2)).await, 0, &[]);

    let text = metrics(&node).await;
    let broker = [r#"cluster="c""#, r#"node_type="broker""#, r#"node_id="b""#];
    let of_topic = [r#"topic="T""#, r#"message_type="normal""#, r#"is_system="false""#];
    assert_eq!(value(&text, "rocketmq_messages_in_total", &[&broker[..], &of_topic].concat()), 3.0);
    let bytes = value(&text, "rocketmq_throughput_in_total", &of_topic);
    assert!(bytes > 3.0 * 88.0, "{bytes}");
    let of_group = [r#"topic="T""#, r#"consumer_group="g""#, r#"is_retry="false""#];
    assert_eq!(value(&text, "rocketmq_messages_out_total", &of_group), 3.0);
    assert_eq!(value(&text, "rocketmq_throughput_out_total", &of_group), bytes);
    assert_eq!(value(&text, "rocketmq_consumer_lag_messages", &of_group), 1.0);
    let of_client = [r#"language="java""#, r#"version="v"#];
    assert_eq!(value(&text, "rocketmq_producer_connections", &of_client), 1.0);
    let push = [r#"consumer_group="g""#, r#"consume_mode="push""#];
    assert_eq!(value(&text, "rocketmq_consumer_connections", &[&push[..], &of_client].concat()), 1.0);
    assert_eq!(value(&text, "rocketmq_broker_permission", &broker), 6.0);
    assert!(value(&text, "rocketmq_storage_size_bytes", &[r#"storage_medium="disk""#]) >= bytes);
    assert!(value(&text, "rocketmq_storage_message_reserve_time_milliseconds", &[]) >= 0.0);
    assert!(!text.contains("rocketmq_consumer_lost_messages_total{"), "{text}");
    node.stop().await;
}

/// Log files were deleted that groups had not read, and their owners noticed by the missing messages only.
#[tokio::test]
async fn messages_that_a_group_loses_are_counted() {
    let (node, clock) = Node::start_with_many_files().await;
    for (group, offset) in [("slow", 2), ("done", 20)] {
        node.put_group(group, 1, 16).await;
        assert_code(&node.call(commit(group, "T", 0, offset)).await, 0, &[]);
    }
    clock.advance(Duration::from_secs(73 * 3_600));
    node.delete_expired().await;
    let lost = |text: &str| text.contains("rocketmq_consumer_lost_messages_total{");
    let patience = Instant::now() + Duration::from_secs(30);
    let mut text = metrics(&node).await;
    while !lost(&text) && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(50)).await;
        text = metrics(&node).await;
    }
    let slow = [r#"topic="T""#, r#"consumer_group="slow""#];
    let behind = value(&text, "rocketmq_consumer_lag_messages", &slow);
    assert_eq!(value(&text, "rocketmq_consumer_lost_messages_total", &slow), 18.0 - behind);
    assert!(behind < 18.0, "nothing was deleted");
    // Who had read them has lost nothing.
    assert_eq!(text.matches("rocketmq_consumer_lost_messages_total{").count(), 1, "{text}");
    node.stop().await;
}

#[tokio::test]
async fn metrics_can_be_turned_off() {
    let node = Node::start_with(&[("metricsExporterType", "DISABLE")]).await;
    let refused = Arc::clone(node.broker()).metrics().await.expect_err("turned off");
    assert!(refused.contains("metricsExporterType is DISABLE"), "{refused}");
    node.stop().await;
}
