//! Clients come, say what they are, and go.

use crate::client::{code, resource};
use crate::errors::requests::{receive, seconds};
use crate::node::Node;
use roxmq_protocol::command::Command;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::telemetry_command::Command as Telemetry;
use roxmq_proxy::schema::*;
use std::time::Duration;

/// Before a receive that waits has nothing to wait for any more.
const SOON: Duration = Duration::from_secs(15);

pub fn consumer(group: &str) -> Settings {
    let expression = FilterExpression { r#type: FilterType::Tag.into(), expression: "*".to_owned() };
    let entry = SubscriptionEntry { topic: Some(resource("T")), expression: Some(expression) };
    let subscription =
        Subscription { group: Some(resource(group)), subscriptions: vec![entry], ..Subscription::default() };
    Settings {
        client_type: Some(ClientType::PushConsumer.into()),
        pub_sub: Some(PubSub::Subscription(subscription)),
        ..Settings::default()
    }
}

pub fn heartbeat(group: &str) -> HeartbeatRequest {
    HeartbeatRequest { group: Some(resource(group)), client_type: ClientType::PushConsumer.into() }
}

#[tokio::test]
async fn a_consumer_is_known_to_the_broker_until_it_leaves() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("consumer-1").await;
    let request = client.request(heartbeat("G"));
    let stranger = client.stub.heartbeat(request).await.unwrap().into_inner();
    assert_eq!(code(stranger.status.as_ref()), Code::UnrecognizedClientType);

    let mut stream = client.telemetry(consumer("G")).await;
    let answer = stream.message().await.unwrap().unwrap();
    assert_eq!(code(answer.status.as_ref()), Code::Ok);
    let Some(Telemetry::Settings(settings)) = answer.command else { panic!("no settings: {answer:?}") };
    assert_eq!(settings.backoff_policy.as_ref().unwrap().max_attempts, 17);
    let Some(PubSub::Subscription(subscription)) = settings.pub_sub else { panic!("no subscription") };
    assert_eq!((subscription.fifo, subscription.receive_batch_size), (Some(false), Some(32)));

    let ids = || node.operate(Command::request(38).with("consumerGroup", "G"));
    assert_eq!(&ids().await.body[..], br#"{"consumerIdList":["consumer-1"]}"#);
    let request = client.request(heartbeat("G"));
    let known = client.stub.heartbeat(request).await.unwrap().into_inner();
    assert_eq!(code(known.status.as_ref()), Code::Ok);

    let leaving = NotifyClientTerminationRequest { group: Some(resource("G")) };
    let request = client.request(leaving.clone());
    let left = client.stub.notify_client_termination(request).await.unwrap().into_inner();
    assert_eq!(code(left.status.as_ref()), Code::Ok);
    let address = node.address().to_string();
    let request = Command::request(38).with("consumerGroup", "G");
    let nobody =
        roxmq_remoting::Client::new().call(&address, request, Duration::from_secs(30)).await.unwrap();
    assert_eq!(nobody.code, 1, "{nobody:?}");
    let request = client.request(leaving);
    let again = client.stub.notify_client_termination(request).await.unwrap().into_inner();
    assert_eq!(code(again.status.as_ref()), Code::UnrecognizedClientType);
    node.stop().await;
}

/// An open stream kept the server from stopping until the grace was over.
#[tokio::test]
async fn a_stop_ends_open_streams() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let mut stream = client.telemetry(consumer("G")).await;
    stream.message().await.unwrap().unwrap();
    let stopping = tokio::time::timeout(SOON, node.stop_in(2 * SOON));
    assert!(stopping.await.is_ok(), "the stream kept the server from stopping");
    assert!(matches!(stream.message().await, Ok(None) | Err(_)));
}

/// Receives that wait are answered when the server stops, and not broken off.
#[tokio::test]
async fn a_stop_answers_receives_that_wait() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let asked = ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("T", "G") };
    let waiting = tokio::spawn(async move { client.receive(asked).await });
    node.until(|broker| broker.waiting_pops() == 1).await;
    let stopping = tokio::time::timeout(SOON, node.stop_in(2 * SOON));
    assert!(stopping.await.is_ok(), "the receive kept the server from stopping");
    let (status, messages) = waiting.await.unwrap();
    assert_eq!((status.code(), messages.len()), (Code::MessageNotFound, 0), "{}", status.message);
}
