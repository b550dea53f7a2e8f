//! Many bad calls of each kind, and many that are given up: nothing is left of them.
//!
//! The long run prints what memory is like after each kind:
//! `cargo test --release -p roxmq-proxy a_hundred_thousand -- --ignored --nocapture`

use crate::client::{Clients, code, message};
use crate::errors::requests::*;
use crate::node::Node;
use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, Full};
use roxmq_proxy::schema::*;
use roxmq_proxy::{Counts, ProxyConfig};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tonic::body::Body;

const CLIENTS_MAX: usize = 1_000;
/// Calls at a time.
const WORKERS: usize = 32;
/// What memory may vary by between two looks at it.
const NOISE_KIB: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
enum Kind {
    NoClientId,
    IllegalName,
    NoSuchTopic,
    EmptyBody,
    BadReceipt,
    BadTransaction,
    NoSettings,
    BadSettings,
    NoSuchCall,
    NoProtobuf,
    TooLarge,
    TooLate,
    ReceiveGivenUp,
    PullGivenUp,
    TelemetryGivenUp,
    ConnectionCut,
    ManyClients,
}

const KINDS: [Kind; 17] = [
    Kind::NoClientId,
    Kind::IllegalName,
    Kind::NoSuchTopic,
    Kind::EmptyBody,
    Kind::BadReceipt,
    Kind::BadTransaction,
    Kind::NoSettings,
    Kind::BadSettings,
    Kind::NoSuchCall,
    Kind::NoProtobuf,
    Kind::TooLarge,
    Kind::TooLate,
    Kind::ReceiveGivenUp,
    Kind::PullGivenUp,
    Kind::TelemetryGivenUp,
    Kind::ConnectionCut,
    Kind::ManyClients,
];

/// One call of the kind, by one of the workers.
async fn make(kind: Kind, clients: &Clients, worker: usize, round: usize) {
    let mut client = clients.client(&format!("worker-{worker}"));
    let client = &mut client;
    match kind {
        Kind::NoClientId => {
            client.id.clear();
            assert_eq!(code(client.route("T").await.status.as_ref()), Code::ClientIdRequired);
        }
        Kind::IllegalName => {
            let names = ["", " ", "a b", "TBW102", "🚀"];
            let sent = client.send(vec![message(names[round % names.len()], "1", "x")]).await;
            assert_eq!(code(sent.status.as_ref()), Code::IllegalTopic);
        }
        Kind::NoSuchTopic => {
            let sent = client.send(vec![message(&format!("no-such-{round}"), "1", "x")]).await;
            assert_eq!(code(sent.status.as_ref()), Code::TopicNotFound);
        }
        Kind::EmptyBody => {
            let sent = client.send(vec![message("T", "1", "")]).await;
            assert_eq!(code(sent.status.as_ref()), Code::MessageBodyEmpty);
        }
        Kind::BadReceipt => {
            let numbers = format!("0 {FUTURE_MS} 1000 1 0 broker-a 0 {round} -1");
            let handles = ["", "nonsense", "0 1 1 1 0 broker-a 0 0 0", &numbers];
            let request = client.request(ack("T", "G", &[handles[round % handles.len()]]));
            let acked = client.stub.ack_message(request).await.unwrap().into_inner();
            assert_ne!(code(acked.status.as_ref()), Code::Ok);
        }
        Kind::BadTransaction => {
            let request = client.request(end("T", &format!("v1 broker-a {round} {round} x")));
            let ended = client.stub.end_transaction(request).await.unwrap().into_inner();
            assert_ne!(code(ended.status.as_ref()), Code::Ok);
        }
        Kind::NoSettings => {
            let request = client.request(heartbeat("G"));
            let beat = client.stub.heartbeat(request).await.unwrap().into_inner();
            assert_eq!(code(beat.status.as_ref()), Code::UnrecognizedClientType);
        }
        Kind::BadSettings => {
            let (mut stream, _say) = client.conversation(Settings::default()).await;
            assert!(stream.message().await.is_err());
        }
        Kind::NoSuchCall => raw(clients, "/no.such/Call", &[0; 5], None).await,
        Kind::NoProtobuf => raw(clients, SEND, &[0, 0, 0, 0, 3, 0xff, 0xff, 0xff], None).await,
        Kind::TooLarge => raw(clients, SEND, &[0, 0xff, 0, 0, 0], None).await,
        Kind::TooLate => raw(clients, SEND, &[0; 5], Some("0n")).await,
        Kind::ReceiveGivenUp => {
            let long = ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("T", "G") };
            let request = client.request(long);
            given_up(client.stub.receive_message(request)).await;
        }
        Kind::PullGivenUp => {
            let long = PullMessageRequest { long_polling_timeout: Some(seconds(20)), ..pull("T", "G") };
            let request = client.request(long);
            given_up(client.stub.pull_message(request)).await;
        }
        Kind::TelemetryGivenUp => {
            let (mut stream, _say) = client.conversation(consumer(ClientType::PushConsumer, "T", "G")).await;
            stream.message().await.unwrap();
        }
        Kind::ConnectionCut => {
            let own = Clients::connect_from(source_of(round), clients.address()).await;
            let mut client = own.client(&format!("worker-{worker}"));
            let long = ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("T", "G") };
            let request = client.request(long);
            given_up(client.stub.receive_message(request)).await;
            own.cut();
        }
        Kind::ManyClients => {
            client.id = format!("one-of-many-{round}");
            let status = client.route("T").await.status;
            assert!(matches!(code(status.as_ref()), Code::Ok | Code::TooManyRequests), "{status:?}");
        }
    }
}

/// A port that was used for a connection can't be used again for a while, with this address.
fn source_of(round: usize) -> IpAddr {
    Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + (round / 5_000) as u32).into()
}

const SEND: &str = "/apache.rocketmq.v2.MessagingService/SendMessage";

async fn raw(clients: &Clients, path: &str, body: &'static [u8], timeout: Option<&str>) {
    let mut request = Request::post(clients.uri(path)).header(CONTENT_TYPE, "application/grpc");
    if let Some(timeout) = timeout {
        request = request.header("grpc-timeout", timeout);
    }
    let body = Body::new(Full::from(Bytes::from_static(body)));
    let answer = clients.raw(request.body(body).unwrap()).await.unwrap();
    assert_ne!(answer.headers()["grpc-status"], "0");
    answer.into_body().collect().await.unwrap();
}

/// While the server waits for messages, if it is fast enough to have begun. If it isn't it may take the client for an
/// attacker and close the connection, so whoever gives up looks whether it is still there.
async fn given_up<T: std::fmt::Debug>(call: impl Future<Output = Result<T, tonic::Status>>) {
    if let Ok(answer) = tokio::time::timeout(Duration::from_millis(1), call).await {
        assert!(answer.is_err(), "there is nothing to answer with: {answer:?}");
    }
}

/// These calls of the kind, by all workers together.
async fn make_many(kind: Kind, node: &Node, rounds: Range<usize>) {
    let (next, end) = (Arc::new(AtomicUsize::new(rounds.start)), rounds.end);
    let workers = (0..WORKERS).map(|worker| {
        let (next, address) = (Arc::clone(&next), node.address());
        tokio::spawn(async move {
            let mut clients = Clients::connect(address).await;
            loop {
                let round = next.fetch_add(1, Ordering::Relaxed);
                if round >= end {
                    return;
                }
                if clients.is_closed() {
                    clients = Clients::connect(address).await;
                }
                make(kind, &clients, worker, round).await;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

async fn start() -> Node {
    let config = ProxyConfig { clients_max: CLIENTS_MAX, client_expiry_ms: 1_000, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    node
}

/// Nothing waits any more, and in the end no client is known. Tasks are those of the node.
async fn nothing_is_left(node: &Node, tasks: usize) {
    let started = Instant::now();
    loop {
        let broker = node.broker();
        let waiting = [broker.waiting_pops(), broker.held_pulls(), broker.waiting_lite_pops()];
        let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let counts = node.proxy().counts();
        if waiting == [0; 3] && counts == Counts::default() && alive <= tasks {
            return;
        }
        let left = format!("{waiting:?} wait, {counts:?}, {alive} of {tasks} tasks");
        assert!(started.elapsed() < PATIENCE, "something is left: {left}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_few_of_each_leave_nothing() {
    let node = start().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for kind in KINDS {
        make_many(kind, &node, 0..100).await;
    }
    nothing_is_left(&node, tasks).await;

    // And good calls go on.
    let mut client = node.client("c").await;
    client.receive(receive("T", "New")).await;
    assert_eq!(code(client.send(vec![message("T", "1", "x")]).await.status.as_ref()), Code::Ok);
    let long = ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("T", "New") };
    let (status, messages) = client.receive(long).await;
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    node.stop().await;
}

/// Of this process, with the clients in it.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[ignore = "it takes minutes, and is of use with --release only"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_of_each_leave_nothing() {
    let node = start().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for kind in KINDS {
        let started = Instant::now();
        make_many(kind, &node, 0..50_000).await;
        let half = resident_kib();
        make_many(kind, &node, 50_000..100_000).await;
        let whole = resident_kib();
        let took = started.elapsed();
        println!("{kind:?}: {took:.1?}, {half} KiB after half of them, {whole} KiB after all");
        assert!(whole < half + NOISE_KIB, "{kind:?}: memory grows");
    }
    nothing_is_left(&node, tasks).await;
    println!("in the end {} KiB", resident_kib());
    node.stop().await;
}
