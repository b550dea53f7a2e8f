//! One HTTP/2 connection, and calls over it.

use crate::bench::Target;
use crate::bench::signer::Signer;
use anyhow::{Context, bail, ensure};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use prost::Message;
use std::time::Duration;
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Wide enough never to hold an answer up.
const WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Of a message in a stream of them: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;
const STATUS: &str = "grpc-status";
/// The deadline of every call, long enough for a receive that waits.
const TIMEOUT: &str = "30S";

pub struct Channel {
    requests: SendRequest<Bytes>,
    authority: String,
    headers: HeaderMap,
}

/// A method of the service, ready to be called often.
pub struct Call {
    uri: Uri,
    headers: HeaderMap,
}

impl Channel {
    /// Connects for the client of this id.
    pub async fn open(target: &Target, client_id: &str) -> anyhow::Result<Channel> {
        let addr = target.addr(true);
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(addr));
        let stream = connecting.await.map_err(anyhow::Error::from).and_then(|stream| Ok(stream?));
        let stream = stream.with_context(|| format!("cannot connect to {addr}"))?;
        stream.set_nodelay(true)?;
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .handshake(stream)
            .await
            .with_context(|| format!("{addr} speaks no HTTP/2"))?;
        // Its failure is that of every call.
        tokio::spawn(connection);
        Ok(Channel { requests, authority: addr.to_owned(), headers: headers(target, client_id)? })
    }

    pub fn call(&self, name: &str) -> anyhow::Result<Call> {
        let uri = format!("http://{}/apache.rocketmq.v2.MessagingService/{name}", self.authority);
        Ok(Call { uri: uri.parse()?, headers: self.headers.clone() })
    }

    /// Sends a request whose answer is to be taken from the answers. It waits while the server wants no more calls.
    pub async fn start(&self, call: &Call, message: &impl Message) -> anyhow::Result<Answers> {
        let (answers, mut body) = self.open_stream(call).await?;
        body.send_data(framed(message), true)?;
        Ok(answers)
    }

    /// One request and its one answer.
    pub async fn unary<A: Message + Default>(
        &self,
        call: &Call,
        message: &impl Message,
    ) -> anyhow::Result<A> {
        self.start(call, message).await?.only().await
    }

    /// A stream in both directions, with the first message of ours sent.
    pub async fn converse(
        &self,
        call: &Call,
        message: &impl Message,
    ) -> anyhow::Result<(Answers, SendStream<Bytes>)> {
        let (answers, mut body) = self.open_stream(call).await?;
        body.send_data(framed(message), false)?;
        Ok((answers, body))
    }

    async fn open_stream(&self, call: &Call) -> anyhow::Result<(Answers, SendStream<Bytes>)> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = call.uri.clone();
        *request.headers_mut() = call.headers.clone();
        let mut requests = self.requests.clone().ready().await?;
        let (response, body) = requests.send_request(request, false)?;
        Ok((Answers { head: Some(response), body: None, received: BytesMut::new() }, body))
    }
}

/// The answers of one call, in turn.
pub struct Answers {
    /// Until it has come.
    head: Option<ResponseFuture>,
    body: Option<RecvStream>,
    received: BytesMut,
}

impl Answers {
    /// The next answer; none at the end of a call that went well.
    pub async fn next<A: Message + Default>(&mut self) -> anyhow::Result<Option<A>> {
        if let Some(head) = self.head.take() {
            let response = head.await?;
            ensure!(response.status().is_success(), "HTTP status {}", response.status());
            check_status(response.headers())?;
            self.body = Some(response.into_body());
        }
        let Some(body) = &mut self.body else { return Ok(None) };
        loop {
            if let Some(message) = take_message(&mut self.received)? {
                return Ok(Some(A::decode(message)?));
            }
            match body.data().await {
                Some(bytes) => {
                    let bytes = bytes?;
                    body.flow_control().release_capacity(bytes.len())?;
                    self.received.extend_from_slice(&bytes);
                }
                None => {
                    let trailers = body.trailers().await?;
                    self.body = None;
                    trailers.as_ref().map_or(Ok(()), check_status)?;
                    return Ok(None);
                }
            }
        }
    }

    /// The one answer of a call that has one.
    pub async fn only<A: Message + Default>(mut self) -> anyhow::Result<A> {
        let answer = self.next().await?.context("the call ended without an answer")?;
        ensure!(self.next::<A>().await?.is_none(), "the call has more than one answer");
        Ok(answer)
    }
}

/// What the official clients send with every call.
fn headers(target: &Target, client_id: &str) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "roxmq-bench"),
        ("grpc-timeout", TIMEOUT),
        ("x-mq-client-id", client_id),
        ("x-mq-language", "JAVA"),
        ("x-mq-protocol", "v2"),
        ("x-mq-client-version", "5.0.3"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value)?);
    }
    for (name, value) in target.signer().iter().flat_map(Signer::metadata) {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value)?);
    }
    Ok(headers)
}

fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX_BYTES + length);
    bytes.put_u8(0);
    bytes.put_u32(length.try_into().expect("the arguments' limits keep messages below 4 GiB"));
    message.encode(&mut bytes).expect("the buffer grows");
    bytes.freeze()
}

fn take_message(received: &mut BytesMut) -> anyhow::Result<Option<BytesMut>> {
    let Some(&[compressed, a, b, c, d]) = received.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    ensure!(compressed == 0, "the answer is compressed, which wasn't asked for");
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if received.len() < PREFIX_BYTES + length {
        return Ok(None);
    }
    received.advance(PREFIX_BYTES);
    Ok(Some(received.split_to(length)))
}

fn check_status(headers: &HeaderMap) -> anyhow::Result<()> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match text(STATUS) {
        None | Some("0") => Ok(()),
        Some(status) => bail!("gRPC status {status} {}", text("grpc-message").unwrap_or("(no text)")),
    }
}
