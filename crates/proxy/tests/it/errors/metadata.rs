//! What comes with every call: who calls.

use super::requests::*;
use super::{Call, check};
use crate::node::Node;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;

pub fn every_call() -> Vec<(&'static str, Call)> {
    vec![
        ("QueryRoute", route("T").into()),
        ("QueryAssignment", assignment("T", "G").into()),
        ("SendMessage", send("T").into()),
        ("ReceiveMessage", receive("T", "G").into()),
        ("AckMessage", ack("T", "G", &[]).into()),
        ("ChangeInvisibleDuration", change("T", "G", "").into()),
        ("ForwardMessageToDeadLetterQueue", bury("T", "G", "").into()),
        ("EndTransaction", end("T", "").into()),
        ("RecallMessage", recall("T", "").into()),
        ("Heartbeat", heartbeat("G").into()),
        ("NotifyClientTermination", terminate("G").into()),
        ("SyncLiteSubscription", subscribe_lite("T", "G", &[]).into()),
        ("PullMessage", pull("T", "G").into()),
        ("UpdateOffset", update_offset("T", "G").into()),
        ("GetOffset", get_offset("T", "G").into()),
        ("QueryOffset", query_offset("T").into()),
        ("Telemetry", consumer(ClientType::PushConsumer, "T", "G").into()),
    ]
}

#[tokio::test]
async fn without_an_id() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    for id in ["", " ", "\t"] {
        let mut client = node.client(id).await;
        for (call, request) in every_call() {
            check(&mut client, call, request, Code::ClientIdRequired, &["x-mq-client-id"]).await;
        }
        // The status is all that such a stream has.
        let mut stream = client.telemetry(producer("T")).await;
        assert!(stream.message().await.unwrap().unwrap().command.is_none());
        assert!(stream.message().await.unwrap().is_none());
        let request = client.request(receive("T", "G"));
        let mut frames = client.stub.receive_message(request).await.unwrap().into_inner();
        assert!(frames.message().await.unwrap().is_some());
        assert!(frames.message().await.unwrap().is_none());
    }
    node.stop().await;
}

/// Unlike the Java server, which fails inside for some calls.
#[tokio::test]
async fn without_a_language() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    for language in [None, Some(""), Some("COBOL")] {
        let mut client = node.client("c").await;
        client.language = language;
        client.version = None;
        let settings = consumer(ClientType::PushConsumer, "T", "G");
        check(&mut client, "Telemetry", settings, Code::Ok, &[]).await;
        check(&mut client, "Heartbeat", heartbeat("G"), Code::Ok, &[]).await;
        check(&mut client, "SendMessage", send("T"), Code::Ok, &[]).await;
        check(&mut client, "NotifyClientTermination", terminate("G"), Code::Ok, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn of_too_many_clients() {
    let node = Node::start_with(&[], ProxyConfig { clients_max: 1, ..ProxyConfig::default() }).await;
    node.topic("T", "NORMAL").await;
    let mut first = node.client("c").await;
    check(&mut first, "the first", route("T"), Code::Ok, &[]).await;
    let mut second = node.client("d").await;
    for (call, request) in every_call() {
        check(&mut second, call, request, Code::TooManyRequests, &["1"]).await;
    }
    check(&mut first, "still", route("T"), Code::Ok, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn of_endpoints() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let address = || Address { host: "10.0.0.1".to_owned(), port: 8081 };
    let endpoints = |scheme: i32, addresses| Some(Endpoints { scheme, addresses });
    let good = AddressScheme::IPv4.into();
    for (endpoints, code) in [
        (None, Code::Ok),
        (endpoints(0, vec![]), Code::Ok),
        (endpoints(good, vec![]), Code::Ok),
        (endpoints(good, vec![address(), address()]), Code::Ok),
        (endpoints(0, vec![address()]), Code::InternalServerError),
        (endpoints(77, vec![address()]), Code::InternalServerError),
    ] {
        let texts = if code == Code::Ok { &[][..] } else { &["scheme"] };
        let request = QueryRouteRequest { endpoints: endpoints.clone(), ..route("T") };
        check(&mut client, "QueryRoute", request, code, texts).await;
        let request = QueryAssignmentRequest { endpoints, ..assignment("T", "G") };
        check(&mut client, "QueryAssignment", request, code, texts).await;
    }
    node.stop().await;
}
