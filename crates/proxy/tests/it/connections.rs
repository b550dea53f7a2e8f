//! What holds for a client's HTTP/2 connection, whatever calls are made over it.

use crate::client::{Clients, code, message, resource};
use crate::lives::consumer;
use crate::node::Node;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(20);

/// A connection without gRPC on it.
struct Bare {
    requests: SendRequest<Bytes>,
    pings: PingPong,
    /// Ends with the connection.
    driver: JoinHandle<Result<(), h2::Error>>,
}

impl Bare {
    async fn connect(address: SocketAddr) -> Bare {
        let stream = TcpStream::connect(address).await.unwrap();
        let (requests, mut connection) = h2::client::handshake(stream).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        Bare { requests, pings, driver: tokio::spawn(connection) }
    }

    async fn ping(&mut self) {
        tokio::time::timeout(PATIENCE, self.pings.ping(Ping::opaque())).await.unwrap().unwrap();
    }

    /// How the server ends it.
    async fn ended(self) -> Result<(), h2::Error> {
        tokio::time::timeout(PATIENCE, self.driver).await.unwrap().unwrap()
    }
}

/// The Java server cuts off clients that ask often whether it is still there; some of them do.
#[tokio::test]
async fn every_ping_is_answered() {
    let node = Node::start().await;
    let mut bare = Bare::connect(node.address()).await;
    for _ in 0..500 {
        bare.ping().await;
    }
    node.stop().await;
}

#[tokio::test]
async fn a_client_learns_how_many_calls_it_may_have_open() {
    let config = ProxyConfig { concurrent_calls_max: 7, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    let mut bare = Bare::connect(node.address()).await;
    // Behind the settings.
    bare.ping().await;
    assert_eq!(bare.requests.current_max_send_streams(), 7);
    node.stop().await;
}

#[tokio::test]
async fn a_connection_without_calls_is_ended_and_one_with_an_open_stream_is_not() {
    let config = ProxyConfig { connection_idle_ms: 300, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    let mut listening = Clients::connect(node.address()).await.client("c");
    let mut stream = listening.telemetry(consumer("G")).await;
    stream.message().await.unwrap().unwrap();
    // The one that has a stream open is the older one.
    let bare = Bare::connect(node.address()).await;
    assert!(bare.ended().await.is_ok(), "an idle client is told to go, and isn't cut off");
    assert_eq!(code(listening.route("T").await.status.as_ref()), Code::Ok);
    node.stop().await;
}

/// Behind a load balancer all clients had its address.
#[tokio::test]
async fn a_client_behind_a_load_balancer_has_the_address_that_this_one_names() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let header = b"PROXY TCP4 192.0.2.7 192.0.2.8 40007 8081\r\n";
    let mut client = Clients::connect_after(node.address(), header).await.client("c");
    let mut stream = client.telemetry(consumer("G")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    let list = Command::request(request::GET_CONSUMER_CONNECTION_LIST).with("consumerGroup", "G");
    let answer = node.operate(list).await;
    let body = String::from_utf8_lossy(&answer.body);
    assert!(body.contains(r#""clientAddr":"192.0.2.7:40007""#), "{body}");
    node.stop().await;
}

/// Calls that have begun are answered before the connection ends, and no new ones are taken.
#[tokio::test]
async fn a_stop_says_goodbye_and_answers_what_has_begun() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let bare = Bare::connect(node.address()).await;
    let mut client = node.client("c").await;
    let mut stream = client.telemetry(consumer("G")).await;
    stream.message().await.unwrap().unwrap();
    let asked = ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() }),
        batch_size: 1,
        auto_renew: true,
        ..ReceiveMessageRequest::default()
    };
    let mut waiting = client.clone();
    let receive = tokio::spawn(async move { waiting.receive(asked).await });
    tokio::task::yield_now().await;
    // It went behind the receive on the same connection.
    assert_eq!(code(client.send(vec![message("U", "1", "x")]).await.status.as_ref()), Code::TopicNotFound);
    node.stop().await;
    let (status, messages) = receive.await.unwrap();
    assert_eq!((status.code(), messages.len()), (Code::MessageNotFound, 0));
    assert!(bare.ended().await.is_ok());
    let request = client.request(QueryRouteRequest::default());
    assert!(client.stub.query_route(request).await.is_err());
}

/// Answers of one write and requests of one read, many times what a connection may have under way at once.
#[tokio::test]
async fn many_calls_of_many_clients_share_a_connection() {
    const CLIENTS: usize = 8;
    const SENDS: usize = 200;
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let connection = Clients::connect(node.address()).await;
    let mut sends = Vec::new();
    for number in 0..CLIENTS * SENDS {
        let mut client = connection.client(&format!("c{}", number % CLIENTS));
        let body = "x".repeat(number % 97 * 500 + 1);
        sends.push(tokio::spawn(async move {
            let sent = client.send(vec![message("T", &format!("{number:032}"), &body)]).await;
            assert_eq!(code(sent.status.as_ref()), Code::Ok);
            assert_eq!(sent.entries[0].message_id, format!("{number:032}"));
        }));
    }
    for send in sends {
        send.await.unwrap();
    }
    node.stop().await;
}
