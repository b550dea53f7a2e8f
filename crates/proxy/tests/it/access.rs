//! What users may do who have some rights, and what changes of their rights do.

use crate::client::{Peer, code, message, receipt};
use crate::cluster::until;
use crate::errors::requests::{bury, change, consumer, receive};
use crate::guarded::{Credentials, KEYS, ROOT, allow, create_user, set_status};
use crate::node::Node;
use crate::receiving::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

const READER: Credentials = ("reader", "reader-secret");
const WRITER: Credentials = ("writer", "writer-secret");

async fn start(keys: &[(&str, &str)]) -> Node {
    let keys = [KEYS, keys].concat();
    let node = Node::start_with(&keys, ProxyConfig { invisible_ms_min: 1, ..ProxyConfig::default() }).await;
    node.topic("T", "NORMAL").await;
    node.group(r#"{"groupName":"G","retryMaxTimes":16}"#).await;
    for user in [READER, WRITER] {
        node.operate(create_user(user)).await;
    }
    node.operate(allow(READER.0, &[("Topic:T", "Sub"), ("Group:G", "Sub")])).await;
    node.operate(allow(WRITER.0, &[("Topic:T", "Pub")])).await;
    node
}

async fn signing(node: &Node, id: &str, (user, password): Credentials) -> Peer {
    node.client(id).await.signing(user, password)
}

/// A consumer that may only read couldn't return a message that failed (apache/rocketmq#7909).
#[tokio::test]
async fn who_may_read_returns_messages_and_cannot_send() {
    const SHORT: prost_types::Duration = prost_types::Duration { seconds: 0, nanos: 100_000_000 };
    let node = start(&[]).await;
    let mut writer = signing(&node, "w", WRITER).await;
    let mut reader = signing(&node, "r", READER).await;
    reader.telemetry(consumer(ClientType::SimpleConsumer, "T", "G")).await;
    begin(&mut reader, "T").await;
    for body in ["done", "later", "never"] {
        send(&mut writer, "T", body).await;
    }
    let (mut handled, mut again) = (Vec::new(), 0);
    while handled.len() < 3 {
        let (_, messages) = reader.receive(waiting("T")).await;
        for received in &messages {
            match (body(received), attempt(received)) {
                ("later", 1) => {
                    let shorter = ChangeInvisibleDurationRequest {
                        invisible_duration: Some(SHORT),
                        ..change("T", "G", &receipt(received))
                    };
                    let request = reader.request(shorter);
                    let changed = reader.stub.change_invisible_duration(request).await.unwrap().into_inner();
                    assert_eq!(code(changed.status.as_ref()), Code::Ok, "{changed:?}");
                    again += 1;
                    continue;
                }
                ("never", _) => {
                    let request = reader.request(bury("T", "G", &receipt(received)));
                    let stub = &mut reader.stub;
                    let buried =
                        stub.forward_message_to_dead_letter_queue(request).await.unwrap().into_inner();
                    assert_eq!(code(buried.status.as_ref()), Code::Ok, "{buried:?}");
                }
                _ => acknowledge(&mut reader, "T", std::slice::from_ref(received)).await,
            }
            handled.push(body(received).to_owned());
        }
    }
    handled.sort_unstable();
    assert_eq!((handled, again), (["done", "later", "never"].map(str::to_owned).to_vec(), 1));
    let buried = Command::request(request::GET_MAX_OFFSET).with("topic", "%DLQ%G").with("queueId", 0);
    until("there is a dead letter", || async { node.ask(buried.clone()).await.field("offset") == Some("1") })
        .await;

    // To the topic itself, and to where others' failed messages are.
    for topic in ["T", "%DLQ%G", "%RETRY%H"] {
        let sent = reader.send(vec![message(topic, "01AB", "x")]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Unauthorized, "{topic}: {sent:?}");
    }
    let received = writer.receive(receive("T", "G")).await;
    assert_eq!(received.0.code(), Code::Unauthorized, "{received:?}");
    node.stop().await;
}

#[tokio::test]
async fn changes_of_users_count_at_once() {
    let node = start(&[]).await;
    let mut reader = signing(&node, "r", READER).await;
    let (mut stream, say) = reader.conversation(consumer(ClientType::SimpleConsumer, "T", "G")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    let mut writer = signing(&node, "w", WRITER).await;
    let receive_as_writer = async |writer: &mut Peer| writer.receive(receive("T", "G")).await.0.code();
    assert_eq!(receive_as_writer(&mut writer).await, Code::Unauthorized);
    node.operate(allow(WRITER.0, &[("Topic:T", "Pub,Sub"), ("Group:G", "Sub")])).await;
    assert_eq!(receive_as_writer(&mut writer).await, Code::MessageNotFound);

    node.operate(set_status(READER.0, "disable")).await;
    assert_eq!(reader.receive(receive("T", "G")).await.0.code(), Code::Unauthorized);
    // A stream that is open ends with what is said on it next.
    say.say_nothing();
    let said = stream.message().await.unwrap().unwrap();
    assert_eq!((code(said.status.as_ref()), said.command), (Code::Unauthorized, None));
    assert!(stream.message().await.unwrap().is_none());
    node.operate(set_status(READER.0, "enable")).await;
    assert_eq!(reader.receive(receive("T", "G")).await.0.code(), Code::MessageNotFound);
    node.stop().await;
}

#[tokio::test]
async fn a_super_user_may_do_everything() {
    let node = start(&[]).await;
    let mut root = signing(&node, "c", ROOT).await;
    begin(&mut root, "T").await;
    send(&mut root, "T", "x").await;
    assert_eq!(bodies(&take(&mut root, "T", 1).await), ["x"]);
    // What is wrong with a call is said as ever.
    assert_eq!(code(root.route("").await.status.as_ref()), Code::IllegalTopic);
    node.stop().await;
}

#[tokio::test]
async fn messages_on_the_whitelists_are_anybodys() {
    let route = "105,apache.rocketmq.v2.QueryRouteRequest";
    let node = start(&[("authenticationWhitelist", route), ("authorizationWhitelist", route)]).await;
    let mut client = node.client("c").await;
    assert_eq!(code(client.route("T").await.status.as_ref()), Code::Ok);
    assert_eq!(client.receive(receive("T", "G")).await.0.code(), Code::Unauthorized);
    // The same port's other protocol has a list of its own.
    let asked = Command::request(request::GET_MAX_OFFSET).with("topic", "T").with("queueId", 0);
    assert_eq!(node.ask_unsigned(asked).await.code, response::NO_PERMISSION);
    node.stop().await;
}
