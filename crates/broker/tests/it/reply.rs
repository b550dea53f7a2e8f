//! Replies to requests: 324 and 325 in, 326 out.

use crate::node::Node;
use crate::requests::*;
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::Properties;

const REPLY_TOPIC: &str = "DefaultCluster_REPLY_TOPIC";

/// A producer that waits for replies.
async fn producer(node: &Node, client_id: &str) -> Wire {
    let mut wire = Wire::connect(node).await;
    let body = format!(r#"{{"clientID":"{client_id}","producerDataSet":[{{"groupName":"P"}}]}}"#);
    assert_code(&wire.call(Command::request(request::HEART_BEAT).body(body)).await, 0, &[]);
    wire
}

/// The reply to a client, as the one who handled its message sends it.
fn reply_to(client_id: &str, text: &str) -> Command {
    let properties = [("MSG_TYPE", "reply"), ("CORRELATION_ID", "c-1"), ("REPLY_TO_CLIENT", client_id)];
    Command { code: request::SEND_REPLY_MESSAGE_V2, ..send_to(REPLY_TOPIC, 0, &properties, text) }
}

#[tokio::test]
async fn a_reply_gets_to_the_client_that_waits_for_it() {
    let node = Node::start().await;
    let mut other = producer(&node, "other").await;
    let mut waiting = producer(&node, "waiting").await;
    let replier = node.connect().await;
    let replied = replier.start(reply_to("waiting", "here it is"));
    let push = waiting.pushed().await;
    assert_eq!((push.code, push.is_oneway()), (request::PUSH_REPLY_MESSAGE_TO_CLIENT, false));
    assert_eq!(&push.body[..], b"here it is");
    for (name, value) in [
        ("producerGroup", "PG"),
        ("topic", REPLY_TOPIC),
        ("defaultTopic", "TBW102"),
        ("defaultTopicQueueNums", "4"),
        ("queueId", "0"),
        ("sysFlag", "0"),
        ("bornTimestamp", "1700000000000"),
        ("flag", "7"),
        ("storeHost", "127.0.0.1:10911"),
    ] {
        assert_eq!(push.field(name), Some(value), "{name}");
    }
    assert!(push.field("bornHost").unwrap().starts_with("127.0.0.1:"));
    assert!(number(&push, "storeTimestamp") > 1_700_000_000_000);
    let properties = Properties::new(push.field("properties").unwrap().as_bytes());
    assert_eq!(properties.get("CORRELATION_ID"), Some("c-1"));
    assert_eq!(properties.get("PUSH_REPLY_TIME"), push.field("storeTimestamp"));
    waiting.respond(&push, Command::response(response::SUCCESS)).await;

    let answer = replied.await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!((answer.field("queueId"), answer.field("queueOffset")), (Some("0"), Some("0")));
    assert_eq!((answer.field("MSG_REGION"), answer.field("TRACE_ON")), (Some("DefaultRegion"), Some("true")));
    let kept = node.by_id(answer.field("msgId").unwrap()).await;
    assert_eq!((kept.text(), kept.property("CORRELATION_ID")), ("here it is", Some("c-1")));
    assert_eq!(kept.property("PUSH_REPLY_TIME"), None);
    assert!(!other.pushed_so_far().await.contains(&request::PUSH_REPLY_MESSAGE_TO_CLIENT));
    node.stop().await;
}

#[tokio::test]
async fn each_of_many_replies_gets_to_its_own_client() {
    let node = Node::start().await;
    let mut clients = Vec::new();
    for client in 0..4 {
        clients.push(producer(&node, &format!("c{client}")).await);
    }
    let replier = node.connect().await;
    let reply = |n: usize| replier.start(reply_to(&format!("c{}", n % 4), &n.to_string()));
    let replied: Vec<_> = (0..100).map(reply).collect();
    for (client, wire) in clients.iter_mut().enumerate() {
        for _ in 0..25 {
            let push = wire.pushed().await;
            let n: usize = std::str::from_utf8(&push.body).unwrap().parse().unwrap();
            assert_eq!(n % 4, client);
            wire.respond(&push, Command::response(response::SUCCESS)).await;
        }
    }
    for answer in replied {
        assert_code(&answer.await, response::SUCCESS, &[]);
    }
    assert_eq!(node.all(REPLY_TOPIC, 0).await.len(), 100);
    node.stop().await;
}

#[tokio::test]
async fn the_replier_is_told_why_a_reply_did_not_get_there() {
    let node = Node::start_with(&[("storeReplyMessageEnable", "false")]).await;
    let failed = response::SYSTEM_ERROR;
    let answer = node.call(reply_to("nobody", "x")).await;
    assert_code(&answer, failed, &["channel of <nobody> not found"]);
    assert_eq!(answer.field("MSG_REGION"), Some("DefaultRegion"));
    let lost = Command { code: request::SEND_REPLY_MESSAGE_V2, ..send(REPLY_TOPIC, "x") };
    assert_code(&node.call(lost).await, failed, &["properties[REPLY_TO_CLIENT] is null"]);

    let replier = node.connect().await;
    let mut refusing = producer(&node, "refusing").await;
    let replied = replier.start(reply_to("refusing", "x"));
    let push = refusing.pushed().await;
    refusing.respond(&push, Command::response(response::SYSTEM_ERROR).remark("not mine")).await;
    assert_code(&replied.await, failed, &["to refusing fail", "not mine"]);

    let mut leaving = producer(&node, "leaving").await;
    let replied = replier.start(reply_to("leaving", "x"));
    leaving.pushed().await;
    drop(leaving);
    assert_code(&replied.await, failed, &["to leaving fail", "closed"]);
    assert_code(&node.call(reply_to("leaving", "x")).await, failed, &["not found"]);
    assert!(node.all(REPLY_TOPIC, 0).await.is_empty(), "nothing is kept");
    node.stop().await;
}

#[tokio::test]
async fn a_reply_is_checked_as_a_send_is() {
    let node = Node::start().await;
    let _waiting = producer(&node, "waiting").await;
    let check = async |reply: Command, code: i32, words: &[&str]| {
        assert_code(&node.call(reply).await, code, words);
    };
    let good = || reply_to("waiting", "x");
    check(change(good(), "e", 1), response::INVALID_PARAMETER, &["queueId[1]"]).await;
    check(change(good(), "b", "bad topic"), response::INVALID_PARAMETER, &["bad topic"]).await;
    check(good().body(""), response::MESSAGE_ILLEGAL, &["empty"]).await;
    check(without(good(), "b"), response::SYSTEM_ERROR, &["topic"]).await;
    let long_names = Command { code: request::SEND_REPLY_MESSAGE, ..good() };
    check(long_names, response::SYSTEM_ERROR, &["topic"]).await;
    node.stop().await;

    let node = Node::start_with(&[("brokerPermission", "4")]).await;
    assert_code(&node.call(good()).await, response::NO_PERMISSION, &["brokerPermission is 4"]);
    node.stop().await;
}
