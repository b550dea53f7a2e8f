//! Messages sent and pulled.

use crate::client::{Peer, code, message, resource};
use crate::node::{BROKER, Node};
use roxmq_proxy::schema::pull_message_response::Content;
use roxmq_proxy::schema::*;
use std::collections::BTreeSet;

fn queue(topic: &str, id: i32) -> MessageQueue {
    let broker = Broker { name: BROKER.to_owned(), ..Broker::default() };
    MessageQueue { topic: Some(resource(topic)), id, broker: Some(broker), ..MessageQueue::default() }
}

async fn pull(client: &mut Peer, topic: &str, id: i32, offset: i64) -> (Code, Vec<Message>, Option<i64>) {
    let asked = PullMessageRequest {
        group: Some(resource("puller")),
        message_queue: Some(queue(topic, id)),
        offset,
        batch_size: 32,
        ..PullMessageRequest::default()
    };
    let request = client.request(asked);
    let mut frames = client.stub.pull_message(request).await.unwrap().into_inner();
    let (mut status, mut messages, mut next) = (None, Vec::new(), None);
    while let Some(frame) = frames.message().await.unwrap() {
        match frame.content.unwrap() {
            Content::Status(found) => status = Some(found.code()),
            Content::Message(message) => messages.push(message),
            Content::NextOffset(offset) => next = Some(offset),
        }
    }
    (status.unwrap(), messages, next)
}

async fn all(client: &mut Peer, topic: &str) -> Vec<Message> {
    let mut all = Vec::new();
    for id in 0..4 {
        all.extend(pull(client, topic, id, 0).await.1);
    }
    all
}

fn body(message: &Message) -> &str {
    std::str::from_utf8(&message.body).unwrap()
}

#[tokio::test]
async fn a_message_comes_back_as_it_was_sent() {
    let node = Node::start().await;
    node.topic("T", "FIFO").await;
    let mut client = node.client("c").await;
    let mut sent = message("T", "01AB", "hello");
    sent.user_properties.insert("用户".to_owned(), "值".to_owned());
    let system = sent.system_properties.as_mut().unwrap();
    system.tag = Some("TagA".to_owned());
    system.keys = vec!["k1".to_owned(), "k2".to_owned()];
    system.message_group = Some("g".to_owned());
    system.trace_context = Some("00-trace".to_owned());
    system.born_host = "far-away".to_owned();
    let answer = client.send(vec![sent.clone()]).await;
    assert_eq!(code(answer.status.as_ref()), Code::Ok);
    let [entry] = answer.entries.as_slice() else { panic!("one entry for one message: {answer:?}") };
    assert_eq!((entry.message_id.as_str(), entry.transaction_id.as_str(), entry.offset), ("01AB", "01AB", 0));

    let got = all(&mut client, "T").await;
    let [got] = got.as_slice() else { panic!("one message: {got:?}") };
    assert_eq!(body(got), "hello");
    assert_eq!(got.user_properties.get("用户").map(String::as_str), Some("值"));
    let (system, had) = (got.system_properties.as_ref().unwrap(), sent.system_properties.as_ref().unwrap());
    assert_eq!((&system.tag, &system.keys, &system.message_id), (&had.tag, &had.keys, &had.message_id));
    assert_eq!((&system.message_group, &system.trace_context), (&had.message_group, &had.trace_context));
    assert_eq!((system.born_host.as_str(), system.message_type()), ("far-away", MessageType::Fifo));
    assert_eq!(system.body_digest.as_ref().unwrap().checksum, "5D41402ABC4B2A76B9719D911017C592");
    node.stop().await;
}

#[tokio::test]
async fn a_group_stays_in_its_queue_and_others_take_turns() {
    let node = Node::start().await;
    node.topic("F", "FIFO").await;
    node.topic("N", "NORMAL").await;
    let mut client = node.client("c").await;
    for number in 0..8 {
        let mut in_group = message("F", &number.to_string(), "x");
        in_group.system_properties.as_mut().unwrap().message_group = Some("group-1".to_owned());
        assert_eq!(code(client.send(vec![in_group]).await.status.as_ref()), Code::Ok);
        assert_eq!(code(client.send(vec![message("N", "1", "x")]).await.status.as_ref()), Code::Ok);
    }
    let queues = |messages: Vec<Message>| -> BTreeSet<i32> {
        messages.iter().map(|message| message.system_properties.as_ref().unwrap().queue_id).collect()
    };
    assert_eq!(queues(all(&mut client, "F").await).len(), 1);
    assert_eq!(queues(all(&mut client, "N").await).len(), 4);
    node.stop().await;
}

/// The Java server gives one entry for a batch, with an id that is nobody's.
#[tokio::test]
async fn each_message_of_a_batch_has_its_own_entry() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let batch = (0..5).map(|number| message("T", &format!("id{number}"), &format!("b{number}"))).collect();
    let answer = client.send(batch).await;
    assert_eq!(code(answer.status.as_ref()), Code::Ok);
    let entries: Vec<_> =
        answer.entries.iter().map(|entry| (entry.message_id.as_str(), entry.offset)).collect();
    assert_eq!(entries, [("id0", 0), ("id1", 1), ("id2", 2), ("id3", 3), ("id4", 4)]);
    let bodies: Vec<_> = all(&mut client, "T").await.iter().map(|got| body(got).to_owned()).collect();
    assert_eq!(bodies, ["b0", "b1", "b2", "b3", "b4"]);
    node.stop().await;
}

#[tokio::test]
async fn offsets_are_kept_and_found() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    for number in 0..8 {
        client.send(vec![message("T", &number.to_string(), "x")]).await;
    }
    let (status, got, next) = pull(&mut client, "T", 0, 1).await;
    assert_eq!((status, got.len(), next), (Code::Ok, 1, Some(2)));
    let (status, got, next) = pull(&mut client, "T", 0, 2).await;
    assert_eq!((status, got.len(), next), (Code::MessageNotFound, 0, Some(2)));
    assert_eq!(pull(&mut client, "T", 0, -1).await.0, Code::IllegalOffset);

    let get = GetOffsetRequest { group: Some(resource("G")), message_queue: Some(queue("T", 0)) };
    let request = client.request(get.clone());
    let unknown = client.stub.get_offset(request).await.unwrap().into_inner();
    assert_eq!(code(unknown.status.as_ref()), Code::OffsetNotFound);
    let update =
        UpdateOffsetRequest { group: get.group.clone(), message_queue: get.message_queue.clone(), offset: 2 };
    let request = client.request(update);
    let updated = client.stub.update_offset(request).await.unwrap().into_inner();
    assert_eq!(code(updated.status.as_ref()), Code::Ok);
    let request = client.request(get);
    assert_eq!(client.stub.get_offset(request).await.unwrap().into_inner().offset, 2);
    for (policy, expected) in [(QueryOffsetPolicy::Beginning, 0), (QueryOffsetPolicy::End, 2)] {
        let asked = QueryOffsetRequest {
            message_queue: Some(queue("T", 0)),
            query_offset_policy: policy.into(),
            timestamp: None,
        };
        let request = client.request(asked);
        assert_eq!(client.stub.query_offset(request).await.unwrap().into_inner().offset, expected);
    }
    node.stop().await;
}
