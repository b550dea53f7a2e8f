//! Messages that a group doesn't get done with: they come again, and in the end lie among the dead letters.

use crate::client::{Peer, code, message, receipt};
use crate::cluster::until;
use crate::errors::requests::{bury, receive};
use crate::node::Node;
use crate::receiving::*;
use crate::remoting;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::record::Records;
use roxmq_protocol::sys_flag::pull::SUBSCRIPTION;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

const SHORT: prost_types::Duration = prost_types::Duration { seconds: 0, nanos: 100_000_000 };

async fn start(keys: &[(&str, &str)]) -> (Node, Peer) {
    let config = ProxyConfig { invisible_ms_min: 1, ..ProxyConfig::default() };
    let node = Node::start_with(keys, config).await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    begin(&mut client, "T").await;
    (node, client)
}

/// Soon visible again.
fn short() -> ReceiveMessageRequest {
    ReceiveMessageRequest { invisible_duration: Some(SHORT), ..waiting("T") }
}

async fn topics(node: &Node) -> String {
    let answer = node.operate(Command::request(request::GET_ALL_TOPIC_CONFIG)).await;
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// What lies first in the group's dead-letter queue.
async fn dead_letter(node: &Node) -> Command {
    let pull = remoting::pull("%DLQ%G", 0, SUBSCRIPTION, 0);
    until("there is a dead letter", || async { node.ask(pull.clone()).await.code == response::SUCCESS })
        .await;
    node.ask(pull).await
}

/// The topic from which a group's failed messages come again was left, and so were they.
#[tokio::test]
async fn they_go_with_their_topic() {
    const COUNT: usize = 20;
    let (node, mut client) = start(&[]).await;
    for number in 0..COUNT {
        send(&mut client, "T", &format!("old {number}")).await;
    }
    let mut failed = 0;
    while failed < COUNT {
        let (_, messages) = client.receive(short()).await;
        failed += messages.iter().filter(|message| attempt(message) == 2).count();
    }
    assert!(topics(&node).await.contains("%RETRY%G_T"));
    node.delete_topic("T").await;
    let left = topics(&node).await;
    assert!(!left.contains("%RETRY%G_T") && !left.contains("%RETRY%G+T"), "{left}");
    assert_eq!(client.receive(receive("T", "G")).await.0.code(), Code::TopicNotFound);

    node.topic("T", "NORMAL").await;
    begin(&mut client, "T").await;
    send(&mut client, "T", "new").await;
    assert_eq!(bodies(&take(&mut client, "T", 1).await), ["new"]);
    nothing(&mut client, "T").await;
    node.stop().await;
}

/// What is added to a message with each attempt made it too large for the next one.
#[tokio::test]
async fn one_of_the_largest_size_keeps_its_body() {
    const LIMIT: usize = 65_536;
    let (node, mut client) = start(&[("maxMessageSize", "65536")]).await;
    node.group(r#"{"groupName":"G","retryMaxTimes":2}"#).await;
    let body = "x".repeat(LIMIT);
    let mut sent = message("T", "01AB", &body);
    sent.system_properties.as_mut().unwrap().keys = vec!["k".repeat(1_000)];
    assert_eq!(code(client.send(vec![sent]).await.status.as_ref()), Code::Ok);
    for number in 1..=3 {
        let (status, messages) = client.receive(short()).await;
        assert_eq!(status.code(), Code::Ok, "attempt {number}: {status:?}");
        assert_eq!((attempt(&messages[0]), messages[0].body.len()), (number, LIMIT));
    }
    let (status, _) = client.receive(receive("T", "G")).await;
    assert_eq!(status.code(), Code::MessageNotFound);
    assert!(remoting::bodies(&dead_letter(&node).await) == [body]);
    node.stop().await;
}

/// A dead letter didn't say which message it was.
#[tokio::test]
async fn a_dead_letter_leads_back_to_its_message() {
    let (node, mut client) = start(&[]).await;
    send(&mut client, "T", "01AB").await;
    let (_, messages) = client.receive(waiting("T")).await;
    let request = client.request(bury("T", "G", &receipt(&messages[0])));
    let buried = client.stub.forward_message_to_dead_letter_queue(request).await.unwrap().into_inner();
    assert_eq!(code(buried.status.as_ref()), Code::Ok, "{buried:?}");

    let answer = dead_letter(&node).await;
    let letter = Records::new(&answer.body).next().unwrap().unwrap();
    let properties = letter.properties;
    assert_eq!(properties.get("UNIQ_KEY"), Some("01AB"));
    let origin: OffsetMessageId = properties.get("ORIGIN_MESSAGE_ID").unwrap().parse().unwrap();
    let view = Command::request(request::VIEW_MESSAGE_BY_ID).with("offset", origin.phy_offset);
    let found = node.operate(view).await;
    let first = Records::new(&found.body).next().unwrap().unwrap();
    assert_eq!((first.topic, first.body), ("T", &b"01AB"[..]));
    assert_eq!(first.store_host, origin.store_host);
    nothing(&mut client, "T").await;
    node.stop().await;
}
