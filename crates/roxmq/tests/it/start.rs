//! What a server says when it starts, when it can't, and what it leaves when it stops.

use crate::client::{Peer, create_topic, properties, send};
use crate::process::{Process, run};
use crate::server::{ATTEMPTS, Server, free_ports};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The server does not start, and says why with every one of the words.
#[track_caller]
fn refuses(store: &Path, settings: &[&str], words: &[&str]) {
    match Server::try_start(store, settings, free_ports()) {
        Ok(server) => panic!("it started: {:#?}", server.kill()),
        Err(ended) => {
            assert_eq!(ended.stdout, "", "only a server that is ready says something");
            ended.assert_failed(words);
        }
    }
}

#[test]
fn a_store_in_use_stays_with_its_server() {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &[]);
    let path = store.path().display().to_string();
    refuses(store.path(), &[], &[&path, "in use by another process", "storePathRootDir"]);
    assert_eq!(server.connect().call(create_topic("T")).code, 0, "the first server is unharmed");
    assert!(server.terminate().status.success());
}

/// A producer that was started next to either found no route.
#[test]
fn name_servers_know_a_broker_that_is_ready_and_a_topic_that_was_made() {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &[]);
    let mut names = Peer::connect(server.ports.namesrv).unwrap();
    let clusters = names.call(Command::request(request::GET_BROKER_CLUSTER_INFO));
    let known = String::from_utf8_lossy(&clusters.body);
    assert!(known.contains(&format!("127.0.0.1:{}", server.ports.broker)), "{known}");
    let mut broker = server.connect();
    for number in 0..50 {
        let topic = format!("T{number}");
        assert_eq!(broker.call(create_topic(&topic)).code, 0);
        let route = names.call(Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", &topic));
        assert_eq!(route.code, 0, "{topic}: {route:?}");
    }
    assert!(server.terminate().status.success());
}

#[test]
fn a_store_that_can_not_be_written() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "not a directory").unwrap();
    refuses(&file, &[], &[&file.display().to_string()]);
    refuses(&file.join("below"), &[], &[&file.join("below").display().to_string(), "Not a directory"]);
    // A directory where the server wants to write a file.
    let store = dir.path().join("store");
    fs::create_dir_all(store.join("abort")).unwrap();
    refuses(&store, &[], &[&store.join("abort").display().to_string(), "directory"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a directory");
}

#[test]
fn files_of_another_size() {
    let store = TempDir::new().unwrap();
    let mut server = Server::start(store.path(), &[]);
    let mut peer = server.connect();
    let keyed = properties(&[("KEYS", "k")]);
    assert_eq!(peer.call(send("T", 0, &keyed, "body")).code, 0);
    assert!(server.terminate().status.success());

    let other = ["mappedFileSizeCommitLog=2097152"];
    let words = ["commitlog/00000000000000000000", "1048576", "mappedFileSizeCommitLog is 2097152"];
    refuses(store.path(), &other, &words);
    let words = ["consumequeue/", "20000", "mappedFileSizeConsumeQueue is 40000"];
    refuses(store.path(), &["mappedFileSizeConsumeQueue=40000"], &words);
    refuses(store.path(), &["maxIndexNum=5000"], &["index/", "maxIndexNum=5000", "maxHashSlotNum=5000"]);

    server = Server::start(store.path(), &[]);
    assert_eq!(server.connect().call(send("T", 0, &keyed, "body")).field("queueOffset"), Some("1"));
    assert!(server.terminate().status.success());
}

/// The store once stayed open behind a port that was taken, and the next start took that for a crash.
#[test]
fn a_port_in_use_is_named() {
    let store = TempDir::new().unwrap();
    for taken in 0..4 {
        // Others may take one of the ports that were free; then that is the one that is named.
        let is_named = (0..ATTEMPTS).any(|_| {
            let ports = free_ports();
            let port = ports.all()[taken];
            let _holder = TcpListener::bind(("127.0.0.1", port));
            let Err(ended) = Server::try_start(store.path(), &[], ports) else { panic!("it started") };
            ended.assert_failed(&["cannot listen on 127.0.0.1:", "Address already in use"]);
            ended.stderr.contains(&format!("127.0.0.1:{port}:"))
        });
        assert!(is_named, "the port that was taken is never named");
    }
    assert!(!store.path().join("abort").exists(), "a server that did not start has not crashed");
}

#[test]
fn faults_of_the_configuration_come_all_at_once() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    let settings = ["flushDiskType=SOMETIMES", "maxMessageSize=0", "deleteWhen=25", "brokerPermission=x"];
    let words = [
        "the configuration is wrong",
        "flushDiskType should be ASYNC_FLUSH or SYNC_FLUSH but is 'SOMETIMES'",
        "maxMessageSize should be from 1 to",
        "deleteWhen should be hours",
        "brokerPermission should be",
    ];
    refuses(&store, &settings, &words);
    refuses(&store, &["brokerIP1=nowhere"], &["brokerIP1 is 'nowhere'"]);
    refuses(&store, &["bindAddress=here"], &["bindAddress is 'here'"]);
    refuses(&store, &["novalue"], &["'--set novalue' is not KEY=VALUE"]);
    assert!(!store.exists(), "nothing was made for a server that did not start");
}

#[test]
fn the_configuration_file() {
    let dir = TempDir::new().unwrap();
    let absent = dir.path().join("absent.conf").display().to_string();
    for command in ["server", "broker", "namesrv", "dev"] {
        let ended = run(&[command, "-c", &absent]);
        ended.assert_failed(&["cannot read", &absent, "No such file"]);
    }
    let file = dir.path().join("broker.conf");
    fs::write(&file, "# ours\nmaxMessageSize = none\n").unwrap();
    run(&["server", "-c", &file.display().to_string()]).assert_failed(&["maxMessageSize", "'none'"]);
}

#[test]
fn an_unknown_key_is_a_warning_with_a_hint() {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &["flushDiskTyp=SYNC_FLUSH", "clusterName=x"]);
    let ended = server.terminate();
    assert!(ended.status.success());
    let hint = "flushDiskTyp is no known key; did you mean flushDiskType?";
    assert!(ended.stderr.contains(hint), "{ended:#?}");
    assert!(ended.stderr.contains("clusterName has no effect"), "{ended:#?}");
}

#[test]
fn a_clean_stop_is_none_for_the_next_start_to_repair() {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &[]);
    assert!(store.path().join("abort").exists());
    assert_eq!(server.connect().call(send("T", 0, "", "body")).code, 0);
    let ended = server.terminate();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("this machine only"), "{ended:#?}");
    assert!(!store.path().join("abort").exists(), "{ended:#?}");

    let ended = Server::start(store.path(), &[]).kill();
    assert!(!ended.stdout.contains("recovered"), "{ended:#?}");
    assert!(store.path().join("abort").exists());
    let ended = Server::start(store.path(), &[]).terminate();
    assert!(ended.stdout.contains("after a crash"), "{ended:#?}");
}

/// A server once said that it was ready before it listened to signals, and a stop at that moment was a crash.
#[test]
fn a_stop_right_after_the_start() {
    let store = TempDir::new().unwrap();
    for _ in 0..5 {
        let ended = Server::start(store.path(), &[]).terminate();
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        assert!(!ended.stdout.contains("recovered"), "{ended:#?}");
    }
}

#[test]
fn every_port_answers_health_checks_and_metrics() {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &[]);
    for port in server.ports.all() {
        assert_eq!(get(port, "/healthz"), "HTTP/1.1 200 OK", "port {port}");
        assert_eq!(get(port, "/readyz"), "HTTP/1.1 200 OK", "port {port}");
        assert_eq!(get(port, "/metrics"), "HTTP/1.1 200 OK", "port {port}");
        assert_eq!(get(port, "/elsewhere"), "HTTP/1.1 404 Not Found", "port {port}");
    }
    assert!(server.terminate().status.success());
}

#[test]
fn metrics_can_have_a_port_of_their_own() {
    let store = TempDir::new().unwrap();
    let port = free_ports().broker;
    let server = Server::start(store.path(), &[&format!("metricsPromExporterPort={port}")]);
    assert_eq!(get(port, "/metrics"), "HTTP/1.1 200 OK");
    assert!(server.terminate().status.success());
}

/// The status line of the answer.
fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn dev_serves_on_one_port_and_leaves_nothing() {
    let temporary = TempDir::new().unwrap();
    let process = Process::spawn_in(temporary.path(), &["dev"]);
    let (process, ready) = process.wait_for_line("ready").unwrap();
    let port = dev_port(&ready);
    let mut peer = Peer::connect(port).unwrap();
    assert_eq!(peer.call(send("T", 0, "", "body")).code, 0);
    assert_eq!(get(port, "/readyz"), "HTTP/1.1 200 OK");
    assert_eq!(entries(temporary.path()).len(), 1, "its store");
    let ended = process.terminate();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(entries(temporary.path()), [] as [PathBuf; 0], "{ended:#?}");
}

/// `ready HOST:PORT (N ms)`
pub fn dev_port(ready: &str) -> u16 {
    let address = ready.split_whitespace().nth(1).unwrap();
    address.parse::<std::net::SocketAddr>().unwrap().port()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}
