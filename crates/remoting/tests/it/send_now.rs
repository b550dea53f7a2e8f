//! What is sent from other threads than that of the connection.

use crate::support::{Block, Peer, SOON, options, request, until};
use crate::tls::secure;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use roxmq_remoting::{Connection, Output, ReactorThreads, Server, ServerOptions, Service};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::io::{AsyncRead, AsyncWrite};

const ECHO: i32 = 1;
/// Answers when the test says so, and keeps its thread until then.
const BLOCK: i32 = 2;

/// Shows the test its connections.
struct Shown {
    opened: Sender<Arc<Connection>>,
    block: Block,
}

impl Service for Shown {
    type Session = ();

    fn open(&self, connection: &Arc<Connection>) {
        // A test that has seen enough listens no more.
        let _ = self.opened.send(connection.clone());
    }

    fn request(&self, (): &mut (), _: &Arc<Connection>, frame: &Frame<'_>, output: &mut Output) {
        if frame.header.code == BLOCK {
            self.block.wait();
        }
        output.reply(&frame.header, Command::response(0));
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, (): (), _: &Arc<Connection>) {}
}

/// A server on one thread.
struct Fixture {
    server: Server,
    opened: Receiver<Arc<Connection>>,
    blocked: Receiver<()>,
    release: Sender<()>,
    _thread: ReactorThreads,
}

async fn start() -> Fixture {
    let threads = ReactorThreads::start(NonZeroUsize::MIN).unwrap();
    let ((opened, connections), (block, blocked, release)) = (channel(), Block::new());
    let service = Shown { opened, block };
    let options = ServerOptions { reactors: Some(threads.reactors()), ..options() };
    let server = Server::start(options, Arc::new(service)).await.unwrap();
    Fixture { server, opened: connections, blocked, release, _thread: threads }
}

impl Fixture {
    /// A peer whose connection is asleep when the thread has something else to do.
    async fn connect(&self) -> (Peer, Arc<Connection>) {
        let mut peer = Peer::connect(&self.server).await;
        peer.ask(&request(ECHO, 0, "")).await;
        (peer, self.opened.recv_timeout(SOON).unwrap())
    }
}

/// A frame with this number.
fn numbered(number: i32, bytes: usize) -> Output {
    let mut output = Output::default();
    output.push(&request(ECHO, number, &"x".repeat(bytes)), Encoding::Json);
    output
}

#[tokio::test]
async fn it_leaves_while_the_thread_of_the_connection_is_busy_and_never_passes_what_came_before() {
    let fixture = start().await;
    let ((mut busy, _), (mut other, connection)) = (fixture.connect().await, fixture.connect().await);
    busy.send(&request(BLOCK, 1, "")).await;
    fixture.blocked.recv_timeout(SOON).unwrap();
    for number in 1..=3 {
        connection.send_now(numbered(number, 10));
        assert_eq!(other.receive().await.opaque, number);
    }
    connection.send(numbered(4, 10));
    connection.send_now(numbered(5, 10));
    assert!(connection.unsent_bytes() > 0);
    fixture.release.send(()).unwrap();
    for number in 4..=5 {
        assert_eq!(other.receive().await.opaque, number);
    }
    assert_eq!(busy.receive().await.opaque, 1);
}

/// More is sent, from several threads, than the socket takes, while the connection's own thread answers.
async fn send_much<IO: AsyncRead + AsyncWrite + Unpin>(mut peer: Peer<IO>, connection: Arc<Connection>) {
    const SENDERS: i32 = 3;
    const EACH: i32 = 300;
    let mut next: Vec<i32> = (0..SENDERS).map(|sender| sender * EACH).collect();
    let senders = next.clone().into_iter().map(|first| {
        let connection = connection.clone();
        thread::spawn(move || {
            for number in first..first + EACH {
                connection.send_now(numbered(number, number as usize * 37 % 60_000));
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    let mut answers = 0;
    for count in 0..SENDERS * EACH {
        if count % 10 == 0 {
            peer.send(&request(ECHO, -1, "")).await;
        }
        let frame = loop {
            let frame = peer.receive().await;
            if frame.opaque >= 0 {
                break frame;
            }
            answers += 1;
        };
        let expected = &mut next[(frame.opaque / EACH) as usize];
        assert_eq!((frame.opaque, frame.body.len()), (*expected, *expected as usize * 37 % 60_000));
        *expected += 1;
    }
    while answers < SENDERS * EACH / 10 {
        assert_eq!(peer.receive().await.opaque, -1);
        answers += 1;
    }
    until("nothing waits any more", || connection.unsent_bytes() == 0).await;
    for sender in senders {
        sender.join().unwrap();
    }
}

#[tokio::test]
async fn frames_of_many_threads_stay_whole_and_in_order() {
    let fixture = start().await;
    let (peer, connection) = fixture.connect().await;
    send_much(peer, connection).await;
    let mut encrypted = secure(Peer::connect(&fixture.server).await).await.unwrap();
    encrypted.ask(&request(ECHO, 0, "")).await;
    send_much(encrypted, fixture.opened.recv_timeout(SOON).unwrap()).await;
}

#[tokio::test]
async fn the_socket_closes_while_others_still_know_the_connection() {
    let fixture = start().await;
    let (mut peer, connection) = fixture.connect().await;
    connection.send_now(numbered(1, 10));
    connection.close();
    connection.send_now(numbered(2, 10));
    assert_eq!(peer.receive().await.opaque, 1);
    assert!(peer.rest().await.is_empty());

    // The peer is gone, and nobody has noticed yet.
    let (peer, connection) = fixture.connect().await;
    drop(peer);
    connection.send_now(numbered(1, 100_000));
    until("it is closed", || connection.is_closed()).await;
    connection.send_now(numbered(2, 10));
    assert_eq!(connection.unsent_bytes(), 0);
}
