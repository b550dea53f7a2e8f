//! What is refused to other hosts. A PROXY header makes a connection look like one.

use crate::support::TestNamesrv;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame;
use roxmq_protocol::header::Encoding;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The code and the remark of the answer to somebody at 203.0.113.7.
async fn ask_from_afar(ns: &TestNamesrv, request: Command) -> (i32, String) {
    let mut stream = TcpStream::connect(&ns.addr).await.unwrap();
    let mut bytes = b"PROXY TCP4 203.0.113.7 127.0.0.1 5555 9876\r\n".to_vec();
    request.encode(Encoding::Json, &mut bytes);
    stream.write_all(&bytes).await.unwrap();
    let mut answer = vec![0; 4];
    stream.read_exact(&mut answer).await.unwrap();
    let length = frame::length(&answer).unwrap().unwrap();
    answer.resize(length, 0);
    stream.read_exact(&mut answer[4..]).await.unwrap();
    let answer = frame::decode(&answer).unwrap();
    (answer.header.code, answer.header.remark.map(|remark| remark.to_string()).unwrap_or_default())
}

/// Requests that change a name server, with a change that is allowed from here.
fn changes() -> Vec<Command> {
    vec![
        Command::request(request::UPDATE_NAMESRV_CONFIG).body("orderMessageEnable=true"),
        Command::request(request::WIPE_WRITE_PERM_OF_BROKER).with("brokerName", "a"),
        Command::request(request::ADD_WRITE_PERM_OF_BROKER).with("brokerName", "a"),
        Command::request(request::DELETE_TOPIC_IN_NAMESRV).with("topic", "T"),
        Command::request(request::DELETE_KV_CONFIG).with("namespace", "NS").with("key", "k"),
    ]
}

#[tokio::test]
async fn other_hosts_change_nothing_unless_they_may() {
    let ns = TestNamesrv::start(&[]).await;
    for request in changes() {
        let (code, remark) = ask_from_afar(&ns, request).await;
        assert_eq!(code, 16, "{remark}");
        assert!(remark.contains("from 203.0.113.7") && remark.contains("remoteAdminEnable=true"), "{remark}");
    }
    assert!(!ns.namesrv.config().order_message_enable);
    for request in changes() {
        assert_eq!(ns.call(request).await.code, 0, "from this host");
    }
    let open = TestNamesrv::start(&[("remoteAdminEnable", "true")]).await;
    for request in changes() {
        assert_eq!(ask_from_afar(&open, request).await, (0, String::new()));
    }
    let path = Command::request(request::UPDATE_NAMESRV_CONFIG).body("kvConfigPath=/tmp/x");
    assert_eq!(ask_from_afar(&open, path).await.0, 16, "a path is never changed over the network");
}

#[tokio::test]
async fn oneway_requests_are_done_and_not_answered() {
    let ns = TestNamesrv::start(&[]).await;
    let connection = ns.client.connection(&ns.addr).await.unwrap();
    let put =
        Command::request(request::PUT_KV_CONFIG).with("namespace", "NS").with("key", "k").with("value", "v");
    connection.oneway(put);
    connection.oneway(Command::request(request::PUT_KV_CONFIG));
    let get = Command::request(request::GET_KV_CONFIG).with("namespace", "NS").with("key", "k");
    let asking = async {
        while ns.call(get.clone()).await.code != 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::support::SOON, asking).await.expect("the value is put");
}
