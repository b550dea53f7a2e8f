//! Requests, bursts, and bytes that are no frames.

use crate::support::{BIG, ECHO, PANIC, Peer, encoded, options, request, start, start_gated, until};
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn a_burst_of_requests_is_answered_in_order() {
    let (server, service) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let burst: Vec<u8> = (0..1000).flat_map(|opaque| encoded(&request(ECHO, opaque, "hello"))).collect();
    peer.send_bytes(&burst).await;
    for opaque in 0..1000 {
        let answer = peer.receive().await;
        assert_eq!((answer.opaque, answer.flag, &answer.body[..]), (opaque, 1, &b"hello"[..]));
    }
    let bursts = service.bursts.load(Ordering::SeqCst);
    assert!(bursts < 100, "1000 requests of one write came in {bursts} bursts");
}

#[tokio::test]
async fn requests_are_answered_in_their_encoding() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let mut bytes = Vec::new();
    request(ECHO, -5, "b").encode(Encoding::Binary, &mut bytes);
    peer.send_bytes(&bytes).await;
    let answer = peer.receive().await;
    assert_eq!((answer.opaque, &answer.body[..]), (-5, &b"b"[..]));
}

#[tokio::test]
async fn a_slow_answer_does_not_hold_up_others() {
    let (_server, service, mut peer) = start_gated("slow").await;
    assert_eq!(peer.ask(&request(ECHO, 2, "fast")).await.opaque, 2);
    service.gate.add_permits(1);
    let slow = peer.receive().await;
    assert_eq!((slow.opaque, &slow.body[..]), (1, &b"slow"[..]));
}

#[tokio::test]
async fn oneway_requests_are_never_answered() {
    let (server, service) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    peer.send(&request(ECHO, 1, "").oneway()).await;
    peer.send(&request(99, 2, "").oneway()).await;
    assert_eq!(peer.ask(&request(ECHO, 3, "")).await.opaque, 3);
    assert_eq!(service.requests.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_request_may_come_byte_by_byte() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    for opaque in 1..3 {
        peer.drip(&encoded(&request(ECHO, opaque, "drip"))).await;
        assert_eq!(&peer.receive().await.body[..], b"drip");
    }
}

#[tokio::test]
async fn the_largest_frame_is_served() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let head = encoded(&request(ECHO, 1, "")).len();
    let body = "x".repeat(16 * 1024 * 1024 - head);
    assert_eq!(peer.ask(&request(ECHO, 1, &body)).await.body.len(), body.len());
    assert_eq!(peer.ask(&Command::request(BIG).with("bytes", 9_000_000)).await.body.len(), 9_000_000);
}

#[tokio::test]
async fn broken_frames_close_their_connection_only() {
    let (server, service) = start(options()).await;
    let mut good = Peer::connect(&server).await;
    good.ask(&request(ECHO, 1, "")).await;
    let frame = |length: u32, word: u32, rest: &[u8]| {
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&word.to_be_bytes());
        bytes.extend_from_slice(rest);
        bytes
    };
    let mut remark = vec![0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
    remark.extend_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let broken: [(&str, Vec<u8>); 8] = [
        ("a length over the limit", frame(16 * 1024 * 1024 - 3, 0, &[])),
        ("a negative length", frame(0x8000_0000, 0, &[])),
        ("a length below a header word's", frame(3, 0, &[])),
        ("a header longer than its frame", frame(6, 100, b"{}")),
        ("an unknown encoding", frame(6, 7 << 24 | 2, b"{}")),
        ("a header that is no JSON", frame(6, 2, b"{]")),
        (
            "a remark's length of 2^31-1",
            frame(4 + remark.len() as u32, 1 << 24 | remark.len() as u32, &remark),
        ),
        ("garbage", b"\xde\xad\xbe\xef is not a frame at all".to_vec()),
    ];
    for (what, bytes) in broken {
        let mut bad = Peer::connect(&server).await;
        bad.send_bytes(&bytes).await;
        assert_eq!(bad.rest().await, b"", "{what} got an answer");
        drop(bad);
        assert_eq!(good.ask(&request(ECHO, 2, "still here")).await.opaque, 2, "after {what}");
    }
    until("one connection is left", || service.open.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_text_in_another_encoding_closes_nothing() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let asked = encoded(&request(ECHO, 1, "body").with("property", "city~end"));
    let asked: Vec<u8> = asked.into_iter().map(|byte| if byte == b'~' { 0xb1 } else { byte }).collect();
    peer.drip(&asked).await;
    assert_eq!(&peer.receive().await.body[..], b"body");
    peer.send_bytes(&[asked.clone(), asked].concat()).await;
    for _ in 0..2 {
        assert_eq!(&peer.receive().await.body[..], b"body");
    }
}

#[tokio::test]
async fn requests_before_a_broken_frame_are_answered() {
    let (server, _) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    let mut bytes = encoded(&request(ECHO, 1, "good"));
    bytes.extend_from_slice(&[0xff; 8]);
    peer.send_bytes(&bytes).await;
    assert_eq!(&peer.receive().await.body[..], b"good");
    assert_eq!(peer.rest().await, b"");
}

#[tokio::test]
async fn a_panic_ends_one_connection_and_its_session() {
    let (server, service) = start(options()).await;
    let mut good = Peer::connect(&server).await;
    good.ask(&request(ECHO, 1, "")).await;
    let mut bad = Peer::connect(&server).await;
    bad.send(&request(PANIC, 1, "")).await;
    bad.rest().await;
    until("the session is closed", || service.open.load(Ordering::SeqCst) == 1).await;
    assert_eq!(good.ask(&request(ECHO, 2, "")).await.opaque, 2);
}

#[tokio::test]
async fn peers_that_come_and_go_leave_nothing() {
    let (server, service) = start(options()).await;
    for _ in 0..200 {
        let mut peer = Peer::connect(&server).await;
        peer.send_bytes(&[0; 20][..]).await;
    }
    for _ in 0..200 {
        let mut peer = Peer::connect(&server).await;
        peer.send_bytes(&encoded(&request(ECHO, 1, "cut"))[..20]).await;
    }
    let mut last = Peer::connect(&server).await;
    last.ask(&request(ECHO, 1, "")).await;
    until("only the last connection is open", || {
        service.open.load(Ordering::SeqCst) == 1 && server.connection_count() == 1
    })
    .await;
}
