//! A server that is reached over IPv6 only.

use crate::client::{Peer, number, pull, send};
use crate::process::run;
use crate::server::Server;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::record::Records;
use serde_json::Value;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use tempfile::TempDir;

const LOCALHOST: &str = "::1";

/// On hosts with IPv6 only, servers did not start, or gave out addresses without brackets and ids that nobody could read.
#[test]
fn everything_works_over_ipv6() {
    if TcpListener::bind((LOCALHOST, 0)).is_err() {
        eprintln!("not tested: this machine has no IPv6");
        return;
    }
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &["bindAddress=::1", "brokerIP1=::1"]);
    let mut broker = Peer::connect_to(LOCALHOST, server.ports.broker).unwrap();
    let sent = broker.call(send("T", 0, "", "body"));
    assert_eq!(sent.code, 0, "{sent:?}");

    let address = format!("\"[::1]:{}\"", server.ports.broker);
    let mut names = Peer::connect_to(LOCALHOST, server.ports.namesrv).unwrap();
    let route = Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", "T");
    for request in [route, Command::request(request::GET_BROKER_CLUSTER_INFO)] {
        let answer = names.call_until_found(request);
        let text = String::from_utf8_lossy(&answer.body);
        assert!(text.contains(&address), "{address} is not in: {text}");
    }

    let id: OffsetMessageId = sent.field("msgId").expect("an id").parse().unwrap();
    assert_eq!(id.store_host, SocketAddr::from((Ipv6Addr::LOCALHOST, server.ports.broker)));
    let view = broker.call(Command::request(request::VIEW_MESSAGE_BY_ID).with("offset", id.phy_offset));
    let pulled = broker.call(pull("T", 0, 0, 32));
    assert_eq!(number(&pulled, "nextBeginOffset"), 1);
    for answer in [view, pulled] {
        let record = Records::new(&answer.body).next().expect("a message").unwrap();
        assert_eq!((record.body, record.store_host), (&b"body"[..], id.store_host));
        assert_eq!(record.born_host.ip(), Ipv6Addr::LOCALHOST);
    }
    let earliest =
        Command::request(request::GET_EARLIEST_MSG_STORETIME).with("topic", "T").with("queueId", 0);
    assert!(broker.number(earliest, "timestamp") > 0);

    let grpc = format!("[::1]:{}", server.ports.grpc);
    let bench = ["bench", "produce", "--grpc", "--addr", &grpc, "--topic", "T", "--seconds", "1", "--json"];
    let ended = run(&bench);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(report["messages"].as_u64() > Some(0) && report["errors"] == 0, "{report:#}");
    assert!(server.terminate().status.success());
}
