//! Requests that are no calls, calls that there are not, and calls whose bytes are wrong.

use crate::client::{Clients, code, message};
use crate::guarded::KEYS;
use crate::node::Node;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use prost::Message as _;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::body::Body;

const SEND: &str = "/apache.rocketmq.v2.MessagingService/SendMessage";
const TELEMETRY: &str = "/apache.rocketmq.v2.MessagingService/Telemetry";
const LIMIT: usize = 1 << 20;

/// A message of a call as it is on the wire.
fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut framed = vec![flag];
    framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

fn sending(bytes: usize) -> Vec<u8> {
    SendMessageRequest { messages: vec![message("T", "01AB", &"x".repeat(bytes))] }.encode_to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

struct Called {
    status: StatusCode,
    /// With the trailers.
    headers: HeaderMap,
    body: Bytes,
}

impl Called {
    fn grpc_code(&self) -> tonic::Code {
        tonic::Code::from_bytes(self.headers.get("grpc-status").unwrap().as_bytes())
    }

    fn text(&self) -> String {
        let status = tonic::Status::from_header_map(&self.headers).unwrap();
        status.message().to_owned()
    }
}

fn post(clients: &Clients, path: &str) -> http::request::Builder {
    Request::builder()
        .method(Method::POST)
        .uri(clients.uri(path))
        .header(CONTENT_TYPE, "application/grpc")
        .header("te", "trailers")
        .header("x-mq-client-id", "c")
}

async fn call(clients: &Clients, request: http::request::Builder, body: Vec<u8>) -> Called {
    let response = clients.raw(request.body(Body::new(Full::from(body))).unwrap()).await.unwrap();
    read(response).await
}

async fn read(response: http::Response<hyper::body::Incoming>) -> Called {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let mut headers = parts.headers;
    headers.extend(body.trailers().cloned().unwrap_or_default());
    Called { status: parts.status, headers, body: body.to_bytes() }
}

/// A body whose pieces come one by one.
struct Slow(UnboundedReceiver<Vec<u8>>);

fn slow() -> (UnboundedSender<Vec<u8>>, Body) {
    let (sender, pieces) = unbounded_channel();
    (sender, Body::new(Slow(pieces)))
}

impl http_body::Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| Ok(http_body::Frame::data(piece.into()))))
    }
}

async fn start() -> (Node, Clients) {
    let config = ProxyConfig { inbound_message_bytes_max: LIMIT, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    let clients = Clients::connect(node.address()).await;
    (node, clients)
}

fn code_of(called: &Called) -> Code {
    assert_eq!(called.grpc_code(), tonic::Code::Ok, "{}", called.text());
    code(SendMessageResponse::decode(&called.body[5..]).unwrap().status.as_ref())
}

#[tokio::test]
async fn requests_that_are_no_calls() {
    let (node, clients) = start().await;
    let body = || framed(0, &sending(1));
    for (content_type, status) in [
        ("application/json", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/grpc-web+proto", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let mut request = post(&clients, SEND);
        request.headers_mut().unwrap().insert(CONTENT_TYPE, content_type.parse().unwrap());
        let called = call(&clients, request, body()).await;
        assert_eq!(called.status, status);
        assert!(String::from_utf8_lossy(&called.body).contains(content_type), "{:?}", called.body);
    }
    let get = call(&clients, post(&clients, SEND).method(Method::GET), vec![]).await;
    assert_eq!(get.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(get.headers["allow"], "POST");
    let formatted = post(&clients, SEND);
    let called = call(&clients, formatted.header(CONTENT_TYPE, "application/grpc+proto"), body()).await;
    assert_eq!(code_of(&called), Code::Ok);
    node.stop().await;
}

#[tokio::test]
async fn calls_that_there_are_not() {
    let (node, clients) = start().await;
    let nowhere = [
        "/",
        "/x",
        "/x.Y/Z",
        "/apache.rocketmq.v2.MessagingService",
        "/apache.rocketmq.v2.Admin/ChangeLogLevel",
    ];
    let unknown = "/apache.rocketmq.v2.MessagingService/SendMessages";
    for path in nowhere.into_iter().chain([unknown]) {
        let called = call(&clients, post(&clients, path), framed(0, &[])).await;
        assert_eq!(
            (called.status, called.grpc_code()),
            (StatusCode::OK, tonic::Code::Unimplemented),
            "{path}"
        );
        assert!(called.text().contains(path), "{path}: {}", called.text());
    }
    node.stop().await;
}

#[tokio::test]
async fn messages_that_are_too_large() {
    let (node, clients) = start().await;
    // Of the message itself, and of the fields around it.
    let around = sending(0).len() + 6;
    let largest = framed(0, &sending(LIMIT - around));
    assert_eq!(largest.len(), LIMIT + 5);
    assert_eq!(code_of(&call(&clients, post(&clients, SEND), largest).await), Code::Ok);
    let larger = call(&clients, post(&clients, SEND), framed(0, &sending(LIMIT + 1 - around))).await;
    assert_eq!(larger.grpc_code(), tonic::Code::ResourceExhausted);
    for piece in ["1048577", "1048576", "grpcMaxInboundMessageSize"] {
        assert!(larger.text().contains(piece), "{}", larger.text());
    }
    // The client has only said how much it is going to send; also on a stream.
    for path in [SEND, TELEMETRY] {
        let (pieces, body) = slow();
        pieces.send(vec![0, 0xff, 0xff, 0xff, 0xff]).unwrap();
        let called = read(clients.raw(post(&clients, path).body(body).unwrap()).await.unwrap()).await;
        assert_eq!(called.grpc_code(), tonic::Code::ResourceExhausted, "{path}");
        assert!(called.text().contains("4294967295"), "{}", called.text());
    }
    node.stop().await;
}

#[tokio::test]
async fn bytes_that_are_no_message() {
    let (node, clients) = start().await;
    let whole = framed(0, &sending(9));
    for (what, body, code) in [
        ("no message", vec![], tonic::Code::Internal),
        ("no protobuf", framed(0, &[0xff; 40]), tonic::Code::Internal),
        ("cut in the head", whole[..3].to_vec(), tonic::Code::Internal),
        ("cut in the message", whole[..whole.len() - 1].to_vec(), tonic::Code::Internal),
        ("an unknown flag", framed(7, &sending(9)), tonic::Code::Internal),
        ("compressed with nothing", framed(1, &sending(9)), tonic::Code::Internal),
    ] {
        let called = call(&clients, post(&clients, SEND), body).await;
        assert_eq!(called.grpc_code(), code, "{what}: {}", called.text());
        assert!(!called.text().is_empty(), "{what}");
    }
    // An empty message is one, with nothing in it.
    assert_eq!(code_of(&call(&clients, post(&clients, SEND), framed(0, &[])).await), Code::MessageCorrupted);
    assert_eq!(code_of(&call(&clients, post(&clients, SEND), whole).await), Code::Ok);
    node.stop().await;
}

#[tokio::test]
async fn messages_that_are_compressed() {
    let (node, clients) = start().await;
    let compressed = async |encoding: &str, message: &[u8]| {
        call(&clients, post(&clients, SEND).header("grpc-encoding", encoding), framed(1, message)).await
    };
    assert_eq!(code_of(&compressed("gzip", &gzip(&sending(9))).await), Code::Ok);
    assert_eq!(compressed("gzip", &sending(9)).await.grpc_code(), tonic::Code::Internal);
    for encoding in ["snappy", "deflate", "zstd"] {
        let called = compressed(encoding, &sending(9)).await;
        assert_eq!(called.grpc_code(), tonic::Code::Unimplemented);
        assert!(called.text().contains(encoding), "{}", called.text());
        assert_eq!(called.headers["grpc-accept-encoding"], "gzip,identity");
    }
    // Little on the wire that would become much.
    let bomb = gzip(&vec![0; 64 * LIMIT]);
    assert!(bomb.len() < LIMIT);
    let called = compressed("gzip", &bomb).await;
    assert_eq!(called.grpc_code(), tonic::Code::ResourceExhausted);
    assert!(called.text().contains("1048576"), "{}", called.text());
    node.stop().await;
}

#[tokio::test]
async fn calls_whose_time_is_over() {
    let (node, clients) = start().await;
    let timed = |timeout: &str| post(&clients, SEND).header("grpc-timeout", timeout);
    for timeout in ["0n", "0S"] {
        let called = call(&clients, timed(timeout), framed(0, &sending(9))).await;
        assert_eq!(called.grpc_code(), tonic::Code::DeadlineExceeded, "{timeout}");
        assert!(called.text().contains("grpc-timeout"), "{}", called.text());
    }
    for timeout in ["3S", "nonsense", "", "99999999H"] {
        assert_eq!(
            code_of(&call(&clients, timed(timeout), framed(0, &sending(9))).await),
            Code::Ok,
            "{timeout}"
        );
    }
    // Who doesn't get done with its call in the time that it gave it is answered nevertheless.
    let (pieces, body) = slow();
    pieces.send(framed(0, &sending(9))[..20].to_vec()).unwrap();
    let called = clients.raw(timed("50m").body(body).unwrap());
    let called = tokio::time::timeout(Duration::from_secs(30), called).await.unwrap().unwrap();
    assert_eq!(read(called).await.grpc_code(), tonic::Code::DeadlineExceeded);
    drop(pieces);
    node.stop().await;
}

/// With access control on, whichever way calls come in. Health is for everybody.
#[tokio::test]
async fn calls_of_nobody() {
    let node = Node::start_with(KEYS, ProxyConfig::default()).await;
    let clients = Clients::connect(node.address()).await;
    let whole = framed(0, &sending(9));
    let at_once = call(&clients, post(&clients, SEND), whole.clone()).await;
    let (pieces, body) = slow();
    for half in whole.chunks(whole.len() / 2 + 1) {
        pieces.send(half.to_vec()).unwrap();
    }
    drop(pieces);
    let in_pieces = read(clients.raw(post(&clients, SEND).body(body).unwrap()).await.unwrap()).await;
    assert_eq!((code_of(&at_once), code_of(&in_pieces)), (Code::Unauthorized, Code::Unauthorized));
    let health = call(&clients, post(&clients, "/grpc.health.v1.Health/Check"), framed(0, b"")).await;
    assert_eq!(health.grpc_code(), tonic::Code::Ok);
    node.stop().await;
}
