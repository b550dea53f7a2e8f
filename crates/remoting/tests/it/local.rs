//! Connections without a socket.

use crate::support::{BIG, CALL_BACK, ECHO, GATED, HELD, PANIC, SOON, TestService, WHO, request, until};
use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use roxmq_remoting::{CallError, LocalConnection, LocalEnds};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn ends() -> LocalEnds {
    LocalEnds {
        remote: SocketAddr::from(([127, 0, 0, 1], 4711)),
        local: SocketAddr::from(([127, 0, 0, 1], 8081)),
    }
}

fn open(service: &Arc<TestService>) -> Arc<LocalConnection<TestService>> {
    LocalConnection::open(Arc::clone(service), ends(), |_| ())
}

#[tokio::test]
async fn answers_come_at_once_or_later() {
    let service = Arc::new(TestService::default());
    let connection = open(&service);
    let answer = connection.call(request(ECHO, 0, "hi"), Duration::ZERO).await.unwrap();
    assert_eq!(&answer.body[..], b"hi");
    let big = connection.call(request(BIG, 0, "").with("bytes", 100_000), SOON).await.unwrap();
    assert_eq!(big.body.len(), 100_000);
    let late = connection.call(request(GATED, 0, "late"), SOON);
    service.gate.add_permits(1);
    assert_eq!(&late.await.unwrap().body[..], b"late");
    let timeout = Duration::from_millis(1);
    assert_eq!(connection.call(request(GATED, 0, ""), timeout).await, Err(CallError::Timeout(timeout)));
    connection.oneway(request(ECHO, 0, "")).unwrap();
    assert_eq!(service.requests.load(Ordering::SeqCst), 5);
    assert_eq!(service.bursts.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn the_server_sees_for_whom_it_calls_and_gives_it_no_rights() {
    let connection = open(&Arc::default());
    let who = connection.call(request(WHO, 0, ""), SOON).await.unwrap();
    assert_eq!(who.remark.as_deref(), Some("127.0.0.1:4711 127.0.0.1:8081 false"));
}

#[tokio::test]
async fn the_server_calls_back() {
    let asked: Arc<Mutex<Vec<Command>>> = Arc::default();
    let take = {
        let asked = Arc::clone(&asked);
        move |request| asked.lock().push(request)
    };
    let connection = LocalConnection::open(Arc::new(TestService::default()), ends(), take);
    let answering = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move {
            until("the server asks", || !asked.lock().is_empty()).await;
            let request = asked.lock().pop().unwrap();
            let answer = Command::response(0).body(request.body);
            connection.answer(request.opaque, answer);
        }
    });
    let answer = connection.call(request(CALL_BACK, 0, "there and back"), SOON).await.unwrap();
    assert_eq!(&answer.body[..], b"there and back");
    answering.await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_given_up_is_answered() {
    let service = Arc::new(TestService::default());
    let connection = open(&service);
    // One more that nobody gives up.
    let waits = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.call_until(request(HELD, 0, "b").into(), SOON, std::future::pending()).await }
    });
    until("it waits", || service.requests.load(Ordering::SeqCst) == 1).await;
    let answer = connection.call_until(request(HELD, 0, "a").into(), SOON, async {}).await.unwrap();
    assert_eq!(&answer.body[..], b"a");
    assert_eq!(service.called_off.load(Ordering::SeqCst), 1);
    // What is answered at once isn't called off.
    let answer = connection.call_until(request(ECHO, 0, "c").into(), SOON, async {}).await.unwrap();
    assert_eq!(&answer.body[..], b"c");
    assert_eq!(service.called_off.load(Ordering::SeqCst), 1);
    assert!(!waits.is_finished());
    waits.abort();
}

#[tokio::test]
async fn it_ends_when_it_is_dropped_and_when_a_handler_panics() {
    let service = Arc::new(TestService::default());
    let connection = open(&service);
    assert_eq!(service.open.load(Ordering::SeqCst), 1);
    assert_eq!(connection.call(request(PANIC, 0, ""), SOON).await, Err(CallError::Closed));
    assert!(connection.is_closed());
    assert_eq!(connection.call(request(ECHO, 0, ""), SOON).await, Err(CallError::Closed));
    drop(connection);
    assert_eq!(service.open.load(Ordering::SeqCst), 0);
}
