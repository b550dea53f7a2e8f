//! Messages that the server keeps out of the sight of others while a push consumer works on them.

use crate::client::{Peer, code, message, receipt, resource};
use crate::lives::consumer;
use crate::node::Node;
use prost_types::Duration;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::*;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Messages come again after a second and a half if they aren't renewed.
fn config() -> ProxyConfig {
    ProxyConfig {
        renewed_invisible_ms: 1_500,
        renew_ahead_ms: 700,
        renew_period_ms: 100,
        polling_ms_min: 0,
        ..ProxyConfig::default()
    }
}

fn receive(auto_renew: bool, wait_ms: i64) -> ReceiveMessageRequest {
    ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() }),
        batch_size: 1,
        invisible_duration: Some(Duration { seconds: 30, nanos: 0 }),
        long_polling_timeout: Some(Duration {
            seconds: wait_ms / 1000,
            nanos: (wait_ms % 1000) as i32 * 1_000_000,
        }),
        auto_renew,
        ..ReceiveMessageRequest::default()
    }
}

async fn receive_one(client: &mut Peer) -> Message {
    let started = Instant::now();
    loop {
        let (status, mut messages) = client.receive(receive(true, 1_000)).await;
        if let Some(message) = messages.pop() {
            return message;
        }
        assert_eq!(status.code(), Code::MessageNotFound);
        assert!(started.elapsed().as_secs() < 30, "there is no message");
    }
}

fn is_over(handle: &str) -> bool {
    let number = |at| handle.split(' ').nth(at).unwrap().parse::<u128>().unwrap();
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() > number(1) + number(2)
}

async fn ack(client: &mut Peer, handle: &str) -> Code {
    let entry = AckMessageEntry { receipt_handle: handle.to_owned(), ..AckMessageEntry::default() };
    let asked =
        AckMessageRequest { group: Some(resource("G")), topic: Some(resource("T")), entries: vec![entry] };
    let request = client.request(asked);
    code(client.stub.ack_message(request).await.unwrap().into_inner().status.as_ref())
}

/// A group's first receive starts at the end of its queues.
async fn start() -> (Node, Peer, Peer) {
    let node = Node::start_with(&[], config()).await;
    node.topic("T", "NORMAL").await;
    let (mut worker, other) = (node.client("worker").await, node.client("other").await);
    worker.telemetry(consumer("G")).await.message().await.unwrap().unwrap();
    worker.receive(receive(true, 1)).await;
    (node, worker, other)
}

#[tokio::test]
async fn a_message_stays_away_from_others_until_it_is_acknowledged() {
    let (node, mut worker, mut other) = start().await;
    worker.send(vec![message("T", "01AB", "slow")]).await;
    let handle = receipt(&receive_one(&mut worker).await);
    // Others wait for it in vain until long after its first time is up.
    while !is_over(&handle) {
        let (status, messages) = other.receive(receive(false, 500)).await;
        assert_eq!((status.code(), messages.len()), (Code::MessageNotFound, 0));
    }
    let (status, messages) = other.receive(receive(false, 1_000)).await;
    assert_eq!((status.code(), messages.len()), (Code::MessageNotFound, 0));
    assert_eq!(ack(&mut other, &handle).await, Code::InvalidReceiptHandle);
    assert_eq!(ack(&mut worker, &handle).await, Code::Ok);
    // It is not kept any longer, and the handle that the client had has expired.
    assert_eq!(ack(&mut worker, &handle).await, Code::InvalidReceiptHandle);
    node.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_leaves_its_messages_to_others() {
    let (node, mut worker, mut other) = start().await;
    worker.send(vec![message("T", "01AB", "slow")]).await;
    let first = receive_one(&mut worker).await;
    // Renewed by now, it would be away for a minute.
    while !is_over(&receipt(&first)) {
        let (_, messages) = other.receive(receive(false, 500)).await;
        assert!(messages.is_empty());
    }
    let request = worker.request(NotifyClientTerminationRequest { group: Some(resource("G")) });
    let left = worker.stub.notify_client_termination(request).await.unwrap().into_inner();
    assert_eq!(code(left.status.as_ref()), Code::Ok);
    let again = receive_one(&mut other).await;
    assert_eq!((&again.body[..], again.system_properties.unwrap().delivery_attempt), (&b"slow"[..], Some(2)));
    node.stop().await;
}

#[tokio::test]
async fn a_changed_message_is_not_renewed() {
    let (node, mut worker, mut other) = start().await;
    worker.send(vec![message("T", "01AB", "slow")]).await;
    let first = receive_one(&mut worker).await;
    let change = ChangeInvisibleDurationRequest {
        group: Some(resource("G")),
        topic: Some(resource("T")),
        receipt_handle: receipt(&first),
        invisible_duration: Some(Duration { seconds: 1, nanos: 0 }),
        ..ChangeInvisibleDurationRequest::default()
    };
    let request = worker.request(change);
    let changed = worker.stub.change_invisible_duration(request).await.unwrap().into_inner();
    assert_eq!(code(changed.status.as_ref()), Code::Ok);
    assert_eq!(&receive_one(&mut other).await.body[..], b"slow");
    node.stop().await;
}
