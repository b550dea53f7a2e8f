//! The ordered end of a server.

use crate::support::{BIG, ECHO, Peer, SOON, options, request, start, start_gated, until};
use roxmq_protocol::command::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpStream;

#[tokio::test]
async fn what_is_in_flight_is_answered() {
    let (server, service, mut peer) = start_gated("in flight").await;
    let mut reader = Peer::connect(&server).await;
    reader.send(&Command::request(BIG).with("bytes", 15_000_000)).await;
    until("that too", || service.requests.load(Ordering::SeqCst) == 2).await;
    let gate = service.gate.clone();
    let shutdown = tokio::spawn(server.shutdown(SOON));
    // It still serves while something is in flight.
    assert_eq!(peer.ask(&request(ECHO, 2, "")).await.opaque, 2);
    gate.add_permits(1);
    let answer = peer.receive().await;
    assert_eq!((answer.opaque, &answer.body[..]), (1, &b"in flight"[..]));
    assert_eq!(peer.rest().await, b"");
    assert_eq!(reader.receive().await.body.len(), 15_000_000);
    drop((peer, reader));
    shutdown.await.unwrap();
    assert_eq!(service.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_grace_ends() {
    let (server, service, mut peer) = start_gated("").await;
    let _silent = Peer::connect(&server).await;
    server.shutdown(Duration::from_millis(50)).await;
    assert_eq!(service.open.load(Ordering::SeqCst), 0);
    assert_eq!(peer.rest().await, b"");
}

#[tokio::test]
async fn a_server_that_stopped_accepting_serves_on() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    peer.ask(&request(ECHO, 1, "")).await;
    server.stop_accepting();
    let addr = server.local_addrs()[0];
    let refused = tokio::time::timeout(SOON, async {
        while TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    refused.await.expect("it still accepts");
    assert_eq!(peer.ask(&request(ECHO, 2, "")).await.opaque, 2);
}
