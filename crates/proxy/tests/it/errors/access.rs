//! Who isn't let in, or may not: every call says so in the same way, and nothing is done for it.

use super::metadata::every_call;
use super::requests::*;
use super::{Call, check};
use crate::client::Peer;
use crate::guarded::{Credentials, KEYS, allow, create_user, set_status};
use crate::node::Node;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

const READER: Credentials = ("reader", "reader-secret");
const STRANGER: Credentials = ("stranger", "stranger-secret");

/// With a user who may consume T with G, and one who may do nothing.
async fn start() -> Node {
    let node = Node::start_with(KEYS, ProxyConfig::default()).await;
    node.topic("T", "NORMAL").await;
    node.group(r#"{"groupName":"G"}"#).await;
    for user in [READER, STRANGER] {
        node.operate(create_user(user)).await;
    }
    node.operate(allow(READER.0, &[("Topic:T", "Sub"), ("Group:G", "Sub")])).await;
    node
}

/// All calls are refused, with these words.
async fn all_refused(client: &mut Peer, texts: &[&str]) {
    for (call, request) in every_call() {
        check(client, call, request, Code::Unauthorized, texts).await;
    }
    // The status is all that such streams have.
    let mut stream = client.telemetry(producer("T")).await;
    let said = stream.message().await.unwrap().unwrap();
    assert_eq!((said.status.unwrap().code(), said.command), (Code::Unauthorized, None));
    assert!(stream.message().await.unwrap().is_none());
    let request = client.request(receive("T", "G"));
    let mut frames = client.stub.receive_message(request).await.unwrap().into_inner();
    assert!(frames.message().await.unwrap().is_some());
    assert!(frames.message().await.unwrap().is_none());
}

/// With access control on, an account that there isn't worked over the port of gRPC (apache/rocketmq#6768).
#[tokio::test]
async fn of_nobody_and_of_others() {
    let node = start().await;
    let mut client = node.client("c").await;
    all_refused(&mut client, &["username cannot be null"]).await;
    for (credentials, text) in [
        (("nobody", "secret"), "User:nobody is not found."),
        (("reader", "Reader-secret"), "check signature failed."),
        (("", "secret"), "username cannot be null."),
    ] {
        let mut client = client.clone().signing(credentials.0, credentials.1);
        all_refused(&mut client, &[text]).await;
    }
    node.operate(set_status(READER.0, "disable")).await;
    all_refused(&mut client.clone().signing(READER.0, READER.1), &["User:reader is disabled."]).await;
    // Before anything else is looked at, if only for its metadata.
    let mut unnamed = node.client("").await;
    all_refused(&mut unnamed, &["username cannot be null"]).await;
    assert_eq!(node.proxy().counts().clients, 0);
    let mut stranger = client.signing(STRANGER.0, STRANGER.1);
    all_refused(&mut stranger, &["User:stranger has no permission to access "]).await;
    node.stop().await;
}

#[tokio::test]
async fn of_what_is_not_theirs() {
    let node = start().await;
    let mut reader = node.client("c").await.signing(READER.0, READER.1);
    let denied: Vec<(&str, Call)> = vec![
        ("SendMessage", send("T").into()),
        ("RecallMessage", recall("T", "").into()),
        ("EndTransaction", end("T", "").into()),
        ("Telemetry", producer("T").into()),
        ("QueryRoute", route("U").into()),
        ("QueryAssignment", assignment("U", "G").into()),
        ("QueryAssignment", assignment("T", "H").into()),
        ("ReceiveMessage", receive("U", "G").into()),
        ("ReceiveMessage", receive("T", "H").into()),
        ("AckMessage", ack("U", "G", &[]).into()),
        ("ChangeInvisibleDuration", change("T", "H", "").into()),
        ("ForwardMessageToDeadLetterQueue", bury("T", "H", "").into()),
        ("Heartbeat", heartbeat("H").into()),
        ("NotifyClientTermination", terminate("H").into()),
        ("UpdateOffset", update_offset("T", "H").into()),
        ("GetOffset", get_offset("U", "G").into()),
        ("QueryOffset", query_offset("U").into()),
        ("PullMessage", pull("T", "H").into()),
        ("SyncLiteSubscription", subscribe_lite("T", "H", &[]).into()),
        ("Telemetry", consumer(ClientType::PushConsumer, "U", "G").into()),
        ("Telemetry", consumer(ClientType::PushConsumer, "T", "H").into()),
        // Nobody has rights on what has no name.
        ("QueryRoute", route("").into()),
        ("ReceiveMessage", ReceiveMessageRequest { message_queue: None, ..receive("T", "G") }.into()),
        ("SendMessage", SendMessageRequest { messages: vec![] }.into()),
    ];
    for (call, request) in denied {
        check(&mut reader, call, request, Code::Unauthorized, &[]).await;
    }
    check(&mut reader, "QueryRoute", route("T"), Code::Ok, &[]).await;
    check(&mut reader, "QueryAssignment", assignment("T", "G"), Code::Ok, &[]).await;
    check(&mut reader, "ReceiveMessage", receive("T", "G"), Code::MessageNotFound, &[]).await;
    check(&mut reader, "UpdateOffset", update_offset("T", "G"), Code::Ok, &[]).await;
    check(&mut reader, "GetOffset", get_offset("T", "G"), Code::Ok, &[]).await;
    check(&mut reader, "QueryOffset", query_offset("T"), Code::Ok, &[]).await;
    let settings = consumer(ClientType::SimpleConsumer, "T", "G");
    check(&mut reader, "Telemetry", settings, Code::Ok, &[]).await;
    check(&mut reader, "Heartbeat", heartbeat("G"), Code::Ok, &[]).await;
    check(&mut reader, "NotifyClientTermination", terminate("G"), Code::Ok, &[]).await;
    node.stop().await;
}
