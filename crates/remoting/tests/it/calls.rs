//! Calls in both directions.

use crate::support::{
    CALL_BACK, ECHO, GATED, Peer, SOON, TestService, options, request, start, start_gated, until,
};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame;
use roxmq_protocol::header::Encoding;
use roxmq_remoting::{CallError, Client, ClientOptions, NoService, Server, ServerOptions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn address(server: &Server) -> String {
    server.local_addrs()[0].to_string()
}

fn echo(body: &str) -> Command {
    request(ECHO, 0, body)
}

#[tokio::test]
async fn a_client_calls_a_server() {
    let (server, service) = start(options()).await;
    let client = Client::new();
    let answer = client.call(&address(&server), echo("hi"), SOON).await.unwrap();
    assert_eq!(&answer.body[..], b"hi");
    client.oneway(&address(&server), echo("oneway")).await.unwrap();
    until("the oneway request came", || service.requests.load(Ordering::SeqCst) == 2).await;
    assert_eq!(server.connection_count(), 1);
}

#[tokio::test]
async fn concurrent_callers_share_one_connection() {
    let (server, _) = start(options()).await;
    let client = Client::new();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (client, address) = (client.clone(), address(&server));
        calls.spawn(async move {
            let body = number.to_string();
            assert_eq!(client.call(&address, echo(&body), SOON).await.unwrap().body, body);
        });
    }
    calls.join_all().await;
    assert_eq!(server.connection_count(), 1);
}

#[tokio::test]
async fn names_are_resolved_and_bad_addresses_refused() {
    let (server, _) = start(options()).await;
    let client = Client::new();
    let port = server.local_addrs()[0].port();
    client.call(&format!("localhost:{port}"), echo(""), SOON).await.unwrap();
    for bad in ["localhost", "localhost:x", "localhost:70000", ""] {
        let error = client.call(bad, echo(""), SOON).await.unwrap_err();
        assert!(matches!(&error, CallError::Connect { addr, .. } if addr == bad), "{bad}: {error}");
    }
}

#[tokio::test]
async fn ipv6_addresses_stand_in_brackets() {
    let options = ServerOptions::listen([SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 0))]);
    let service = Arc::new(TestService::default());
    // A host without IPv6 can't be asked for it.
    let Ok(server) = Server::start(options, service).await else {
        return;
    };
    let answer = Client::new().call(&address(&server), echo("six"), SOON).await.unwrap();
    assert_eq!(&answer.body[..], b"six");
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_a_late_answer_is_dropped() {
    let (server, service) = start(options()).await;
    let client = Client::new();
    let timeout = Duration::from_millis(50);
    let late = client.call(&address(&server), request(GATED, 0, "late"), timeout).await;
    assert_eq!(late, Err(CallError::Timeout(timeout)));
    service.gate.add_permits(1);
    assert_eq!(&client.call(&address(&server), echo("next"), SOON).await.unwrap().body[..], b"next");
}

#[tokio::test]
async fn calls_end_with_their_connection() {
    let (server, service) = start(options()).await;
    let client = Client::new();
    let call = {
        let (client, address) = (client.clone(), address(&server));
        tokio::spawn(async move { client.call(&address, request(GATED, 0, ""), SOON).await })
    };
    until("the request came", || service.requests.load(Ordering::SeqCst) == 1).await;
    drop(server);
    assert_eq!(call.await.unwrap(), Err(CallError::Closed));
}

/// A peer that hears of the end of a connection while it answers lost its answer.
#[tokio::test]
async fn a_closing_connection_takes_the_answer_that_is_on_its_way() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let client = Client::new();
    let connection = client.connect_alone(&address, Arc::new(NoService)).await.unwrap();
    let mut peer = Peer { io: listener.accept().await.unwrap().0 };
    let call = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.call_in(Encoding::Binary, echo("asked"), SOON).await }
    });
    let asked = peer.receive().await;
    connection.close();
    assert_eq!(peer.rest().await, b"");
    let mut answer = Command::response(0).body("answered");
    answer.opaque = asked.opaque;
    peer.send(&answer).await;
    assert_eq!(&call.await.unwrap().unwrap().body[..], b"answered");
}

/// The answer came too late by a moment, and what it had taken out was lost.
#[tokio::test]
async fn a_peer_that_closed_its_side_gets_the_answers_it_was_promised() {
    let (_server, service, mut peer) = start_gated("late").await;
    peer.io.shutdown().await.unwrap();
    until("nothing waits for it any more", || service.open.load(Ordering::SeqCst) == 0).await;
    service.gate.add_permits(1);
    let rest = peer.rest().await;
    assert_eq!(frame::decode(&rest).unwrap().body, b"late");
}

/// A promise that nobody keeps doesn't keep the connection.
#[tokio::test]
async fn a_peer_that_closed_its_side_is_not_waited_for_long() {
    let (server, _service, mut peer) = start_gated("never").await;
    peer.io.shutdown().await.unwrap();
    assert_eq!(peer.rest().await, b"");
    until("it is gone", || server.connection_count() == 0).await;
}

#[tokio::test]
async fn requests_go_out_in_the_encoding_that_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let client = Client::new();
    let connection = client.connect_alone(&address, Arc::new(NoService)).await.unwrap();
    let (mut io, _) = listener.accept().await.unwrap();
    connection.oneway_in(Encoding::Binary, echo("compact"));
    connection.oneway(echo("plain"));
    connection.close();
    let mut bytes = Vec::new();
    io.read_to_end(&mut bytes).await.unwrap();
    let (first, second) = bytes.split_at(frame::length(&bytes).unwrap().unwrap());
    let check = |bytes: &[u8], encoding, body: &[u8]| {
        let frame = frame::decode(bytes).unwrap();
        assert_eq!((frame.header.encoding, frame.body), (encoding, body));
    };
    check(first, Encoding::Binary, b"compact");
    check(second, Encoding::Json, b"plain");
}

#[tokio::test]
async fn a_client_survives_a_restart_of_its_server() {
    let (server, _) = start(options()).await;
    let addr = server.local_addrs()[0];
    let client = Client::new();
    let connection = client.connection(&addr.to_string()).await.unwrap();
    client.call(&addr.to_string(), echo("before"), SOON).await.unwrap();
    server.shutdown(SOON).await;
    until("the client saw it", || connection.is_closed()).await;
    let gone = client.call(&addr.to_string(), echo(""), SOON).await;
    assert!(matches!(gone, Err(CallError::Connect { .. })), "{gone:?}");
    let (_server, _) = start(ServerOptions::listen([addr])).await;
    assert_eq!(&client.call(&addr.to_string(), echo("after"), SOON).await.unwrap().body[..], b"after");
}

#[tokio::test]
async fn a_server_calls_its_client() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    peer.send(&request(CALL_BACK, 77, "ping")).await;
    let asked = peer.receive().await;
    assert_eq!((asked.code, asked.flag, &asked.body[..]), (ECHO, 0, &b"ping"[..]));
    let mut unasked = Command::response(0);
    unasked.opaque = asked.opaque.wrapping_add(1000);
    peer.send(&unasked).await;
    let mut answer = Command::response(0).body("pong");
    answer.opaque = asked.opaque;
    peer.send(&answer).await;
    let answered = peer.receive().await;
    assert_eq!((answered.opaque, &answered.body[..]), (77, &b"pong"[..]));
}

#[tokio::test]
async fn clients_answer_servers_with_their_service_or_refuse() {
    let (server, _) = start(options()).await;
    let serving = Client::with_service(ClientOptions::default(), Arc::new(TestService::default())).unwrap();
    let answer = serving.call(&address(&server), request(CALL_BACK, 0, "round trip"), SOON).await.unwrap();
    assert_eq!(&answer.body[..], b"round trip");
    let refused = Client::new().call(&address(&server), request(CALL_BACK, 0, "x"), SOON).await.unwrap();
    assert_eq!((refused.code, refused.body.len()), (0, 0));
}

#[tokio::test]
async fn a_closed_client_leaves_no_connection() {
    let (server, service) = start(options()).await;
    let client = Client::new();
    client.call(&address(&server), echo(""), SOON).await.unwrap();
    client.close();
    until("the connection is gone", || service.open.load(Ordering::SeqCst) == 0).await;
    client.call(&address(&server), echo(""), SOON).await.unwrap();
    drop(client);
    until("the next one is gone too", || service.open.load(Ordering::SeqCst) == 0).await;
}
