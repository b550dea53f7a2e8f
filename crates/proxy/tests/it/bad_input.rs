//! Calls that make no sense, many of them: each is refused, nothing stays behind, and good calls go on.

use crate::client::{Clients, Peer, code, message, resource};
use crate::node::Node;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::Duration;

const ROUNDS: usize = 300;

fn handle(round: usize) -> String {
    let handles = ["", "nonsense", "1 2 3", "0 1 1 1 0 broker-a 0 0 0", "0 1 1 1 7 broker-a x 0 0"];
    let numbers = format!("{} 9223372036854775807 -1 0 0 broker-a 0 {round} -1", i64::MIN);
    handles.get(round % (handles.len() + 1)).map_or(numbers, |text| (*text).to_owned())
}

/// The answers are none of success; what they are exactly the tables of refusals say.
async fn one_round(client: &mut Peer, round: usize) {
    let names = ["", " ", "a b", "TBW102", "no-such-topic", "%RETRY%", "🚀"];
    let name = names[round % names.len()];
    let sent = client.send(vec![message(name, "1", "x")]).await;
    assert_ne!(code(sent.status.as_ref()), Code::Ok, "{name:?}");
    assert_ne!(code(client.route(name).await.status.as_ref()), Code::Ok, "{name:?}");

    let (group, topic) = (Some(resource("G")), Some(resource("T")));
    let entry = AckMessageEntry { receipt_handle: handle(round), ..AckMessageEntry::default() };
    let request = client.request(AckMessageRequest {
        group: group.clone(),
        topic: topic.clone(),
        entries: vec![entry],
    });
    let acked = client.stub.ack_message(request).await.unwrap().into_inner();
    assert_ne!(code(acked.status.as_ref()), Code::Ok, "{:?}", handle(round));
    let bury = ForwardMessageToDeadLetterQueueRequest {
        group: group.clone(),
        topic: topic.clone(),
        receipt_handle: handle(round),
        ..ForwardMessageToDeadLetterQueueRequest::default()
    };
    let request = client.request(bury);
    let buried = client.stub.forward_message_to_dead_letter_queue(request).await.unwrap().into_inner();
    assert_ne!(code(buried.status.as_ref()), Code::Ok, "{:?}", handle(round));
    let end = EndTransactionRequest {
        topic: topic.clone(),
        transaction_id: handle(round),
        ..EndTransactionRequest::default()
    };
    let request = client.request(end);
    let ended = client.stub.end_transaction(request).await.unwrap().into_inner();
    assert_ne!(code(ended.status.as_ref()), Code::Ok);

    // Given up at once, while the server waits for messages.
    let wait = ReceiveMessageRequest {
        group,
        message_queue: Some(MessageQueue { topic, ..MessageQueue::default() }),
        long_polling_timeout: Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 }),
        batch_size: 32,
        auto_renew: true,
        ..ReceiveMessageRequest::default()
    };
    let mut request = client.request(wait);
    request.set_timeout(Duration::from_secs(20));
    let receive = client.stub.receive_message(request);
    assert!(tokio::time::timeout(Duration::from_millis(1), receive).await.is_err());
}

#[tokio::test]
async fn many_bad_calls_leave_nothing_behind() {
    let node = Node::start_with(&[], ProxyConfig { clients_max: 2, ..ProxyConfig::default() }).await;
    node.topic("T", "NORMAL").await;
    let connection = Clients::connect(node.address()).await;
    let mut client = connection.client("c");
    let mut nobody = connection.client(" ");
    for round in 0..ROUNDS {
        one_round(&mut client, round).await;
        assert_eq!(code(nobody.route("T").await.status.as_ref()), Code::ClientIdRequired);
    }
    // Calls without a client's id made no client known, and the third is one too many.
    let second = connection.client("d").route("T").await;
    assert_eq!(code(second.status.as_ref()), Code::Ok);
    let third = connection.client("e").route("T").await;
    assert_eq!(code(third.status.as_ref()), Code::TooManyRequests);

    // A message comes in the end to a call that waits: one that was given up may have got it first, for a moment.
    client.send(vec![message("T", "01AB", "hello")]).await;
    let asked = ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() }),
        batch_size: 32,
        auto_renew: true,
        ..ReceiveMessageRequest::default()
    };
    let (status, messages) = client.receive(asked).await;
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1));
    node.stop().await;
}

/// Receives that wait are answered when the server stops, and not broken off.
#[tokio::test]
async fn a_stop_answers_receives_that_wait() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let asked = ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() }),
        batch_size: 32,
        auto_renew: true,
        ..ReceiveMessageRequest::default()
    };
    let mut waiting = tokio::spawn(async move { client.receive(asked).await });
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err(), "it waits");
    let stopping = tokio::time::timeout(Duration::from_secs(4), node.stop());
    assert!(stopping.await.is_ok(), "the receive kept the server from stopping");
    let (status, messages) = waiting.await.unwrap();
    assert_eq!((status.code(), messages.len()), (Code::MessageNotFound, 0), "{}", status.message);
}
