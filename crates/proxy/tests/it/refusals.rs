//! What calls are refused with.

use crate::client::{Peer, code, message, resource};
use crate::node::Node;
use prost_types::{Duration, Timestamp};
use roxmq_proxy::schema::*;

async fn check_send(client: &mut Peer, messages: Vec<Message>, expected: Code, what: &str) {
    let answer = client.send(messages).await;
    assert_eq!(code(answer.status.as_ref()), expected, "{what}: {:?}", answer.status);
}

fn with(change: impl FnOnce(&mut SystemProperties)) -> Vec<Message> {
    let mut message = message("T", "01AB", "x");
    change(message.system_properties.as_mut().unwrap());
    vec![message]
}

#[tokio::test]
async fn sends() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    node.topic("M", "MIXED").await;
    let mut client = node.client("c").await;
    let client = &mut client;
    check_send(client, vec![], Code::MessageCorrupted, "no message").await;
    check_send(
        client,
        vec![message("T", "1", "x"), message("M", "2", "x")],
        Code::MessageCorrupted,
        "two topics",
    )
    .await;
    check_send(client, vec![message("", "1", "x")], Code::IllegalTopic, "no topic").await;
    check_send(client, vec![message("a b", "1", "x")], Code::IllegalTopic, "a blank in the topic").await;
    check_send(client, vec![message("TBW102", "1", "x")], Code::IllegalTopic, "a topic of the system").await;
    check_send(client, vec![message("Nowhere", "1", "x")], Code::TopicNotFound, "an unknown topic").await;
    check_send(client, vec![message("T", "1", "")], Code::MessageBodyEmpty, "no body").await;
    check_send(client, vec![message("T", " ", "x")], Code::IllegalMessageId, "no id").await;
    let big = "x".repeat(4 * 1024 * 1024 + 1);
    check_send(client, vec![message("T", "1", &big)], Code::MessageBodyTooLarge, "a big body").await;
    let conflict = Code::MessagePropertyConflictWithType;
    check_send(client, with(|system| system.message_group = Some("g".to_owned())), conflict, "a group").await;
    let soon = Timestamp { seconds: 0, nanos: 0 };
    check_send(client, with(|system| system.delivery_timestamp = Some(soon)), conflict, "a time").await;
    check_send(
        client,
        with(|system| system.set_message_type(MessageType::Transaction)),
        conflict,
        "a transaction",
    )
    .await;
    let mut delayed = vec![message("M", "1", "x"), message("M", "2", "x")];
    delayed[1].system_properties.as_mut().unwrap().delivery_timestamp = Some(soon);
    check_send(client, delayed, Code::InternalServerError, "a time in a batch").await;
    check_send(
        client,
        with(|system| system.set_message_type(MessageType::Fifo)),
        Code::Ok,
        "only called FIFO",
    )
    .await;
    node.stop().await;
}

#[tokio::test]
async fn acknowledgements() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let expired = "0 1 1000 1 0 broker-a 0 0 0";
    let elsewhere = "0 9223372036854775807 0 1 0 broker-z 0 0 0";
    for (handle, expected) in [
        ("nonsense", Code::InvalidReceiptHandle),
        ("", Code::InvalidReceiptHandle),
        (expired, Code::InvalidReceiptHandle),
        (elsewhere, Code::InvalidReceiptHandle),
    ] {
        let entry = AckMessageEntry {
            message_id: "1".to_owned(),
            receipt_handle: handle.to_owned(),
            lite_topic: None,
        };
        let asked = AckMessageRequest {
            group: Some(resource("G")),
            topic: Some(resource("T")),
            entries: vec![entry],
        };
        let request = client.request(asked);
        let answer = client.stub.ack_message(request).await.unwrap().into_inner();
        assert_eq!(code(answer.status.as_ref()), expected, "{handle}");
        assert_eq!(code(answer.entries[0].status.as_ref()), expected, "{handle}");
        assert_eq!(answer.entries[0].receipt_handle, handle);
        let change = ChangeInvisibleDurationRequest {
            group: Some(resource("G")),
            topic: Some(resource("T")),
            receipt_handle: handle.to_owned(),
            invisible_duration: Some(Duration { seconds: 5, nanos: 0 }),
            ..ChangeInvisibleDurationRequest::default()
        };
        let request = client.request(change);
        let answer = client.stub.change_invisible_duration(request).await.unwrap().into_inner();
        assert_eq!(code(answer.status.as_ref()), expected, "{handle}");
    }
    let request = client.request(AckMessageRequest {
        group: Some(resource("G")),
        topic: Some(resource("T")),
        entries: vec![],
    });
    let answer = client.stub.ack_message(request).await.unwrap().into_inner();
    assert_eq!(code(answer.status.as_ref()), Code::InternalServerError);
    node.stop().await;
}

#[tokio::test]
async fn receives() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let good = || ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(MessageQueue { topic: Some(resource("T")), ..MessageQueue::default() }),
        batch_size: 32,
        invisible_duration: Some(Duration { seconds: 30, nanos: 0 }),
        long_polling_timeout: Some(Duration { seconds: 0, nanos: 1_000_000 }),
        ..ReceiveMessageRequest::default()
    };
    let mut cases = vec![(good(), Code::MessageNotFound, "nothing there")];
    let mut case = |change: &dyn Fn(&mut ReceiveMessageRequest), expected, what| {
        let mut asked = good();
        change(&mut asked);
        cases.push((asked, expected, what));
    };
    case(&|asked| asked.group = None, Code::IllegalConsumerGroup, "no group");
    case(&|asked| asked.message_queue = None, Code::IllegalTopic, "no topic");
    case(&|asked| asked.batch_size = 0, Code::BadRequest, "no messages wanted");
    case(&|asked| asked.invisible_duration = None, Code::IllegalInvisibleTime, "no time");
    case(
        &|asked| asked.invisible_duration = Some(Duration { seconds: 9, nanos: 0 }),
        Code::IllegalInvisibleTime,
        "too short a time",
    );
    case(
        &|asked| asked.invisible_duration = Some(Duration { seconds: 12 * 3600 + 1, nanos: 0 }),
        Code::IllegalInvisibleTime,
        "too long a time",
    );
    let filter = |r#type: FilterType, expression: &str| {
        Some(FilterExpression { r#type: r#type.into(), expression: expression.to_owned() })
    };
    case(
        &|asked| asked.filter_expression = filter(FilterType::Tag, "||"),
        Code::IllegalFilterExpression,
        "no tag",
    );
    case(
        &|asked| asked.filter_expression = filter(FilterType::Sql, ""),
        Code::IllegalFilterExpression,
        "no SQL",
    );
    for (asked, expected, what) in cases {
        let (status, messages) = client.receive(asked).await;
        assert_eq!(status.code(), expected, "{what}: {}", status.message);
        assert!(messages.is_empty(), "{what}");
    }
    node.stop().await;
}
