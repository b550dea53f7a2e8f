//! PROXY headers in front of everything.

use crate::support::{Peer, WHO, options, request, start};
use crate::tls::secure;
use roxmq_remoting::{Http2, HttpConnection, Server, ServerOptions};
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend_from_slice(&[command, family, 0, rest.len() as u8]);
    bytes.extend_from_slice(rest);
    bytes
}

fn v2_six() -> Vec<u8> {
    let mut six = [0; 36];
    (six[0], six[1], six[15], six[31], six[33], six[35]) = (0x20, 1, 1, 2, 80, 81);
    v2(0x21, 0x21, &six)
}

async fn who(server: &Server, header: &[u8], over_tls: bool) -> String {
    let mut peer = Peer::connect(server).await;
    peer.drip(header).await;
    let answer = if over_tls {
        secure(peer).await.unwrap().ask(&request(WHO, 1, "")).await
    } else {
        peer.ask(&request(WHO, 1, "")).await
    };
    answer.remark.unwrap()
}

#[tokio::test]
async fn the_named_source_is_the_remote() {
    let (server, _) = start(options()).await;
    let four = v2(0x21, 0x11, &[10, 1, 2, 3, 10, 1, 2, 4, 0, 80, 0, 81, 0xee, 0, 2, 1, 1]);
    for over_tls in [false, true] {
        let check = async |header: &[u8], expected: &str| {
            let who = who(&server, header, over_tls).await;
            assert_eq!(who, expected, "{}, TLS {over_tls}", header.escape_ascii());
        };
        check(b"PROXY TCP4 10.1.2.3 10.1.2.4 80 81\r\n", "10.1.2.3:80 10.1.2.4:81 false").await;
        check(b"PROXY TCP6 2001::1 ::2 80 81\r\n", "[2001::1]:80 [::2]:81 false").await;
        check(&four, "10.1.2.3:80 10.1.2.4:81 false").await;
        check(&v2_six(), "[2001::1]:80 [::2]:81 false").await;
    }
}

/// Tells every HTTP/2 connection where it comes from.
#[derive(Debug)]
struct Sources;

impl Http2 for Sources {
    fn serve(&self, mut connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            connection.stream.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
            let ends = format!("{} {}", connection.remote, connection.local);
            connection.stream.write_all(ends.as_bytes()).await.unwrap();
            connection.stream.shutdown().await.unwrap();
        })
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

async fn source<IO: AsyncRead + AsyncWrite + Unpin>(mut peer: Peer<IO>) -> String {
    peer.drip(PREFACE).await;
    let mut ends = String::new();
    peer.io.read_to_string(&mut ends).await.unwrap();
    ends
}

#[tokio::test]
async fn the_named_source_is_that_of_http2_too() {
    let (server, _) = start(ServerOptions { http2: Some(Arc::new(Sources)), ..options() }).await;
    let check = async |header: &[u8], expected: &str| {
        let (mut plain, mut over_tls) = (Peer::connect(&server).await, Peer::connect(&server).await);
        plain.drip(header).await;
        over_tls.drip(header).await;
        assert_eq!(source(plain).await, expected);
        assert_eq!(source(secure(over_tls).await.unwrap()).await, expected);
    };
    check(b"PROXY TCP4 10.1.2.3 10.1.2.4 80 81\r\n", "10.1.2.3:80 10.1.2.4:81").await;
    check(&v2_six(), "[2001::1]:80 [::2]:81").await;
}

#[tokio::test]
async fn a_header_that_names_nobody_changes_nothing() {
    let (server, _) = start(options()).await;
    let local = server.local_addrs()[0].to_string();
    for header in [b"PROXY UNKNOWN\r\n".to_vec(), v2(0x20, 0, &[]), v2(0x21, 0, &[])] {
        let who = who(&server, &header, false).await;
        assert!(who.starts_with("127.0.0.1:") && who.ends_with(&format!(" {local} true")), "{who}");
    }
}

#[tokio::test]
async fn broken_headers_close_the_connection() {
    let (server, _) = start(options()).await;
    for header in
        [b"PROXY TCP9 x\r\n".to_vec(), [b'P', b'R', b'O', b'X', b'Y', b' '].repeat(50), v2(0x3f, 0x11, &[])]
    {
        let mut peer = Peer::connect(&server).await;
        peer.send_bytes(&header).await;
        assert_eq!(peer.rest().await, b"", "{}", header.escape_ascii());
    }
}
