//! A service to test with, and a peer that speaks raw frames.

use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::{self, Frame};
use roxmq_protocol::header::Encoding;
use roxmq_remoting::{Connection, Output, Server, ServerOptions, Service};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Long enough for anything that should happen at all.
pub const SOON: Duration = Duration::from_secs(20);

/// Answers with the request's body.
pub const ECHO: i32 = 1;
/// Answers like `ECHO` when the gate lets one through.
pub const GATED: i32 = 2;
/// Answers with as many bytes as the field `bytes` says.
pub const BIG: i32 = 3;
/// Calls the peer with `ECHO` and answers with what it answered.
pub const CALL_BACK: i32 = 4;
pub const PANIC: i32 = 5;
/// Answers with `remote local is_from_this_host`.
pub const WHO: i32 = 6;
/// Answers when it is given up, with its own body.
pub const HELD: i32 = 7;

#[derive(Debug)]
pub struct TestService {
    pub gate: Arc<Semaphore>,
    pub requests: AtomicUsize,
    pub bursts: AtomicUsize,
    pub open: AtomicUsize,
    /// Requests that were called off.
    pub called_off: AtomicUsize,
}

impl Default for TestService {
    fn default() -> Self {
        TestService {
            gate: Arc::new(Semaphore::new(0)),
            requests: AtomicUsize::new(0),
            bursts: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            called_off: AtomicUsize::new(0),
        }
    }
}

impl Service for TestService {
    type Session = ();

    fn open(&self, _: &Arc<Connection>) {
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    fn request(&self, (): &mut (), connection: &Arc<Connection>, frame: &Frame<'_>, output: &mut Output) {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let header = &frame.header;
        let (opaque, encoding) = (header.opaque, header.encoding);
        let echo = Command::response(0).body(frame.body.to_vec());
        let connection = connection.clone();
        match header.code {
            ECHO => output.reply(header, echo),
            GATED => {
                let (gate, promise) = (self.gate.clone(), connection.promise_answer());
                tokio::spawn(async move {
                    gate.acquire().await.unwrap().forget();
                    connection.respond(opaque, encoding, echo);
                    drop(promise);
                });
            }
            BIG => {
                let bytes = header.ext.need_i32("bytes").unwrap() as usize;
                output.reply(header, Command::response(0).body(vec![7; bytes]));
            }
            CALL_BACK => {
                let request = Command::request(ECHO).body(frame.body.to_vec());
                tokio::spawn(async move {
                    let response = match connection.call(request, SOON).await {
                        Ok(answer) => Command::response(0).body(answer.body),
                        Err(error) => Command::response(1).remark(error.to_string()),
                    };
                    connection.respond(opaque, encoding, response);
                });
            }
            PANIC => panic!("as the test asked"),
            HELD => {
                tokio::spawn(async move {
                    connection.given_up(opaque).await;
                    connection.respond(opaque, encoding, echo);
                });
            }
            WHO => {
                let who = format!(
                    "{} {} {}",
                    connection.remote(),
                    connection.local(),
                    connection.is_from_this_host()
                );
                output.reply(header, Command::response(0).remark(who));
            }
            code => output.reply(header, Command::response(3).remark(format!("{code}?"))),
        }
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {
        self.bursts.fetch_add(1, Ordering::SeqCst);
    }

    fn call_off(&self, connection: &Arc<Connection>, opaque: i32) {
        assert!(connection.is_given_up(opaque));
        self.called_off.fetch_add(1, Ordering::SeqCst);
    }

    fn close(&self, (): (), _: &Arc<Connection>) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Keeps a handler, and so its thread, until the test releases it.
pub struct Block {
    blocked: Sender<()>,
    release: Mutex<Receiver<()>>,
}

impl Block {
    /// With what says that a handler is blocked, and what releases it.
    pub fn new() -> (Self, Receiver<()>, Sender<()>) {
        let ((blocked, is_blocked), (release, released)) = (channel(), channel());
        (Block { blocked, release: Mutex::new(released) }, is_blocked, release)
    }

    pub fn wait(&self) {
        self.blocked.send(()).unwrap();
        self.release.lock().recv_timeout(SOON).unwrap();
    }
}

/// The options of a server on a free port.
pub fn options() -> ServerOptions {
    ServerOptions::listen([SocketAddr::from(([127, 0, 0, 1], 0))])
}

pub async fn start(options: ServerOptions) -> (Server, Arc<TestService>) {
    let service = Arc::new(TestService::default());
    let server = Server::start(options, service.clone()).await.unwrap();
    (server, service)
}

/// A server that has come to a gated request of the peer, with opaque 1.
pub async fn start_gated(body: &str) -> (Server, Arc<TestService>, Peer) {
    let (server, service) = start(options()).await;
    let mut peer = Peer::connect(&server).await;
    peer.send(&request(GATED, 1, body)).await;
    until("it came", || service.requests.load(Ordering::SeqCst) == 1).await;
    (server, service, peer)
}

/// Waits until the condition holds, checking it whenever other tasks had a turn.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("it never came true that {what}"));
}

pub fn encoded(command: &Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    command.encode(Encoding::Json, &mut bytes);
    bytes
}

pub fn request(code: i32, opaque: i32, body: &str) -> Command {
    let mut request = Command::request(code).body(body.as_bytes().to_vec());
    request.opaque = opaque;
    request
}

/// The other end of a connection, byte by byte under the test's control.
pub struct Peer<IO = TcpStream> {
    pub io: IO,
}

impl Peer {
    pub async fn connect(server: &Server) -> Self {
        let io = TcpStream::connect(server.local_addrs()[0]).await.unwrap();
        io.set_nodelay(true).unwrap();
        Peer { io }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Peer<IO> {
    pub async fn send(&mut self, command: &Command) {
        self.send_bytes(&encoded(command)).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
        self.io.flush().await.unwrap();
    }

    /// Sends bytes so that each is likely to arrive alone.
    pub async fn drip(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send_bytes(&[*byte]).await;
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The next frame, whole.
    pub async fn receive(&mut self) -> Command {
        let read = async {
            let mut bytes = vec![0; 4];
            self.io.read_exact(&mut bytes).await.expect("the connection ended instead of bringing a frame");
            let length = frame::length(&bytes).unwrap().unwrap();
            bytes.resize(length, 0);
            self.io.read_exact(&mut bytes[4..]).await.expect("the connection ended within a frame");
            let frame = frame::decode(&bytes).unwrap();
            Command::from_frame(&frame.header, frame.body)
        };
        tokio::time::timeout(SOON, read).await.expect("no frame came")
    }

    pub async fn ask(&mut self, command: &Command) -> Command {
        self.send(command).await;
        self.receive().await
    }

    /// Waits for the other side to close, and returns what it sent before.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(SOON, self.io.read_to_end(&mut bytes)).await;
        // A reset is as good an end as any.
        let _ = read.expect("the connection stayed open");
        bytes
    }
}
