//! Offsets that operators set for groups of gRPC clients.

use crate::client::code;
use crate::errors::requests::{consumer, terminate};
use crate::node::Node;
use crate::receiving::*;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_proxy::schema::*;
use std::time::{SystemTime, UNIX_EPOCH};

const BACKLOG: usize = 40;

async fn reset(node: &Node, timestamp_ms: u128) {
    let reset = Command::request(request::INVOKE_BROKER_TO_RESET_OFFSET)
        .with("topic", "T")
        .with("group", "G")
        .with("timestamp", timestamp_ms)
        .with("isForce", true);
    node.operate(reset).await;
}

/// Later than every message so far.
fn soon() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() + 1
}

/// A reset was said to be done, and consumers over gRPC still received the old messages.
#[tokio::test]
async fn a_reset_counts_for_consumers_that_are_there_and_for_those_that_come_later() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    begin(&mut client, "T").await;
    for online in [true, false] {
        let (mut stream, _say) = client.conversation(consumer(ClientType::PushConsumer, "T", "G")).await;
        stream.message().await.unwrap().unwrap();
        let mut old: Vec<_> = (0..BACKLOG).map(|number| format!("old {number}")).collect();
        for body in &old {
            send(&mut client, "T", body).await;
        }
        if !online {
            let request = client.request(terminate("G"));
            let left = client.stub.notify_client_termination(request).await.unwrap().into_inner();
            assert_eq!(code(left.status.as_ref()), Code::Ok);
        }
        reset(&node, soon()).await;
        nothing(&mut client, "T").await;
        send(&mut client, "T", "new").await;
        assert_eq!(bodies(&take(&mut client, "T", 1).await), ["new"]);

        reset(&node, 0).await;
        let before = if online { 0 } else { BACKLOG + 1 };
        let again = take(&mut client, "T", before + BACKLOG + 1).await;
        let mut found = bodies(&again);
        found.dedup();
        old.push("new".to_owned());
        old.sort_unstable();
        // Of both rounds, in the second, each text twice.
        assert_eq!(found, old);
        nothing(&mut client, "T").await;
    }
    node.stop().await;
}

/// A consumer that has read everything waits at the end.
#[tokio::test]
async fn a_reset_back_ends_the_wait_of_a_receive() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    begin(&mut client, "T").await;
    send(&mut client, "T", "old").await;
    take(&mut client, "T", 1).await;
    let receive = tokio::spawn({
        let mut client = client.clone();
        async move { client.receive(waiting("T")).await }
    });
    node.until(|broker| broker.waiting_pops() == 1).await;
    reset(&node, 0).await;
    let (status, messages) = receive.await.unwrap();
    assert_eq!((status.code(), bodies(&messages)), (Code::Ok, vec!["old"]));
    node.stop().await;
}
