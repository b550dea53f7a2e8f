//! Transactions that aren't there, and messages that can't be taken back.

use super::check;
use super::requests::*;
use crate::client::message;
use crate::node::{BROKER, Node};
use roxmq_protocol::recall_handle::RecallHandle;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

#[tokio::test]
async fn that_end() {
    let node = Node::start().await;
    node.topic("X", "TRANSACTION").await;
    let mut client = node.client("c").await;
    for id in ["", "  "] {
        check(&mut client, id, end("X", id), Code::InvalidTransactionId, &[]).await;
    }
    let unknown = format!("v1 {BROKER} 4711 4711 01AB");
    for id in ["nonsense", "01AB", "v1", "v1 a b c d", "🚀", &unknown] {
        check(&mut client, id, end("X", id), Code::InternalServerError, &[]).await;
    }
    let elsewhere = "v1 elsewhere 0 0 01AB";
    check(&mut client, "an unknown broker", end("X", elsewhere), Code::InternalServerError, &["'elsewhere'"])
        .await;

    let mut half = message("X", "01AB", "x");
    half.system_properties.as_mut().unwrap().set_message_type(MessageType::Transaction);
    let sent = client.send(vec![half]).await;
    let id = &sent.entries[0].transaction_id;
    check(&mut client, "a live one", end("X", id), Code::Ok, &[]).await;
    // Unlike the Java server, which has forgotten it.
    check(&mut client, "the same once more", end("X", id), Code::Ok, &[]).await;
    node.stop().await;
}

fn handle(topic: &str, broker: &str, time_ms: i64) -> String {
    RecallHandle::encode(topic, broker, time_ms, "01AB")
}

#[tokio::test]
async fn that_are_taken_back() {
    let node = Node::start_with(&[("recallMessageEnable", "true")], ProxyConfig::default()).await;
    node.topic("D", "DELAY").await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let client = &mut client;
    let (inside, conflict) = (Code::InternalServerError, Code::MessagePropertyConflictWithType);
    check(client, "a topic without delays", recall("T", "h"), conflict, &["topic T"]).await;
    for text in ["", "nonsense", "djE=", "%%%", "🚀"] {
        check(client, text, recall("D", text), inside, &[]).await;
    }
    let elsewhere = handle("D", "elsewhere", FUTURE_MS);
    check(client, "an unknown broker", recall("D", &elsewhere), Code::BadRequest, &["'elsewhere'"]).await;
    check(client, "too late", recall("D", &handle("D", BROKER, 1)), inside, &[]).await;
    check(client, "another topic", recall("D", &handle("E", BROKER, FUTURE_MS)), inside, &[]).await;
    node.stop().await;

    let node = Node::start_with(&[("recallMessageEnable", "false")], ProxyConfig::default()).await;
    node.topic("D", "DELAY").await;
    let mut client = node.client("c").await;
    let request = recall("D", &handle("D", BROKER, FUTURE_MS));
    check(&mut client, "not here", request, inside, &["recallMessageEnable"]).await;
    node.stop().await;
}
