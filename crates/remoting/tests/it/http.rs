//! HTTP on the remoting port.

use crate::support::{Peer, options, start};
use crate::tls::secure;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roxmq_remoting::{Http2, HttpConnection, Metrics, Readiness, ServerOptions};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

async fn get(server: &roxmq_remoting::Server, path: &str) -> String {
    let mut peer = Peer::connect(server).await;
    peer.drip(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await;
    String::from_utf8(peer.rest().await).unwrap()
}

#[tokio::test]
async fn health_and_readiness_are_told() {
    let ready = Arc::new(AtomicBool::new(false));
    let asked = ready.clone();
    let readiness = Readiness::new(move || match asked.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err("recovering".to_owned()),
    });
    let (server, _) = start(ServerOptions { readiness, ..options() }).await;
    let check = async |path: &str, status: &str, text: &str| {
        let answer = get(&server, path).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains(text), "{path}: {answer}");
    };
    check("/healthz", "200", "\r\n\r\nok").await;
    check("/readyz", "503", "\r\n\r\nrecovering").await;
    ready.store(true, Ordering::SeqCst);
    check("/readyz", "200", "\r\n\r\nready").await;
    check("/other", "404", "/healthz").await;
}

#[tokio::test]
async fn metrics_are_served_where_there_are_any() {
    let there = Arc::new(AtomicBool::new(true));
    let asked = there.clone();
    let metrics = Metrics::new(move || {
        let there = asked.load(Ordering::SeqCst);
        async move { if there { Ok("up 1\n".to_owned()) } else { Err("turned off".to_owned()) } }
    });
    let (server, _) = start(ServerOptions { metrics: Some(metrics), ..options() }).await;
    let answer = get(&server, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nup 1\n"), "{answer}");
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
    there.store(false, Ordering::SeqCst);
    let answer = get(&server, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("turned off"), "{answer}");
    let (without, _) = start(options()).await;
    assert!(get(&without, "/metrics").await.starts_with("HTTP/1.1 404"));
}

/// Gives back every byte.
#[derive(Debug)]
struct Mirror;

impl Http2 for Mirror {
    fn serve(&self, mut connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut bytes = [0; 64];
            while let Ok(count @ 1..) = connection.stream.read(&mut bytes).await {
                connection.stream.write_all(&bytes[..count]).await.unwrap();
            }
        })
    }
}

#[tokio::test]
async fn a_service_for_http2_gets_the_stream_from_its_first_byte() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n and more";
    let (server, _) = start(ServerOptions { http2: Some(Arc::new(Mirror)), ..options() }).await;
    let mut peer = Peer::connect(&server).await;
    peer.drip(PREFACE).await;
    let mut mirrored = [0; PREFACE.len()];
    peer.io.read_exact(&mut mirrored).await.unwrap();
    assert_eq!(mirrored, PREFACE);
    // It doesn't care for the shutdown, so it is cut off.
    server.shutdown(Duration::from_millis(20)).await;
    assert_eq!(peer.rest().await, b"");
}

async fn grpc<IO: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    io: IO,
) -> Response<hyper::body::Incoming> {
    let (mut requests, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("http://x/apache.rocketmq.v2.MessagingService/QueryRoute")
        .header("content-type", "application/grpc")
        .body(Empty::<Bytes>::new())
        .unwrap();
    requests.send_request(request).await.unwrap()
}

#[tokio::test]
async fn grpc_calls_are_answered_as_unimplemented() {
    let (server, _) = start(options()).await;
    let plain = grpc(Peer::connect(&server).await.io).await;
    let secure = grpc(secure(Peer::connect(&server).await).await.unwrap().io).await;
    for response in [plain, secure] {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/grpc");
        assert_eq!(response.headers()["grpc-status"], "12");
        assert!(response.headers()["grpc-message"].to_str().unwrap().contains("gRPC"));
        assert!(response.collect().await.unwrap().to_bytes().is_empty());
    }
}
