//! A server that starts again under its clients.

use crate::client::{code, receipt};
use crate::errors::requests::{ack, consumer, heartbeat};
use crate::node::Node;
use crate::receiving::*;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

/// Settings are gone with the server. Until a client has said again who it is, its heartbeats failed, and so did its
/// receives and acknowledgements.
#[tokio::test]
async fn clients_go_on_before_they_have_said_again_who_they_are() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let settings = || consumer(ClientType::PushConsumer, "T", "G");
    let mut client = node.client("c").await;
    client.telemetry(settings()).await.message().await.unwrap().unwrap();
    begin(&mut client, "T").await;
    for body in ["held", "waiting"] {
        send(&mut client, "T", body).await;
    }
    let mut held = Vec::new();
    while held.is_empty() {
        let one = ReceiveMessageRequest { batch_size: 1, ..waiting("T") };
        held = client.receive(one).await.1;
    }
    let rest = if body(&held[0]) == "held" { "waiting" } else { "held" };

    let dir = node.stop().await;
    let node = Node::start_in(dir, &[], ProxyConfig::default()).await;
    let mut client = node.client("c").await;
    let request = client.request(heartbeat("G"));
    let beat = client.stub.heartbeat(request).await.unwrap().into_inner();
    // To which clients answer with their settings.
    assert_eq!(code(beat.status.as_ref()), Code::UnrecognizedClientType);
    let request = client.request(ack("T", "G", &[&receipt(&held[0])]));
    let acked = client.stub.ack_message(request).await.unwrap().into_inner();
    assert_eq!(code(acked.status.as_ref()), Code::Ok, "{acked:?}");
    assert_eq!(bodies(&take(&mut client, "T", 1).await), [rest]);
    send(&mut client, "T", "new").await;
    assert_eq!(bodies(&take(&mut client, "T", 1).await), ["new"]);

    client.telemetry(settings()).await.message().await.unwrap().unwrap();
    let request = client.request(heartbeat("G"));
    let beat = client.stub.heartbeat(request).await.unwrap().into_inner();
    assert_eq!(code(beat.status.as_ref()), Code::Ok);
    node.stop().await;
}

/// A group began again at the first message, or at the end, when the server was started again under it.
#[tokio::test]
async fn stops_neither_lose_nor_repeat_messages() {
    const ROUNDS: usize = 5;
    const PER_ROUND: usize = 40;
    let mut node = Node::start().await;
    node.topic("T", "NORMAL").await;
    begin(&mut node.client("c").await, "T").await;
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let mut client = node.client("c").await;
        for number in 0..PER_ROUND {
            send(&mut client, "T", &format!("{round}-{number:02}")).await;
        }
        // About half of what there is waits over the stop.
        let count = PER_ROUND * (round + 1) - PER_ROUND / 2 - taken.len();
        taken.extend(take(&mut client, "T", count).await);
        let dir = node.stop().await;
        node = Node::start_in(dir, &[], ProxyConfig::default()).await;
    }
    let mut client = node.client("c").await;
    let count = ROUNDS * PER_ROUND - taken.len();
    taken.extend(take(&mut client, "T", count).await);
    nothing(&mut client, "T").await;
    let mut all: Vec<_> = (0..ROUNDS * PER_ROUND)
        .map(|number| format!("{}-{:02}", number / PER_ROUND, number % PER_ROUND))
        .collect();
    all.sort_unstable();
    assert_eq!(bodies(&taken), all);
    node.stop().await;
}
