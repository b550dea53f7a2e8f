//! Clients of the service, over HTTP/2 connections that the test opens.

use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roxmq_protocol::signature::SigningKey;
use roxmq_proxy::schema::messaging_service_client::MessagingServiceClient;
use roxmq_proxy::schema::*;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tonic::body::Body;
use tonic::{Request, Streaming};
use tower_service::Service;

/// One connection, for as many clients as a test wants.
#[derive(Clone)]
pub struct Clients {
    connection: SendRequest<Body>,
    socket: Arc<std::net::TcpStream>,
    address: SocketAddr,
}

impl Clients {
    pub async fn connect(address: SocketAddr) -> Clients {
        Clients::connect_with(address, Builder::new(TokioExecutor::new())).await
    }

    /// Over a connection that lets the server send nothing but heads.
    pub async fn connect_deaf(address: SocketAddr) -> Clients {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(0);
        Clients::connect_with(address, builder).await
    }

    /// Over a connection on which somebody has said this before.
    pub async fn connect_after(address: SocketAddr, said: &[u8]) -> Clients {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(said).await.unwrap();
        Clients::over(stream, address, Builder::new(TokioExecutor::new())).await
    }

    /// From another of the addresses that this host has.
    pub async fn connect_from(source: IpAddr, address: SocketAddr) -> Clients {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        let stream = socket.connect(address).await.unwrap();
        Clients::over(stream, address, Builder::new(TokioExecutor::new())).await
    }

    async fn connect_with(address: SocketAddr, builder: Builder<TokioExecutor>) -> Clients {
        Clients::over(TcpStream::connect(address).await.unwrap(), address, builder).await
    }

    async fn over(stream: TcpStream, address: SocketAddr, builder: Builder<TokioExecutor>) -> Clients {
        let stream = stream.into_std().unwrap();
        stream.set_nodelay(true).unwrap();
        let socket = Arc::new(stream.try_clone().unwrap());
        let stream = TcpStream::from_std(stream).unwrap();
        let (connection, driver) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(driver);
        Clients { connection, socket, address }
    }

    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Closes the connection without a word.
    pub fn cut(&self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// Any request, such as no client makes.
    pub async fn raw(&self, request: http::Request<Body>) -> Result<http::Response<Incoming>, hyper::Error> {
        self.connection.clone().send_request(request).await
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn client(&self, id: &str) -> Peer {
        self.client_of(id, &self.address.to_string())
    }

    /// A client that has dialled another address, behind which the server is.
    pub fn client_of(&self, id: &str, authority: &str) -> Peer {
        let origin = format!("http://{authority}").parse().unwrap();
        let channel = Channel(self.connection.clone());
        Peer {
            id: id.to_owned(),
            language: Some("RUST"),
            version: Some("5.0.3"),
            timeout: Some(Duration::from_secs(30)),
            credentials: None,
            stub: MessagingServiceClient::with_origin(channel, origin),
        }
    }
}

#[derive(Clone)]
pub struct Channel(SendRequest<Body>);

impl Service<http::Request<Body>> for Channel {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// A client with an id of its own, and what it says of itself with each call.
#[derive(Clone)]
pub struct Peer {
    /// Said only if there is one.
    pub id: String,
    pub language: Option<&'static str>,
    pub version: Option<&'static str>,
    pub timeout: Option<Duration>,
    /// User and password that its calls are signed with.
    pub credentials: Option<(&'static str, &'static str)>,
    pub stub: MessagingServiceClient<Channel>,
}

/// What official clients sign, in one of the forms that they write it in.
const DATE_TIME: &str = "20261130T150000Z";

impl Peer {
    /// With calls that are signed by this user.
    pub fn signing(mut self, user: &'static str, password: &'static str) -> Peer {
        self.credentials = Some((user, password));
        self
    }

    /// The request with what official clients say of themselves.
    pub fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        if !self.id.is_empty() {
            metadata.insert("x-mq-client-id", self.id.parse().unwrap());
        }
        for (name, value) in [("x-mq-language", self.language), ("x-mq-client-version", self.version)] {
            if let Some(value) = value {
                metadata.insert(name, value.parse().unwrap());
            }
        }
        if let Some((user, password)) = self.credentials {
            let signature = SigningKey::new(password).sign(DATE_TIME.as_bytes()).hex();
            let authorization = format!(
                "MQv2-HMAC-SHA1 Credential={user}//RocketMQ, SignedHeaders=x-mq-date-time, Signature={signature}"
            );
            metadata.insert("authorization", authorization.parse().unwrap());
            metadata.insert("x-mq-date-time", DATE_TIME.parse().unwrap());
        }
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        request
    }

    pub async fn send(&mut self, messages: Vec<Message>) -> SendMessageResponse {
        let request = self.request(SendMessageRequest { messages });
        self.stub.send_message(request).await.unwrap().into_inner()
    }

    pub async fn route(&mut self, topic: &str) -> QueryRouteResponse {
        let asked = QueryRouteRequest { topic: Some(resource(topic)), endpoints: None };
        let request = self.request(asked);
        self.stub.query_route(request).await.unwrap().into_inner()
    }

    pub async fn receive(&mut self, asked: ReceiveMessageRequest) -> (Status, Vec<Message>) {
        let request = self.request(asked);
        let mut frames = self.stub.receive_message(request).await.unwrap().into_inner();
        let (mut status, mut messages) = (None, Vec::new());
        while let Some(frame) = frames.message().await.unwrap() {
            match frame.content.unwrap() {
                receive_message_response::Content::Status(found) => status = Some(found),
                receive_message_response::Content::Message(message) => messages.push(message),
                receive_message_response::Content::DeliveryTimestamp(_) => {}
            }
        }
        (status.unwrap(), messages)
    }

    /// A telemetry stream on which these settings were sent; they are answered first.
    pub async fn telemetry(&mut self, settings: Settings) -> Streaming<TelemetryCommand> {
        let (stream, say) = self.conversation(settings).await;
        // It stays open as long as the test.
        std::mem::forget(say);
        stream
    }

    /// A telemetry stream, and the way to say more on it.
    pub async fn conversation(&mut self, settings: Settings) -> (Streaming<TelemetryCommand>, Say) {
        let (sender, commands) = tokio::sync::mpsc::unbounded_channel();
        let say = Say(sender);
        say.say(None, telemetry_command::Command::Settings(settings));
        let mut request = self.request(Said(commands));
        request.metadata_mut().remove("grpc-timeout");
        (self.stub.telemetry(request).await.unwrap().into_inner(), say)
    }
}

/// The client's side of a telemetry stream.
pub struct Say(UnboundedSender<TelemetryCommand>);

impl Say {
    pub fn say(&self, status: Option<Status>, command: telemetry_command::Command) {
        self.0.send(TelemetryCommand { status, command: Some(command) }).unwrap();
    }

    pub fn say_nothing(&self) {
        self.0.send(TelemetryCommand::default()).unwrap();
    }
}

struct Said(UnboundedReceiver<TelemetryCommand>);

impl tonic::codegen::tokio_stream::Stream for Said {
    type Item = TelemetryCommand;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<TelemetryCommand>> {
        self.0.poll_recv(context)
    }
}

pub fn resource(name: &str) -> Resource {
    Resource { name: name.to_owned(), ..Resource::default() }
}

pub fn message(topic: &str, id: &str, body: &str) -> Message {
    let system = SystemProperties { message_id: id.to_owned(), ..SystemProperties::default() };
    Message {
        topic: Some(resource(topic)),
        body: body.to_owned().into(),
        system_properties: Some(system),
        ..Message::default()
    }
}

/// The receipt of a message that was received.
pub fn receipt(message: &Message) -> String {
    message.system_properties.as_ref().unwrap().receipt_handle.clone().unwrap()
}

pub fn code(status: Option<&Status>) -> Code {
    status.unwrap().code()
}
