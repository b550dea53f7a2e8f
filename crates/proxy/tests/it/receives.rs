//! Receives that find what they wait for: behind much that they don't want, and again when an answer was lost.

use crate::client::{Clients, Peer, code, message};
use crate::errors::requests::{filter, receive};
use crate::node::Node;
use crate::receiving::*;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::{Duration, Instant};

/// What isn't woken comes when the receive ends.
const POLLING: Duration = Duration::from_secs(20);

/// Messages of a rare tag came seconds late, or when the receive ended that waited for them.
#[tokio::test]
async fn a_rare_tag_among_many_messages_is_not_late() {
    const ROUNDS: usize = 20;
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    begin(&mut client, "T").await;
    let mut sender = node.client("sender").await;
    let tagged = |id: String, tag: &str| {
        let mut message = message("T", &id, &id);
        message.system_properties.as_mut().unwrap().tag = Some(tag.to_owned());
        message
    };
    let rare = ReceiveMessageRequest { filter_expression: filter(FilterType::Tag, "A"), ..waiting("T") };
    for round in 0..ROUNDS {
        let receive = tokio::spawn({
            let (mut client, rare) = (client.clone(), rare.clone());
            async move { client.receive(rare).await }
        });
        let started = Instant::now();
        for burst in 0..10 {
            let others = (0..100).map(|number| tagged(format!("b{round}-{burst}-{number}"), "B")).collect();
            assert_eq!(code(sender.send(others).await.status.as_ref()), Code::Ok);
        }
        let id = format!("a{round}");
        assert_eq!(code(sender.send(vec![tagged(id.clone(), "A")]).await.status.as_ref()), Code::Ok);
        let (status, messages) = receive.await.unwrap();
        assert_eq!((status.code(), bodies(&messages)), (Code::Ok, vec![id.as_str()]));
        assert!(started.elapsed() < POLLING, "it came with the end of the receive");
        acknowledge(&mut client, "T", &messages).await;
    }
    node.stop().await;
}

async fn in_order() -> (Node, Peer) {
    let node = Node::start_with(&[], ProxyConfig::default()).await;
    node.topic("F", "FIFO").await;
    node.group(r#"{"groupName":"G","consumeMessageOrderly":true}"#).await;
    let mut client = node.client("c").await;
    begin(&mut client, "F").await;
    for number in 0..6 {
        let mut message = message("F", &number.to_string(), &number.to_string());
        message.system_properties.as_mut().unwrap().message_group = Some("g".to_owned());
        assert_eq!(code(client.send(vec![message]).await.status.as_ref()), Code::Ok);
    }
    (node, client)
}

fn attempt_of(id: &str) -> ReceiveMessageRequest {
    ReceiveMessageRequest { attempt_id: Some(id.to_owned()), batch_size: 3, ..waiting("F") }
}

/// A client whose answer was lost asked again with the same attempt id, and got nothing for as long as the lost
/// messages were invisible.
#[tokio::test]
async fn an_answer_that_was_lost_is_given_again() {
    let (node, mut client) = in_order().await;
    let texts = ["0", "1", "2"];
    let (_, lost) = client.receive(attempt_of("first")).await;
    assert_eq!(bodies(&lost), texts);
    let other = ReceiveMessageRequest { attempt_id: Some("other".to_owned()), ..receive("F", "G") };
    assert_eq!(
        client.receive(other.clone()).await.0.code(),
        Code::MessageNotFound,
        "one batch is out at a time"
    );

    let started = Instant::now();
    let mut elsewhere = node.client("c").await;
    let (_, again) = elsewhere.receive(attempt_of("first")).await;
    assert_eq!(bodies(&again), texts);
    assert_eq!(client.receive(other).await.0.code(), Code::MessageNotFound);
    acknowledge(&mut elsewhere, "F", &again).await;
    let (_, next) = client.receive(attempt_of("second")).await;
    assert_eq!(bodies(&next), ["3", "4", "5"]);
    assert!(started.elapsed() < POLLING);
    node.stop().await;
}

/// The connection goes while the answer is on its way.
#[tokio::test]
async fn an_answer_whose_connection_was_cut_is_given_again() {
    let (node, mut client) = in_order().await;
    let started = Instant::now();
    for round in 0..20 {
        let deaf = Clients::connect_deaf(node.address()).await;
        let mut lost = deaf.client("c");
        let request = lost.request(attempt_of("first"));
        // With the head of the answer the messages are on their way.
        let frames = lost.stub.receive_message(request).await.unwrap();
        deaf.cut();
        if round % 2 == 0 {
            drop(frames);
        }
    }
    let (status, again) = client.receive(attempt_of("first")).await;
    assert_eq!((status.code(), bodies(&again)), (Code::Ok, vec!["0", "1", "2"]));
    assert!(started.elapsed() < POLLING);
    acknowledge(&mut client, "F", &again).await;
    assert_eq!(bodies(&take(&mut client, "F", 3).await), ["3", "4", "5"]);
    node.stop().await;
}
