//! What brokers refuse, and what they don't answer.

use super::requests::*;
use super::{Call, check, received};
use crate::client::Peer;
use crate::node::Node;
use roxmq_protocol::code::{request, response};
use roxmq_proxy::schema::*;

async fn start() -> (Node, Peer) {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    node.topic("D", "DELAY").await;
    let client = node.client("c").await;
    (node, client)
}

#[tokio::test]
async fn sends_not_as_safe_as_wanted() {
    let (node, mut client) = start().await;
    for (answer, code) in [
        (response::FLUSH_DISK_TIMEOUT, Code::MasterPersistenceTimeout),
        (response::FLUSH_SLAVE_TIMEOUT, Code::SlavePersistenceTimeout),
        (response::SLAVE_NOT_AVAILABLE, Code::HaNotAvailable),
    ] {
        node.script.answer(request::SEND_MESSAGE_V2, answer);
        let request = client.request(send("T"));
        let answer = client.stub.send_message(request).await.unwrap().into_inner();
        assert_eq!(answer.entries.len(), 1, "it is stored");
        check(&mut client, "a message", send("T"), code, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn refusals() {
    let (node, mut client) = start().await;
    // A good one, so that the refusal is the broker's.
    let message = received(&mut client).await;
    let calls = || -> Vec<(&'static str, i32, Call)> {
        vec![
            ("SendMessage", request::SEND_MESSAGE_V2, send("T").into()),
            ("ReceiveMessage", request::POP_MESSAGE, receive("T", "G").into()),
            ("ForwardToDLQ", request::CONSUMER_SEND_MSG_BACK, bury("T", "G", &message).into()),
            ("EndTransaction", request::END_TRANSACTION, end("T", "v1 broker-a 0 0 01AB").into()),
            ("PullMessage", request::PULL_MESSAGE, pull("T", "G").into()),
            ("GetOffset", request::QUERY_CONSUMER_OFFSET, get_offset("T", "G").into()),
            ("Telemetry", request::HEART_BEAT, consumer(ClientType::PushConsumer, "T", "G").into()),
        ]
    };
    for (answer, code) in [
        (response::SYSTEM_BUSY, Code::TooManyRequests),
        (response::FLOW_CONTROL, Code::TooManyRequests),
        (response::TOPIC_NOT_EXIST, Code::TopicNotFound),
        (response::SUBSCRIPTION_GROUP_NOT_EXIST, Code::ConsumerGroupNotFound),
        (response::REQUEST_CODE_NOT_SUPPORTED, Code::NotImplemented),
        (response::NO_PERMISSION, Code::InternalServerError),
        (response::SYSTEM_ERROR, Code::InternalServerError),
        (response::MESSAGE_ILLEGAL, Code::InternalServerError),
        (4_711, Code::InternalServerError),
    ] {
        for (call, request, asked) in calls() {
            node.script.answer(request, answer);
            if let Call::Settings(_) = asked {
                let is_clients = (40_000..50_000).contains(&(code as i32));
                let end = if is_clients { tonic::Code::InvalidArgument } else { tonic::Code::Internal };
                check(&mut client, call, asked, end, &["as the script says"]).await;
            } else {
                check(&mut client, call, asked, code, &["as the script says"]).await;
            }
        }
        // Of received messages clients know one code for all that a broker may have against them.
        let inside = Code::InternalServerError;
        node.script.answer(request::ACK_MESSAGE, answer);
        node.script.answer(request::CHANGE_MESSAGE_INVISIBLETIME, answer);
        let acked = ack("T", "G", &[&message]);
        check(&mut client, "AckMessage", acked, inside, &["as the script says"]).await;
        let changed = change("T", "G", &message);
        check(&mut client, "ChangeInvisibleDuration", changed, inside, &["as the script says"]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn silence() {
    let (node, mut client) = start().await;
    let handle = received(&mut client).await;
    let silent = [
        request::SEND_MESSAGE_V2,
        request::POP_MESSAGE,
        request::ACK_MESSAGE,
        request::CHANGE_MESSAGE_INVISIBLETIME,
        request::CONSUMER_SEND_MSG_BACK,
        request::END_TRANSACTION,
        request::PULL_MESSAGE,
    ];
    silent.iter().for_each(|request| node.script.silence(*request));
    let calls: Vec<(&str, Call)> = vec![
        ("SendMessage", send("T").into()),
        ("ReceiveMessage", receive("T", "G").into()),
        ("AckMessage", ack("T", "G", &[&handle]).into()),
        ("ChangeInvisibleDuration", change("T", "G", &handle).into()),
        ("ForwardMessageToDeadLetterQueue", bury("T", "G", &handle).into()),
        ("EndTransaction", end("T", "v1 broker-a 0 0 01AB").into()),
        ("PullMessage", pull("T", "G").into()),
    ];
    let waiting = calls.into_iter().map(|(call, request)| {
        let mut client = client.clone();
        tokio::spawn(async move {
            check(&mut client, call, request, Code::ProxyTimeout, &["no answer within"]).await;
        })
    });
    for waiting in waiting.collect::<Vec<_>>() {
        waiting.await.unwrap();
    }
    node.stop().await;
}
