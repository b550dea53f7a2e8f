//! Connections that live on threads of their own.

use crate::support::{Block, ECHO, GATED, PANIC, Peer, SOON, TestService, options, request, start, until};
use crate::tls::secure;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output, ReactorThreads, Server, ServerOptions, Service};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use tokio::net::TcpStream;

fn threads(count: usize) -> ReactorThreads {
    ReactorThreads::start(NonZeroUsize::new(count).unwrap()).unwrap()
}

fn on(threads: &ReactorThreads) -> ServerOptions {
    ServerOptions { reactors: Some(threads.reactors()), ..options() }
}

/// Answers with the name of the thread that serves.
const WHERE: i32 = 1;
/// As `WHERE`, from a task that it spawns.
const WHERE_LATER: i32 = 2;
/// Answers when the test says so, and keeps its thread until then.
const BLOCK: i32 = 3;

struct Threads(Block);

fn thread_name() -> Command {
    Command::response(0).remark(thread::current().name().unwrap_or_default())
}

impl Service for Threads {
    type Session = ();

    fn open(&self, _: &Arc<Connection>) {}

    fn request(&self, (): &mut (), connection: &Arc<Connection>, frame: &Frame<'_>, output: &mut Output) {
        let (opaque, encoding) = (frame.header.opaque, frame.header.encoding);
        match frame.header.code {
            WHERE_LATER => {
                let connection = connection.clone();
                tokio::spawn(async move { connection.respond(opaque, encoding, thread_name()) });
            }
            BLOCK => {
                self.0.wait();
                output.reply(&frame.header, thread_name());
            }
            _ => output.reply(&frame.header, thread_name()),
        }
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, (): (), _: &Arc<Connection>) {}
}

/// A server, what it says when it is blocked, and what releases it.
async fn start_threads(options: ServerOptions) -> (Server, Receiver<()>, Sender<()>) {
    let (block, is_blocked, release) = Block::new();
    (Server::start(options, Arc::new(Threads(block))).await.unwrap(), is_blocked, release)
}

/// The thread that serves the peer, be it at once or by a task.
async fn place_of(peer: &mut Peer) -> String {
    let at_once = peer.ask(&request(WHERE, 1, "")).await.remark.unwrap();
    let later = peer.ask(&request(WHERE_LATER, 2, "")).await.remark.unwrap();
    assert_eq!(at_once, later);
    at_once
}

#[tokio::test]
async fn connections_are_spread_evenly_and_stay_where_they_are() {
    let threads = threads(3);
    let (server, ..) = start_threads(on(&threads)).await;
    let mut peers = Vec::new();
    for _ in 0..9 {
        let mut peer = Peer::connect(&server).await;
        let place = place_of(&mut peer).await;
        peers.push((peer, place));
    }
    let mut by_place = BTreeMap::<_, usize>::new();
    for (peer, place) in &mut peers {
        assert_eq!(place_of(peer).await, *place);
        *by_place.entry(place.clone()).or_default() += 1;
    }
    let expected = ["reactor-0", "reactor-1", "reactor-2"].map(|name| (name.to_owned(), 3));
    assert_eq!(by_place, expected.into());
}

/// A client opens a connection to a name server and one to a broker, the next client does the same, and so on. If all
/// that counted alike, those to the broker would meet on the same thread.
#[tokio::test]
async fn the_connections_of_each_port_are_spread() {
    let threads = threads(2);
    let ports = ServerOptions { listen: [options().listen, options().listen].concat(), ..on(&threads) };
    let (server, ..) = start_threads(ports).await;
    let mut peers = Vec::new();
    for _ in 0..2 {
        for addr in server.local_addrs() {
            let mut peer = Peer { io: TcpStream::connect(addr).await.unwrap() };
            let place = place_of(&mut peer).await;
            peers.push((peer, place));
        }
    }
    let places: Vec<_> = peers.iter().map(|(_, place)| place).collect();
    assert_ne!(places[0], places[2]);
    assert_ne!(places[1], places[3]);
}

#[tokio::test]
async fn two_servers_share_the_threads() {
    let threads = threads(2);
    let (first, _) = start(on(&threads)).await;
    let (second, _) = start(on(&threads)).await;
    let mut peers = Vec::new();
    for server in [&first, &second, &first, &second] {
        let mut peer = Peer::connect(server).await;
        peer.ask(&request(ECHO, 1, "")).await;
        peers.push(peer);
    }
    assert_eq!(threads.reactors().connections(), [2, 2]);
}

#[tokio::test]
async fn a_busy_thread_keeps_only_its_own_connections_waiting() {
    let threads = threads(2);
    let (server, is_blocked, release) = start_threads(on(&threads)).await;
    let (mut busy, mut other) = (Peer::connect(&server).await, Peer::connect(&server).await);
    let (place, elsewhere) = (place_of(&mut busy).await, place_of(&mut other).await);
    assert_ne!(place, elsewhere);
    busy.send(&request(BLOCK, 3, "")).await;
    is_blocked.recv_timeout(SOON).unwrap();
    for _ in 0..10 {
        assert_eq!(place_of(&mut other).await, elsewhere);
    }
    release.send(()).unwrap();
    assert_eq!(busy.receive().await.remark, Some(place));
}

/// Also those that end before they said anything, and those whose handler panics.
#[tokio::test]
async fn the_end_of_a_connection_makes_room() {
    let threads = threads(2);
    let reactors = threads.reactors();
    let (server, _) = start(on(&threads)).await;
    let mut peers = Vec::new();
    for open in 1..=4 {
        peers.push(Peer::connect(&server).await);
        until("it has a place", || reactors.connections().iter().sum::<usize>() == open).await;
    }
    peers[1].ask(&request(ECHO, 1, "")).await;
    drop(peers.remove(1));
    until("it has left its place", || reactors.connections() == [2, 1]).await;
    drop(peers.remove(2));
    until("the silent one, too", || reactors.connections() == [2, 0]).await;
    peers.push(Peer::connect(&server).await);
    peers.push(Peer::connect(&server).await);
    until("the next go where there is room", || reactors.connections() == [2, 2]).await;
    peers[0].send(&request(PANIC, 1, "")).await;
    until("a panic makes room", || reactors.connections() == [1, 2]).await;
}

#[tokio::test]
async fn every_kind_of_connection_has_its_place() {
    let threads = threads(1);
    let reactors = threads.reactors();
    let (server, _) = start(on(&threads)).await;
    let http1 = "GET /healthz HTTP/1.1\r\n\r\n";
    let http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let proxied = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET /healthz HTTP/1.1\r\n\r\n";
    for hello in [http1, http2, proxied] {
        let mut peer = Peer::connect(&server).await;
        peer.send_bytes(hello.as_bytes()).await;
        let mut answer = [0; 4];
        tokio::io::AsyncReadExt::read_exact(&mut peer.io, &mut answer).await.unwrap();
        assert_eq!(reactors.connections(), [1], "{hello}");
        drop(peer);
        until("it has left its place", || reactors.connections() == [0]).await;
    }
    let mut encrypted = secure(Peer::connect(&server).await).await.unwrap();
    assert_eq!(encrypted.ask(&request(ECHO, 1, "")).await.opaque, 1);
    assert_eq!(reactors.connections(), [1]);
    drop(encrypted);
    until("it has left its place", || reactors.connections() == [0]).await;
}

#[tokio::test]
async fn a_shutdown_answers_what_is_in_flight_and_the_threads_end() {
    let threads = threads(2);
    let reactors = threads.reactors();
    let (server, service) = start(on(&threads)).await;
    let (mut busy, mut silent) = (Peer::connect(&server).await, Peer::connect(&server).await);
    busy.send(&request(GATED, 1, "in flight")).await;
    silent.ask(&request(ECHO, 1, "")).await;
    until("it came", || service.requests.load(Ordering::SeqCst) == 2).await;
    let gate = service.gate.clone();
    let shutdown = tokio::spawn(server.shutdown(SOON));
    assert_eq!(silent.rest().await, b"");
    gate.add_permits(1);
    assert_eq!(&busy.receive().await.body[..], b"in flight");
    drop((busy, silent));
    shutdown.await.unwrap();
    assert_eq!(service.open.load(Ordering::SeqCst), 0);
    assert_eq!(reactors.connections(), [0, 0]);
    drop(threads);
    only_owner_of(service);
}

/// As when a start fails, or a connection outlives the grace.
#[tokio::test]
async fn threads_that_end_end_their_connections() {
    let threads = threads(2);
    let (server, service) = start(on(&threads)).await;
    let (mut busy, mut silent) = (Peer::connect(&server).await, Peer::connect(&server).await);
    busy.send(&request(GATED, 1, "")).await;
    until("it came", || service.requests.load(Ordering::SeqCst) == 1).await;
    drop(threads);
    assert_eq!(service.open.load(Ordering::SeqCst), 0);
    assert_eq!((busy.rest().await, silent.rest().await), (vec![], vec![]));
    // What comes from now on has no place to be served.
    assert_eq!(Peer::connect(&server).await.rest().await, b"");
    server.shutdown(SOON).await;
    only_owner_of(service);
}

/// No task of a connection is left that would hold the service.
fn only_owner_of(service: Arc<TestService>) {
    assert_eq!(Arc::strong_count(&service), 1);
}

#[tokio::test]
async fn without_reactors_everything_runs_on_the_servers_runtime() {
    let (server, ..) = start_threads(options()).await;
    let here = thread::current().name().unwrap().to_owned();
    for _ in 0..3 {
        assert_eq!(place_of(&mut Peer::connect(&server).await).await, here);
    }
}
