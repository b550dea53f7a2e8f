//! The group G, which receives and acknowledges.

use crate::client::{Peer, code, message, receipt};
use crate::errors::requests::{ack, receive, seconds};
use roxmq_proxy::schema::*;

/// A receive that waits for as long as it may.
pub fn waiting(topic: &str) -> ReceiveMessageRequest {
    ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive(topic, "G") }
}

/// A group's first receive starts at the end of its queues.
pub async fn begin(client: &mut Peer, topic: &str) {
    nothing(client, topic).await;
}

pub async fn nothing(client: &mut Peer, topic: &str) {
    let (status, messages) = client.receive(receive(topic, "G")).await;
    assert_eq!((status.code(), bodies(&messages)), (Code::MessageNotFound, vec![]));
}

pub async fn send(client: &mut Peer, topic: &str, body: &str) {
    let sent = client.send(vec![message(topic, body, body)]).await;
    assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
}

pub async fn acknowledge(client: &mut Peer, topic: &str, messages: &[Message]) {
    let receipts: Vec<_> = messages.iter().map(receipt).collect();
    let receipts: Vec<_> = receipts.iter().map(String::as_str).collect();
    let request = client.request(ack(topic, "G", &receipts));
    let acked = client.stub.ack_message(request).await.unwrap().into_inner();
    assert_eq!(code(acked.status.as_ref()), Code::Ok, "{acked:?}");
}

/// Receives and acknowledges until there are so many.
pub async fn take(client: &mut Peer, topic: &str, count: usize) -> Vec<Message> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let (status, messages) = client.receive(waiting(topic)).await;
        assert_eq!(status.code(), Code::Ok, "{} of {count} came: {status:?}", taken.len());
        acknowledge(client, topic, &messages).await;
        taken.extend(messages);
    }
    taken
}

pub fn body(message: &Message) -> &str {
    std::str::from_utf8(&message.body).unwrap()
}

/// In the order of the texts.
pub fn bodies(messages: &[Message]) -> Vec<&str> {
    let mut bodies: Vec<_> = messages.iter().map(body).collect();
    bodies.sort_unstable();
    bodies
}

pub fn attempt(message: &Message) -> i32 {
    message.system_properties.as_ref().unwrap().delivery_attempt()
}
