//! Codes 103, 104, 322 and 904.

use crate::support::{SOON, TestNamesrv, body, broker, registration};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::version;
use roxmq_remoting::Client;

const WITHOUT_SIGN: u32 = 0x7FFF_FFFF;

fn compressed(topics: &[&str]) -> Vec<u8> {
    body(topics).encode_compressed().unwrap()
}

#[tokio::test]
async fn every_form_of_registration_brings_its_topics() {
    let ns = TestNamesrv::start(&[]).await;
    let mut old = broker(request::REGISTER_BROKER, "old", 0).body(body(&["O1", "O2"]).topic_table.to_json());
    old.version = version::V3_0_11 - 1;
    let zipped = compressed(&["Z1", "Z2"]);
    let crc = crc32fast::hash(&zipped) & WITHOUT_SIGN;
    let zipped = broker(request::REGISTER_BROKER, "zipped", 0)
        .with("compressed", true)
        .with("bodyCrc32", crc)
        .body(zipped);
    let denied = broker(request::REGISTER_BROKER, "denied", 0)
        .with("compressed", false)
        .body(compressed(&["D1", "D2"]));
    for request in [registration("plain", 0, &["P1", "P2"]), old, zipped, denied] {
        let answer = ns.call(request).await;
        assert_eq!((answer.code, answer.body.len()), (0, 0), "{:?}", answer.remark);
    }
    let nothing = ns.call(broker(request::REGISTER_BROKER, "nothing", 0)).await;
    assert_eq!(nothing.code, 0);
    assert_eq!(ns.topics().await, r#"{"topicList":["D1","D2","O1","O2","P1","P2","Z1","Z2"]}"#);
}

#[tokio::test]
async fn slaves_are_told_their_master_and_brokers_the_order_of_topics() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    ns.order("T", "a:4").await;
    let answer = ns.call(registration("a", 1, &["T", "U"])).await;
    assert_eq!(answer.field("masterAddr"), Some("a:0"));
    assert_eq!(answer.field("haServerAddr"), Some("a:0-ha"));
    assert_eq!(&answer.body[..], br#"{"table":{"T":"a:4"}}"#);
    let answer = ns.call(registration("a", 0, &["T", "U"])).await;
    assert_eq!((answer.field("masterAddr"), answer.field("haServerAddr")), (None, None));
}

#[tokio::test]
async fn bad_registrations_are_refused_with_a_reason() {
    let ns = TestNamesrv::start(&[]).await;
    let register = || broker(request::REGISTER_BROKER, "a", 0);
    let cases = [
        (Command::request(103), "the request lacks the field brokerName"),
        (register().with("brokerId", "x"), "the field brokerId should be a 64-bit number but is 'x'"),
        (
            register().body("{"),
            "the body can't be read: the JSON is broken at byte 1: a value should start here",
        ),
        (
            register().body("{}").with("bodyCrc32", 7),
            "crc32 not match: the body has 598130499 where the field bodyCrc32 says 7",
        ),
        (register().with("bodyCrc32", 7), "crc32 not match: the body has 0 where the field bodyCrc32 says 7"),
        (register().with("compressed", true).body("no zlib"), "the body can't be read: "),
        (register().with("brokerAddr", " "), "register broker failed: brokerAddr is blank"),
        (
            registration("a", 0, &["only"]),
            "register broker failed: a (id 0) must register all its topics before a single one",
        ),
    ];
    for (request, expected) in cases {
        let (code, remark) = ns.refusal(request).await;
        assert_eq!(code, 1, "{expected}");
        assert!(remark.starts_with(expected), "{remark}");
    }
    assert_eq!(ns.topics().await, r#"{"topicList":[]}"#);
    assert_eq!(ns.refusal(Command::request(3)).await, (3, " request type 3 not supported".to_owned()));
}

#[tokio::test]
async fn brokers_leave_by_request_and_with_their_connection() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("stays", 0, &["S1", "S2"])).await;
    ns.call(registration("leaves", 0, &["L1", "L2"])).await;
    let broker_process = Client::new();
    for name in ["dies", "dies-too"] {
        broker_process.call(&ns.addr, registration(name, 0, &["D1", "D2"]), SOON).await.unwrap();
    }
    assert_eq!(ns.call(broker(request::UNREGISTER_BROKER, "leaves", 0)).await.code, 0);
    assert_eq!(ns.route("L1").await.code, 17);
    assert_eq!(ns.route("D1").await.code, 0);
    broker_process.close();
    ns.wait_for_route("D1", false).await;
    assert_eq!(ns.topics().await, r#"{"topicList":["S1","S2"]}"#);
}

#[tokio::test]
async fn silent_brokers_are_dropped_and_disconnected() {
    let ns = TestNamesrv::start(&[("scanNotActiveBrokerInterval", "10")]).await;
    let broker_process = Client::new();
    let connection = broker_process.connection(&ns.addr).await.unwrap();
    // The end of the connection may be faster than the answer.
    let quick = registration("quick", 0, &["T", "U"]).with("heartbeatTimeoutMillis", 50);
    drop(connection.call(quick, SOON).await);
    ns.wait_for_route("T", false).await;
    let closing = async {
        while !connection.is_closed() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, closing).await.expect("the connection is closed");
}

#[tokio::test]
async fn data_versions_are_compared() {
    let ns = TestNamesrv::start(&[]).await;
    let ask = |version: &str| broker(request::QUERY_DATA_VERSION, "a", 0).body(version.to_owned());
    let same = r#"{"counter":1,"stateVersion":0,"timestamp":0}"#;
    let answer = ns.call(ask(same)).await;
    assert_eq!((answer.code, answer.field("changed"), answer.body.len()), (0, Some("true"), 0));
    ns.call(registration("a", 0, &["T", "U"])).await;
    let answer = ns.call(ask(same)).await;
    assert_eq!((answer.field("changed"), &answer.body[..]), (Some("false"), same.as_bytes()));
    let answer = ns.call(ask(&same.replace("1", "2"))).await;
    assert_eq!((answer.field("changed"), &answer.body[..]), (Some("true"), same.as_bytes()));
    assert_eq!(ns.call(ask("")).await.field("changed"), Some("true"));
    assert_eq!(ns.refusal(ask("{")).await.0, 1);
    assert_eq!(ns.call(broker(request::BROKER_HEARTBEAT, "a", 0)).await.code, 0);
    assert_eq!(ns.call(broker(request::BROKER_HEARTBEAT, "unknown", 0)).await.code, 0);
}

#[tokio::test]
async fn a_registration_over_the_socket_can_say_that_it_is_full() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    ns.call(registration("a", 0, &["U"]).with(roxmq_namesrv::FULL_REGISTRATION, true)).await;
    assert_eq!(ns.topics().await, r#"{"topicList":["U"]}"#);
}
