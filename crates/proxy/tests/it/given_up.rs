//! Clients that stop to wait: nothing waits for them in the broker any more, and nothing is taken out for them.

use crate::client::{Clients, Peer, code, message};
use crate::errors::requests::*;
use crate::node::Node;
use crate::receiving::waiting;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tonic::Streaming;

/// What waits for as long as it may is answered after this time.
pub const POLLING: Duration = Duration::from_secs(20);
const MANY: usize = 200;

async fn start() -> Node {
    let config = ProxyConfig { released_invisible_ms: 1, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    node
}

pub fn waits(client: &Peer) -> impl Future<Output = ()> + Send + 'static {
    let mut client = client.clone();
    async move {
        client.receive(waiting("T")).await;
    }
}

/// Waits again and again, and never for so many fifths of a millisecond.
pub async fn comes_and_goes(client: Peer, patience_max: u64) {
    for round in 1.. {
        let patience = Duration::from_micros(200 * (round % patience_max));
        let _ = tokio::time::timeout(patience, waits(&client)).await;
    }
}

/// Receives until the message comes.
pub async fn receive_up_to(client: &mut Peer, id: &str) {
    let mut last = false;
    while !last {
        let (status, messages) = client.receive(waiting("T")).await;
        assert_eq!(status.code(), Code::Ok, "the last message doesn't come");
        last = messages.iter().any(|got| got.system_properties.as_ref().unwrap().message_id == id);
    }
}

pub fn waits_for_pull(client: &Peer) -> impl Future<Output = ()> + Send + 'static {
    let mut client = client.clone();
    async move {
        let long = PullMessageRequest { long_polling_timeout: Some(seconds(20)), ..pull("T", "G") };
        let request = client.request(long);
        let mut frames = client.stub.pull_message(request).await.unwrap().into_inner();
        frames.message().await.unwrap();
    }
}

/// The group that receives from lite topics of L, which has to be made.
pub const LITE_GROUP: &str = r#"{"groupName":"LG","attributes":{"+lite.bind.topic":"L"}}"#;

/// Subscribes to a lite topic for as long as the stream is kept.
pub async fn subscribe_to_lite(client: &mut Peer) -> Streaming<TelemetryCommand> {
    let mut stream = client.telemetry(consumer(ClientType::LitePushConsumer, "L", "LG")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    let request = client.request(subscribe_lite("L", "LG", &["l"]));
    client.stub.sync_lite_subscription(request).await.unwrap();
    stream
}

pub fn waits_for_lite(client: &Peer) -> impl Future<Output = ()> + Send + 'static {
    let mut client = client.clone();
    async move {
        let long = ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("L", "LG") };
        client.receive(long).await;
    }
}

async fn many_wait(node: &Node, client: &Peer) -> JoinSet<()> {
    let mut waiting = JoinSet::new();
    for _ in 0..MANY {
        waiting.spawn(waits(client));
    }
    node.until(|broker| broker.waiting_pops() == MANY).await;
    waiting
}

/// A pop of a client that was gone waited on for as long as the client had wanted, took the next message, and gave it
/// back only later.
#[tokio::test]
async fn receives_that_are_reset() {
    let node = start().await;
    let client = node.client("c").await;
    let mut other = node.client("d").await;
    let started = Instant::now();
    let mut waiting_ones = many_wait(&node, &client).await;
    waiting_ones.shutdown().await;
    node.until(|broker| broker.waiting_pops() == 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");

    let got = tokio::spawn({
        let mut client = client.clone();
        async move { client.receive(waiting("T")).await }
    });
    node.until(|broker| broker.waiting_pops() == 1).await;
    other.send(vec![message("T", "01AB", "hello")]).await;
    let (status, messages) = got.await.unwrap();
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    assert_eq!(messages[0].system_properties.as_ref().unwrap().delivery_attempt, Some(1));
    node.stop().await;
}

#[tokio::test]
async fn connections_that_are_cut() {
    let node = start().await;
    let connection = Clients::connect(node.address()).await;
    let started = Instant::now();
    let _waiting = many_wait(&node, &connection.client("c")).await;
    connection.cut();
    node.until(|broker| broker.waiting_pops() == 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    node.stop().await;
}

/// Some go while others stay, and messages come meanwhile: each message is received, and none waits for long.
#[tokio::test]
async fn clients_that_come_and_go_while_messages_come() {
    const MESSAGES: usize = 200;
    let node = start().await;
    let mut sender = node.client("sender").await;
    let fickle = node.client("fickle").await;
    let mut steady = node.client("steady").await;
    steady.receive(receive("T", "G")).await;
    let coming_and_going = tokio::spawn(comes_and_goes(fickle, 20));
    let sending = tokio::spawn(async move {
        for number in 0..MESSAGES {
            let sent = sender.send(vec![message("T", &format!("id{number}"), "x")]).await;
            assert_eq!(code(sent.status.as_ref()), Code::Ok);
        }
        coming_and_going.abort();
    });
    // What the fickle one has read is its own; it never acknowledges, and a receive here is that of another message.
    sending.await.unwrap();
    node.until(|broker| broker.waiting_pops() == 0).await;
    let sent = node.client("last").await.send(vec![message("T", "last", "x")]).await;
    assert_eq!(code(sent.status.as_ref()), Code::Ok);
    receive_up_to(&mut steady, "last").await;
    node.stop().await;
}

/// The broker has answered, and the client hasn't read it.
#[tokio::test]
async fn messages_on_their_way_are_given_back() {
    let node = start().await;
    let mut other = node.client("d").await;
    other.receive(receive("T", "G")).await;
    other.send(vec![message("T", "01AB", "hello")]).await;
    let deaf = Clients::connect_deaf(node.address()).await;
    let mut client = deaf.client("c");
    let request = client.request(waiting("T"));
    // With the head of the answer the messages are on their way.
    let frames = client.stub.receive_message(request).await.unwrap();
    let (status, _) = other.receive(receive("T", "G")).await;
    assert_eq!(status.code(), Code::MessageNotFound);
    drop(frames);
    let (status, messages) = other.receive(waiting("T")).await;
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    node.stop().await;
}

#[tokio::test]
async fn pulls() {
    let node = start().await;
    let client = node.client("c").await;
    let started = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..MANY {
        waiting.spawn(waits_for_pull(&client));
    }
    node.until(|broker| broker.held_pulls() == MANY).await;
    waiting.shutdown().await;
    node.until(|broker| broker.held_pulls() == 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    node.stop().await;
}

#[tokio::test]
async fn receives_from_lite_topics() {
    let node = start().await;
    node.topic("L", "LITE").await;
    node.group(LITE_GROUP).await;
    let mut client = node.client("c").await;
    let _stream = subscribe_to_lite(&mut client).await;
    let started = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..MANY {
        waiting.spawn(waits_for_lite(&client));
    }
    node.until(|broker| broker.waiting_lite_pops() == MANY).await;
    waiting.shutdown().await;
    node.until(|broker| broker.waiting_lite_pops() == 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    node.stop().await;
}
