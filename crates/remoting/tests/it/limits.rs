//! Peers that don't read, don't talk, or don't say what they are.

use crate::support::{BIG, ECHO, GATED, Peer, encoded, options, request, start, until};
use roxmq_protocol::command::Command;
use roxmq_remoting::ServerOptions;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn a_peer_that_does_not_read_is_not_served_on() {
    let (server, service) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let asked: u32 = 500;
    for opaque in 0..asked {
        let mut big = Command::request(BIG).with("bytes", 1_000_000);
        big.opaque = opaque as i32;
        peer.send(&big).await;
    }
    until("some were served", || service.requests.load(Ordering::SeqCst) > 0).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let served = service.requests.load(Ordering::SeqCst);
    assert!(served < 50, "{served} answers of 1 MB were put together for a peer that reads none");
    for opaque in 0..asked {
        let answer = peer.receive().await;
        assert_eq!((answer.opaque, answer.body.len()), (opaque as i32, 1_000_000));
    }
}

#[tokio::test]
async fn a_peer_that_lets_too_much_wait_is_cut_off() {
    let (server, service) = start(ServerOptions { output_bytes_max: 10_000_000, ..options() }).await;
    let mut peer = Peer::connect(&server).await;
    let body = "x".repeat(1_000_000);
    for opaque in 0..30 {
        peer.send(&request(GATED, opaque, &body)).await;
    }
    until("all came", || service.requests.load(Ordering::SeqCst) == 30).await;
    service.gate.add_permits(30);
    until("it is cut off", || service.open.load(Ordering::SeqCst) == 0).await;
    assert!(peer.rest().await.len() < 30_000_000);
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let idle_timeout = Duration::from_millis(100);
    let (server, service) = start(ServerOptions { idle_timeout, ..options() }).await;
    let mut peer = Peer::connect(&server).await;
    peer.ask(&request(ECHO, 1, "")).await;
    assert_eq!(peer.rest().await, b"");
    assert_eq!(Peer::connect(&server).await.rest().await, b"", "one that never said anything");
    until("nothing is left", || service.open.load(Ordering::SeqCst) == 0 && server.connection_count() == 0)
        .await;
}

#[tokio::test]
async fn busy_connections_outlive_the_idle_timeout() {
    // Longer than a busy machine keeps this process from running: that is silence, too.
    let idle_timeout = Duration::from_secs(2);
    let (server, _) = start(ServerOptions { idle_timeout, ..options() }).await;
    let mut peer = Peer::connect(&server).await;
    let mut ticks = tokio::time::interval(Duration::from_millis(25));
    for opaque in 0..120 {
        ticks.tick().await;
        assert_eq!(peer.ask(&request(ECHO, opaque, "")).await.opaque, opaque);
    }
}

#[tokio::test]
async fn connections_have_to_say_what_they_are() {
    let greeting_timeout = Duration::from_millis(50);
    let (server, _) = start(ServerOptions { greeting_timeout, ..options() }).await;
    let mut early = Peer::connect(&server).await;
    for start in [&b"PROX"[..], b"GE", b"PRI * H", b"\x16\x03\x01"] {
        let mut peer = Peer::connect(&server).await;
        peer.send_bytes(start).await;
        assert_eq!(peer.rest().await, b"", "{}", start.escape_ascii());
    }
    // Who says nothing at all is an idle connection, and may still become a busy one.
    assert_eq!(early.ask(&request(ECHO, 1, "at last")).await.opaque, 1);
}

#[tokio::test]
async fn a_peer_that_only_closed_its_side_gets_its_answers() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let mut bytes = encoded(&request(ECHO, 1, "a"));
    bytes.extend_from_slice(&encoded(&Command::request(BIG).with("bytes", 3_000_000)));
    peer.send_bytes(&bytes).await;
    peer.io.shutdown().await.unwrap();
    assert_eq!(peer.receive().await.opaque, 1);
    assert_eq!(peer.receive().await.body.len(), 3_000_000);
    assert_eq!(peer.rest().await, b"");
}
