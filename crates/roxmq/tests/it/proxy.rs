//! `roxmq proxy` before brokers that are processes of their own, one of which is killed.

use crate::client::{Peer, create_topic, pull, send};
use crate::process::{PATIENCE, Process, run};
use crate::server::{flags, free_ports};
use roxmq_protocol::code::response;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

fn namesrv(home: &Path, port: u16) -> Process {
    let set = |pair: String| format!("--set={pair}");
    let arguments = [
        "namesrv".to_owned(),
        set("bindAddress=127.0.0.1".to_owned()),
        set(format!("listenPort={port}")),
        set(format!("kvConfigPath={}", home.join("kv.json").display())),
    ];
    Process::spawn(&arguments).wait_for_line("is ready").unwrap().0
}

fn broker(name: &str, store: &Path, port: u16, namesrv: u16) -> Process {
    let own = [
        "broker".to_owned(),
        format!("-n=127.0.0.1:{namesrv}"),
        format!("--set=brokerName={name}"),
        format!("--set=listenPort={port}"),
        format!("--set=storePathRootDir={}", store.display()),
    ];
    let arguments: Vec<String> = own.into_iter().chain(flags(&[])).collect();
    Process::spawn(&arguments).wait_for_line("is ready").unwrap().0
}

/// What an HTTP client is answered.
fn http_get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let before = Instant::now();
    while !holds() {
        assert!(before.elapsed() < PATIENCE, "in vain waited until {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_broker_is_killed_and_comes_back() {
    let dir = TempDir::new().unwrap();
    let (first, second) = (free_ports(), free_ports());
    // The proxy is there before everybody else.
    let arguments = [
        "proxy".to_owned(),
        format!("-n=127.0.0.1:{}", first.namesrv),
        "--set=bindAddress=127.0.0.1".to_owned(),
        format!("--set=grpcServerPort={}", first.grpc),
        format!("--set=remotingListenPort={}", second.grpc),
        "--set=topicRouteServiceCacheRefreshSeconds=1".to_owned(),
    ];
    let (proxy, _) = Process::spawn(&arguments).wait_for_line("is ready").unwrap();
    let not_ready = http_get(second.grpc, "/readyz");
    assert!(not_ready.contains("503") && not_ready.contains("no name server answers"), "{not_ready}");

    let _namesrv = namesrv(dir.path(), first.namesrv);
    let stores = [dir.path().join("a"), dir.path().join("b")];
    let _a = broker("broker-a", &stores[0], first.broker, first.namesrv);
    let b = broker("broker-b", &stores[1], second.broker, first.namesrv);
    for port in [first.broker, second.broker] {
        assert_eq!(Peer::connect(port).unwrap().call(create_topic("T")).code, 0);
    }
    until("the proxy is ready", || http_get(first.grpc, "/readyz").contains("200 OK"));

    let mut peer = Peer::connect(second.grpc).unwrap();
    for (name, body) in [("broker-a", "1"), ("broker-b", "2")] {
        until("the send is taken", || peer.call(send("T", 0, "", body).with("n", name)).code == 0);
    }
    b.kill();
    until("the broker is gone", || {
        peer.call(send("T", 0, "", "3").with("n", "broker-b")).code == response::SERVICE_NOT_AVAILABLE
    });
    assert_eq!(peer.call(send("T", 0, "", "4").with("n", "broker-a")).code, 0);
    let _b = broker("broker-b", &stores[1], second.broker, first.namesrv);
    until("the broker is back", || peer.call(pull("T", 0, 0, 32).with("bname", "broker-b")).code == 0);
    let found = peer.call(pull("T", 0, 0, 32).with("bname", "broker-b"));
    assert_eq!(found.field("maxOffset"), Some("1"), "what was acknowledged is there: {found:?}");
    assert!(proxy.terminate().status.success());
}

#[test]
fn what_is_wrong_is_said() {
    run(&["proxy"]).assert_failed(&["-n HOST:PORT", "NAMESRV_ADDR"]);
    run(&["proxy", "-n=h:1", "--set=grpcServerport=1"]).assert_failed(&["grpcServerport", "grpcServerPort"]);
    run(&["proxy", "-n=h:1", "--set=grpcServerPort=x"]).assert_failed(&["grpcServerPort"]);
    run(&["proxy", "-n=h:1", "-c=/nowhere/rmq-proxy.json"]).assert_failed(&["/nowhere/rmq-proxy.json"]);
}
