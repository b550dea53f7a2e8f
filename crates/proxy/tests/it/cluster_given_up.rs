//! Clients of a proxy that stop to wait: nothing waits for them at the brokers any more, and nothing is lost on the way.

use crate::client::{Clients, Peer, code, message};
use crate::cluster::{Cluster, until};
use crate::errors::requests::*;
use crate::given_up::{POLLING, waiting, waits};
use roxmq_broker::Broker;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_proxy::schema::*;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Fewer than may wait alone.
const SOME: usize = 40;
/// More than that.
const MANY: usize = 80;

async fn start() -> Cluster {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    cluster
}

/// Waits until so many of something wait at broker a.
async fn wait_at_a(cluster: &Cluster, count: fn(&Broker) -> usize, wanted: usize) {
    until(&format!("{wanted} wait"), || async { count(cluster.a.broker()) == wanted }).await;
}

async fn begin(cluster: &Cluster, client: &Peer, count: usize) -> JoinSet<()> {
    let mut waiting = JoinSet::new();
    for _ in 0..count {
        waiting.spawn(waits(client));
    }
    wait_at_a(cluster, Broker::waiting_pops, count).await;
    waiting
}

/// Sends until broker a has had a message.
async fn send_to_a(cluster: &Cluster, client: &mut Peer) {
    let before = cluster.a.stored("T", 2).await;
    while cluster.a.stored("T", 2).await == before {
        let sent = client.send(vec![message("T", "id", "x")]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
}

/// Brokers held receives of clients that were gone, took messages out for them, and these came again later, as tried once
/// already.
#[tokio::test]
async fn receives_that_are_reset() {
    let cluster = start().await;
    let client = cluster.proxy.client("c").await;
    let started = Instant::now();
    // The second time over connections that serve again, and others.
    for _ in 0..2 {
        let mut waiting_ones = begin(&cluster, &client, SOME).await;
        waiting_ones.abort_all();
        wait_at_a(&cluster, Broker::waiting_pops, 0).await;
    }
    assert!(started.elapsed() < POLLING, "their time was just up");

    let got = tokio::spawn({
        let mut client = client.clone();
        async move { client.receive(waiting()).await }
    });
    wait_at_a(&cluster, Broker::waiting_pops, 1).await;
    send_to_a(&cluster, &mut cluster.proxy.client("d").await).await;
    let (status, messages) = got.await.unwrap();
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    assert_eq!(messages[0].system_properties.as_ref().unwrap().delivery_attempt, Some(1));
    cluster.stop().await;
}

#[tokio::test]
async fn connections_that_are_cut() {
    let cluster = start().await;
    let connection = Clients::connect(cluster.proxy.address()).await;
    let started = Instant::now();
    let _waiting = begin(&cluster, &connection.client("c"), SOME).await;
    connection.cut();
    wait_at_a(&cluster, Broker::waiting_pops, 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    cluster.stop().await;
}

#[tokio::test]
async fn calls_whose_deadline_comes() {
    let cluster = start().await;
    let client = Peer { timeout: Some(Duration::from_secs(6)), ..cluster.proxy.client("c").await };
    let started = Instant::now();
    let mut call = client.clone();
    // The client ends the call before it told the server that it would.
    let request = call.request(waiting());
    let waits = tokio::time::timeout(Duration::from_secs(1), call.stub.receive_message(request));
    assert!(waits.await.is_err());
    wait_at_a(&cluster, Broker::waiting_pops, 0).await;
    assert!(started.elapsed() < Duration::from_secs(5), "its time was just up");
    cluster.stop().await;
}

/// What is taken out for those that share a connection is given back.
#[tokio::test]
async fn more_than_may_wait_alone() {
    let cluster = start().await;
    let client = cluster.proxy.client("c").await;
    let mut waiting_ones = begin(&cluster, &client, MANY).await;
    waiting_ones.abort_all();
    until("most are gone", || async { cluster.a.broker().waiting_pops() <= MANY - SOME }).await;
    let mut other = cluster.proxy.client("d").await;
    send_to_a(&cluster, &mut other).await;
    let (status, messages) = other.receive(waiting()).await;
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    cluster.stop().await;
}

/// Some go while others stay, and messages come meanwhile: nothing is left of those that went.
#[tokio::test]
async fn clients_that_come_and_go_while_messages_come() {
    let cluster = start().await;
    let mut sender = cluster.proxy.client("sender").await;
    let (fickle, mut steady) = (cluster.proxy.client("fickle").await, cluster.proxy.client("steady").await);
    steady.receive(receive("T", "G")).await;
    let coming_and_going = tokio::spawn(async move {
        let mut round = 0;
        loop {
            round += 1;
            let patience = Duration::from_micros(200 * (round % 40));
            let _ = tokio::time::timeout(patience, waits(&fickle)).await;
        }
    });
    for number in 0..200 {
        let sent = sender.send(vec![message("T", &format!("id{number}"), "x")]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    coming_and_going.abort();
    wait_at_a(&cluster, Broker::waiting_pops, 0).await;
    // What the fickle one has read is its own. What comes from now on it doesn't get.
    let before = cluster.a.stored("T", 2).await;
    send_to_a(&cluster, &mut sender).await;
    assert_eq!(cluster.a.stored("T", 2).await, before + 1);
    let mut last = false;
    while !last {
        let (status, messages) = steady.receive(waiting()).await;
        assert_eq!(status.code(), Code::Ok, "the last message doesn't come");
        last = messages.iter().any(|got| got.system_properties.as_ref().unwrap().message_id == "id");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn pulls() {
    let cluster = start().await;
    let client = cluster.proxy.client("c").await;
    let started = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..SOME {
        let mut client = client.clone();
        waiting.spawn(async move {
            let long = PullMessageRequest { long_polling_timeout: Some(seconds(20)), ..pull("T", "G") };
            let request = client.request(long);
            let mut frames = client.stub.pull_message(request).await.unwrap().into_inner();
            frames.message().await.unwrap();
        });
    }
    wait_at_a(&cluster, Broker::held_pulls, SOME).await;
    waiting.abort_all();
    wait_at_a(&cluster, Broker::held_pulls, 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    cluster.stop().await;
}

#[tokio::test]
async fn receives_from_lite_topics() {
    let cluster = start().await;
    cluster.topic("L", "LITE").await;
    for broker in [&cluster.a, &cluster.b] {
        let json = r#"{"groupName":"LG","attributes":{"+lite.bind.topic":"L"}}"#;
        let create = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(json);
        let answer = cluster.operator.call(&broker.address(), create, POLLING).await.unwrap();
        assert_eq!(answer.code, 0, "{answer:?}");
    }
    let mut client = cluster.proxy.client("c").await;
    let mut stream = client.telemetry(consumer(ClientType::LitePushConsumer, "L", "LG")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    let request = client.request(subscribe_lite("L", "LG", &["l"]));
    client.stub.sync_lite_subscription(request).await.unwrap();
    let started = Instant::now();
    let long = || ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("L", "LG") };
    let mut waiting = JoinSet::new();
    for _ in 0..SOME {
        let mut client = client.clone();
        waiting.spawn(async move {
            client.receive(long()).await;
        });
    }
    wait_at_a(&cluster, Broker::waiting_lite_pops, SOME).await;
    waiting.abort_all();
    wait_at_a(&cluster, Broker::waiting_lite_pops, 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    cluster.stop().await;
}
