//! What clients say of themselves, and what they may not be.

use super::requests::*;
use super::{Call, check};
use crate::client::code;
use crate::node::Node;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::telemetry_command::Command as Telemetry;
use roxmq_proxy::schema::*;

#[tokio::test]
async fn that_say_nothing_first() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let client = &mut client;
    let unknown = Code::UnrecognizedClientType;
    check(client, "Heartbeat", heartbeat("G"), unknown, &["settings"]).await;
    check(client, "NotifyClientTermination", terminate("G"), unknown, &["settings"]).await;
    // The others need no settings; unlike the Java server, which fails inside for some.
    check(client, "ReceiveMessage", receive("T", "G"), Code::MessageNotFound, &[]).await;
    for call in [route("T").into(), Call::from(assignment("T", "G")), send("T").into()] {
        check(client, "what anybody may", call, Code::Ok, &[]).await;
    }
    check(client, "settings", consumer(ClientType::PushConsumer, "T", "G"), Code::Ok, &[]).await;
    check(client, "Heartbeat", heartbeat("G"), Code::Ok, &[]).await;
    check(client, "NotifyClientTermination", terminate("G"), Code::Ok, &[]).await;
    check(client, "NotifyClientTermination", terminate("G"), unknown, &["settings"]).await;
    node.stop().await;
}

#[tokio::test]
async fn with_settings_that_cannot_be() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let client = &mut client;
    let invalid = tonic::Code::InvalidArgument;
    check(client, "neither of both", Settings::default(), invalid, &["publishing", "subscription"]).await;
    let filtered = |kind, text: &str| {
        let mut settings = consumer(ClientType::PushConsumer, "T", "G");
        if let Some(PubSub::Subscription(subscription)) = &mut settings.pub_sub {
            subscription.subscriptions[0].expression = filter(kind, text);
        }
        settings
    };
    check(client, "no SQL", filtered(FilterType::Sql, ""), invalid, &["SQL92"]).await;
    check(client, "no tag", filtered(FilterType::Tag, "||"), invalid, &["||"]).await;
    let nothing =
        Settings { pub_sub: Some(PubSub::Publishing(Publishing::default())), ..Settings::default() };
    check(client, "a producer of nothing yet", nothing, Code::Ok, &[]).await;
    check(client, "a producer of what isn't there", producer("Nowhere"), Code::Ok, &[]).await;
    node.stop().await;
}

/// The Java server closes the stream without a word.
#[tokio::test]
async fn of_types_that_there_are_not() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let unknown = Code::UnrecognizedClientType;
    let no_type = |client_type| Settings { client_type, ..consumer(ClientType::PushConsumer, "T", "G") };
    for (kind, text) in [
        (Some(ClientType::PullConsumer.into()), "PULL_CONSUMER"),
        (Some(ClientType::LiteSimpleConsumer.into()), "LITE_SIMPLE_CONSUMER"),
        (Some(ClientType::Producer.into()), "PRODUCER"),
        (Some(99), "99"),
        (None, "CLIENT_TYPE_UNSPECIFIED"),
    ] {
        let (mut stream, _say) = client.conversation(no_type(kind)).await;
        let said = stream.message().await.unwrap().unwrap();
        let text_of = said.status.as_ref().unwrap().message.clone();
        assert_eq!(code(said.status.as_ref()), unknown, "{text}");
        assert!(text_of.contains(text), "{text_of}");
        assert_eq!(stream.message().await.unwrap_err().code(), tonic::Code::InvalidArgument);
    }
    node.stop().await;
}

#[tokio::test]
async fn that_become_something_else() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, say) = client.conversation(consumer(ClientType::PushConsumer, "T", "G")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    say.say(None, Telemetry::Settings(consumer(ClientType::PushConsumer, "T", "G")));
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    say.say(None, Telemetry::Settings(producer("T")));
    let said = stream.message().await.unwrap().unwrap().status.unwrap();
    assert_eq!(said.code(), Code::UnrecognizedClientType);
    assert!(said.message.contains("PUSH_CONSUMER") && said.message.contains("PRODUCER"), "{}", said.message);
    assert_eq!(stream.message().await.unwrap_err().code(), tonic::Code::InvalidArgument);
    // On a stream of its own it may.
    check(&mut client, "another stream", producer("T"), Code::Ok, &[]).await;
    node.stop().await;
}

/// Commands without content, and what only servers say, are no reason to end a stream.
#[tokio::test]
async fn that_say_what_means_nothing() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, say) = client.conversation(consumer(ClientType::PushConsumer, "T", "G")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    say.say_nothing();
    say.say(None, Telemetry::VerifyMessageResult(VerifyMessageResult { nonce: "nobody asked".to_owned() }));
    say.say(None, Telemetry::ReconnectEndpointsCommand(ReconnectEndpointsCommand { nonce: "1".to_owned() }));
    say.say(None, Telemetry::Settings(consumer(ClientType::PushConsumer, "T", "G")));
    let said = stream.message().await.unwrap().unwrap();
    assert!(matches!(said.command, Some(Telemetry::Settings(_))), "{said:?}");
    node.stop().await;
}
