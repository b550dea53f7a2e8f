//! Clients of a proxy that stop to wait: nothing waits for them at the brokers any more, and nothing is lost on the way.

use crate::client::{Clients, Peer, code, message};
use crate::cluster::{Cluster, until};
use crate::errors::requests::*;
use crate::given_up::*;
use crate::receiving::waiting;
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
        async move { client.receive(waiting("T")).await }
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
    let request = call.request(waiting("T"));
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
    let (status, messages) = other.receive(waiting("T")).await;
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
    let coming_and_going = tokio::spawn(comes_and_goes(fickle, 40));
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
    receive_up_to(&mut steady, "id").await;
    cluster.stop().await;
}

#[tokio::test]
async fn pulls() {
    let cluster = start().await;
    let client = cluster.proxy.client("c").await;
    let started = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..SOME {
        waiting.spawn(waits_for_pull(&client));
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
        let create = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(LITE_GROUP);
        let answer = cluster.operator.call(&broker.address(), create, POLLING).await.unwrap();
        assert_eq!(answer.code, 0, "{answer:?}");
    }
    let mut client = cluster.proxy.client("c").await;
    let _stream = subscribe_to_lite(&mut client).await;
    let started = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..SOME {
        waiting.spawn(waits_for_lite(&client));
    }
    wait_at_a(&cluster, Broker::waiting_lite_pops, SOME).await;
    waiting.abort_all();
    wait_at_a(&cluster, Broker::waiting_lite_pops, 0).await;
    assert!(started.elapsed() < POLLING, "their time was just up");
    cluster.stop().await;
}
