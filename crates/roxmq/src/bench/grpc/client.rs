//! A client as servers know it: its id, its settings, and the calls it makes again and again.

use super::channel::{Answers, Call, Channel};
use crate::bench::Target;
use anyhow::{Context, ensure};
use bytes::Bytes;
use h2::SendStream;
use prost_types::Duration;
use roxmq_proxy::schema::receive_message_response::Content;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::telemetry_command::Command;
use roxmq_proxy::schema::{
    AckMessageEntry, AckMessageRequest, AckMessageResponse, ClientType, Code, FilterExpression, FilterType,
    Message, MessageQueue, Publishing, ReceiveMessageRequest, ReceiveMessageResponse, Resource,
    SendMessageRequest, SendMessageResponse, Settings, Status, Subscription, SubscriptionEntry,
    TelemetryCommand,
};

/// How long received messages are nobody else's.
const INVISIBLE: Duration = Duration { seconds: 120, nanos: 0 };
const REQUEST_TIMEOUT: Duration = Duration { seconds: 3, nanos: 0 };

pub struct Client {
    channel: Channel,
    send: Call,
    receive: Call,
    ack: Call,
    /// The server takes a client whose stream ends for gone.
    _telemetry: (Answers, SendStream<Bytes>),
}

impl Client {
    /// Connects and has the settings confirmed.
    pub async fn open(target: &Target, number: u32, settings: Settings) -> anyhow::Result<Client> {
        let id = format!("roxmq-bench@{}@{number}", std::process::id());
        let channel = Channel::open(target, &id).await?;
        let telemetry = channel.call("Telemetry")?;
        let sent = TelemetryCommand { status: None, command: Some(Command::Settings(settings)) };
        let (mut answers, stream) = channel.converse(&telemetry, &sent).await?;
        let answer = answers.next().await.context("the settings")?;
        let answer: TelemetryCommand = answer.context("the settings were not answered")?;
        check(answer.status.as_ref(), "the settings")?;
        Ok(Client {
            send: channel.call("SendMessage")?,
            receive: channel.call("ReceiveMessage")?,
            ack: channel.call("AckMessage")?,
            channel,
            _telemetry: (answers, stream),
        })
    }

    pub async fn send(&self, messages: &SendMessageRequest) -> anyhow::Result<()> {
        let answer: SendMessageResponse = self.channel.unary(&self.send, messages).await?;
        check(answer.status.as_ref(), "a send")
    }

    /// Starts to receive; the messages are in the answers.
    pub async fn receive(&self, asked: &ReceiveMessageRequest) -> anyhow::Result<Answers> {
        self.channel.start(&self.receive, asked).await
    }

    /// Acknowledges each message by a call of its own, as the official clients do, all of them at once.
    pub async fn ack(&self, asked: &ReceiveMessageRequest, messages: Vec<Message>) -> anyhow::Result<()> {
        let topic = asked.message_queue.as_ref().and_then(|queue| queue.topic.clone());
        let mut request = AckMessageRequest { group: asked.group.clone(), topic, entries: Vec::new() };
        let mut under_way = Vec::with_capacity(messages.len());
        for message in messages {
            let system = message.system_properties.context("a message without properties")?;
            let entry = AckMessageEntry {
                message_id: system.message_id,
                receipt_handle: system.receipt_handle.unwrap_or_default(),
                ..AckMessageEntry::default()
            };
            request.entries = vec![entry];
            under_way.push(self.channel.start(&self.ack, &request).await?);
        }
        for answers in under_way {
            let answer: AckMessageResponse = answers.only().await?;
            check(answer.status.as_ref(), "an acknowledgement")?;
        }
        Ok(())
    }
}

/// The messages that a receive brought; none when its time is over.
pub async fn messages(mut answers: Answers) -> anyhow::Result<Vec<Message>> {
    let mut messages = Vec::new();
    while let Some(ReceiveMessageResponse { content }) = answers.next().await? {
        match content {
            Some(Content::Message(message)) => messages.push(message),
            Some(Content::Status(status)) if status.code != i32::from(Code::MessageNotFound) => {
                check(Some(&status), "a receive")?;
            }
            _ => {}
        }
    }
    Ok(messages)
}

pub fn producer(topic: &str) -> Settings {
    let publishing = Publishing { topics: vec![resource(topic)], ..Publishing::default() };
    settings(ClientType::Producer, PubSub::Publishing(publishing))
}

pub fn consumer(topic: &str, group: &str) -> Settings {
    let entry = SubscriptionEntry { topic: Some(resource(topic)), expression: Some(everything()) };
    let subscription =
        Subscription { group: Some(resource(group)), subscriptions: vec![entry], ..Subscription::default() };
    settings(ClientType::SimpleConsumer, PubSub::Subscription(subscription))
}

fn settings(client_type: ClientType, pub_sub: PubSub) -> Settings {
    Settings {
        client_type: Some(client_type.into()),
        request_timeout: Some(REQUEST_TIMEOUT),
        pub_sub: Some(pub_sub),
        ..Settings::default()
    }
}

/// A receive of up to so many messages that waits so long for the first.
pub fn receive_request(topic: &str, group: &str, max: u32, wait: Duration) -> ReceiveMessageRequest {
    ReceiveMessageRequest {
        group: Some(resource(group)),
        message_queue: Some(MessageQueue { topic: Some(resource(topic)), ..MessageQueue::default() }),
        filter_expression: Some(everything()),
        batch_size: max.try_into().unwrap_or(i32::MAX),
        invisible_duration: Some(INVISIBLE),
        long_polling_timeout: Some(wait),
        ..ReceiveMessageRequest::default()
    }
}

pub fn resource(name: &str) -> Resource {
    Resource { name: name.to_owned(), ..Resource::default() }
}

fn everything() -> FilterExpression {
    FilterExpression { r#type: FilterType::Tag.into(), expression: "*".to_owned() }
}

fn check(status: Option<&Status>, what: &str) -> anyhow::Result<()> {
    let status = status.with_context(|| format!("{what}: no status"))?;
    ensure!(status.code == i32::from(Code::Ok), "{what}: code {} {}", status.code, status.message);
    Ok(())
}
