//! Calls with nothing wrong, for rows to change one thing.

use crate::client::{message, resource};
use crate::node::BROKER;
use prost_types::Duration;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::*;

pub const FUTURE_MS: i64 = i64::MAX / 2;

pub fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

/// The receipt handle of a message that is out for ever.
pub fn handle() -> String {
    format!("0 {FUTURE_MS} 60000 0 0 {BROKER} 0 0 0")
}

pub fn route(topic: &str) -> QueryRouteRequest {
    QueryRouteRequest { topic: Some(resource(topic)), endpoints: None }
}

pub fn assignment(topic: &str, group: &str) -> QueryAssignmentRequest {
    QueryAssignmentRequest { topic: Some(resource(topic)), group: Some(resource(group)), endpoints: None }
}

pub fn send(topic: &str) -> SendMessageRequest {
    SendMessageRequest { messages: vec![message(topic, "01AB", "x")] }
}

pub fn queue(topic: &str) -> Option<MessageQueue> {
    let broker = Broker { name: BROKER.to_owned(), ..Broker::default() };
    Some(MessageQueue { topic: Some(resource(topic)), broker: Some(broker), ..MessageQueue::default() })
}

/// Doesn't wait.
pub fn receive(topic: &str, group: &str) -> ReceiveMessageRequest {
    ReceiveMessageRequest {
        group: Some(resource(group)),
        message_queue: queue(topic),
        batch_size: 32,
        invisible_duration: Some(seconds(30)),
        long_polling_timeout: Some(Duration { seconds: 0, nanos: 1_000_000 }),
        ..ReceiveMessageRequest::default()
    }
}

pub fn ack(topic: &str, group: &str, handles: &[&str]) -> AckMessageRequest {
    let entry = |handle: &&str| AckMessageEntry {
        message_id: "01AB".to_owned(),
        receipt_handle: (*handle).to_owned(),
        lite_topic: None,
    };
    AckMessageRequest {
        group: Some(resource(group)),
        topic: Some(resource(topic)),
        entries: handles.iter().map(entry).collect(),
    }
}

pub fn change(topic: &str, group: &str, handle: &str) -> ChangeInvisibleDurationRequest {
    ChangeInvisibleDurationRequest {
        group: Some(resource(group)),
        topic: Some(resource(topic)),
        receipt_handle: handle.to_owned(),
        invisible_duration: Some(seconds(30)),
        message_id: "01AB".to_owned(),
        ..ChangeInvisibleDurationRequest::default()
    }
}

pub fn bury(topic: &str, group: &str, handle: &str) -> ForwardMessageToDeadLetterQueueRequest {
    ForwardMessageToDeadLetterQueueRequest {
        group: Some(resource(group)),
        topic: Some(resource(topic)),
        receipt_handle: handle.to_owned(),
        message_id: "01AB".to_owned(),
        ..ForwardMessageToDeadLetterQueueRequest::default()
    }
}

pub fn end(topic: &str, transaction_id: &str) -> EndTransactionRequest {
    EndTransactionRequest {
        topic: Some(resource(topic)),
        message_id: "01AB".to_owned(),
        transaction_id: transaction_id.to_owned(),
        resolution: TransactionResolution::Commit.into(),
        ..EndTransactionRequest::default()
    }
}

pub fn recall(topic: &str, recall_handle: &str) -> RecallMessageRequest {
    RecallMessageRequest { topic: Some(resource(topic)), recall_handle: recall_handle.to_owned() }
}

pub fn heartbeat(group: &str) -> HeartbeatRequest {
    HeartbeatRequest { group: Some(resource(group)), client_type: ClientType::PushConsumer.into() }
}

pub fn terminate(group: &str) -> NotifyClientTerminationRequest {
    NotifyClientTerminationRequest { group: Some(resource(group)) }
}

pub fn subscribe_lite(topic: &str, group: &str, lite_topics: &[&str]) -> SyncLiteSubscriptionRequest {
    SyncLiteSubscriptionRequest {
        action: LiteSubscriptionAction::PartialAdd.into(),
        topic: Some(resource(topic)),
        group: Some(resource(group)),
        lite_topic_set: lite_topics.iter().map(|name| (*name).to_owned()).collect(),
        ..SyncLiteSubscriptionRequest::default()
    }
}

pub fn pull(topic: &str, group: &str) -> PullMessageRequest {
    PullMessageRequest {
        group: Some(resource(group)),
        message_queue: queue(topic),
        batch_size: 32,
        ..PullMessageRequest::default()
    }
}

pub fn update_offset(topic: &str, group: &str) -> UpdateOffsetRequest {
    UpdateOffsetRequest { group: Some(resource(group)), message_queue: queue(topic), offset: 0 }
}

pub fn get_offset(topic: &str, group: &str) -> GetOffsetRequest {
    GetOffsetRequest { group: Some(resource(group)), message_queue: queue(topic) }
}

pub fn query_offset(topic: &str) -> QueryOffsetRequest {
    QueryOffsetRequest {
        message_queue: queue(topic),
        query_offset_policy: QueryOffsetPolicy::Beginning.into(),
        timestamp: None,
    }
}

pub fn producer(topic: &str) -> Settings {
    let publishing = Publishing { topics: vec![resource(topic)], ..Publishing::default() };
    Settings {
        client_type: Some(ClientType::Producer.into()),
        pub_sub: Some(PubSub::Publishing(publishing)),
        ..Settings::default()
    }
}

pub fn filter(kind: FilterType, expression: &str) -> Option<FilterExpression> {
    Some(FilterExpression { r#type: kind.into(), expression: expression.to_owned() })
}

pub fn consumer(client_type: ClientType, topic: &str, group: &str) -> Settings {
    let entry = SubscriptionEntry { topic: Some(resource(topic)), expression: filter(FilterType::Tag, "*") };
    let subscription =
        Subscription { group: Some(resource(group)), subscriptions: vec![entry], ..Subscription::default() };
    Settings {
        client_type: Some(client_type.into()),
        pub_sub: Some(PubSub::Subscription(subscription)),
        ..Settings::default()
    }
}
