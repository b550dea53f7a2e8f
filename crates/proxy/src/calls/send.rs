//! Messages sent: one, or a batch that is stored together.

mod choice;
mod outcome;

use crate::client::Client;
use crate::message::queue_choice::Queue;
use crate::message::{check, kind, to_broker};
use crate::names;
use crate::proxy::{Proxy, now_ms};
use crate::refusal::{Refusal, Result};
use crate::schema::{Code, Message, MessageType, SendMessageRequest, SendMessageResponse, SystemProperties};
use bytes::Bytes;
use choice::Choice;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::Properties;
use roxmq_protocol::{batch, names as stored_names};
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn handle(proxy: &Proxy, request: Request<SendMessageRequest>) -> Result<SendMessageResponse> {
    let client = proxy.client(&request)?;
    let (metadata, _, SendMessageRequest { messages }) = request.into_parts();
    let now_ms = now_ms();
    let topic_name = check_all(proxy, &messages, now_ms)?.to_owned();
    let topic = proxy.facts.topic(&topic_name).await?;
    let outgoing = Outgoing::of(&topic_name, &messages, now_ms)?;
    if proxy.config.check_message_type {
        kind::check(&topic_name, &topic, outgoing.kind)?;
    }
    let mut choice = Choice::of(&messages, &topic, &metadata);
    let (answer, queue) = loop {
        let queue = choice.next(proxy).await.ok_or_else(|| {
            Refusal::new(Code::Forbidden, format!("topic {topic_name} has no queue that can be written to"))
        })?;
        match client.call(&queue.broker, outgoing.command(&client, &queue), TIMEOUT).await {
            Ok(answer) => break (answer, queue),
            Err(failure) if choice.goes_on_after(proxy, &queue, &failure, outgoing.kind) => {}
            Err(failure) => return Err(failure.into()),
        }
    };
    if !outcome::is_stored(answer.code) {
        let refusal = Refusal::from_broker(&answer);
        if refusal.code == Code::TopicNotFound {
            proxy.facts.forget_topic(&topic_name);
        }
        return Err(refusal);
    }
    outcome::response(&messages, &answer, &queue.broker)
}

/// The topic of the messages, if all of it is as it should be.
fn check_all<'a>(proxy: &Proxy, messages: &'a [Message], now_ms: i64) -> Result<&'a str> {
    let Some(first) = messages.first() else {
        return Err(Refusal::new(Code::MessageCorrupted, "there is no message in the request"));
    };
    let topic = names::topic(first.topic.as_ref())?;
    for message in messages {
        if message.topic != first.topic {
            return Err(Refusal::new(
                Code::MessageCorrupted,
                "the messages of the request have several topics",
            ));
        }
        check::check(message, &proxy.config, now_ms)?;
    }
    Ok(topic)
}

/// What goes to the broker, but for the queue.
struct Outgoing<'a> {
    topic: &'a str,
    /// Of the first message, for all.
    kind: MessageType,
    flag: i32,
    born_ms: i64,
    properties: String,
    body: Bytes,
    is_batch: bool,
}

impl<'a> Outgoing<'a> {
    fn of(topic: &'a str, messages: &[Message], now_ms: i64) -> Result<Self> {
        match messages {
            [one] => Ok(Outgoing::single(topic, one, now_ms)),
            many => Outgoing::batch(topic, many, now_ms),
        }
    }

    fn single(topic: &'a str, message: &Message, now_ms: i64) -> Self {
        let default = SystemProperties::default();
        let system = message.system_properties.as_ref().unwrap_or(&default);
        let properties = to_broker::properties(message, system, topic);
        Outgoing {
            topic,
            kind: kind::of(Properties::new(&properties)),
            flag: to_broker::flag(system),
            born_ms: to_broker::born_ms(system, now_ms),
            properties: text(properties),
            body: message.body.clone(),
            is_batch: false,
        }
    }

    /// Messages with a time or a transaction of their own can't be stored together.
    fn batch(topic: &'a str, messages: &[Message], now_ms: i64) -> Result<Self> {
        let mut body = Vec::new();
        let mut batch = Outgoing::single(topic, &messages[0], now_ms);
        for message in messages {
            let one = Outgoing::single(topic, message, now_ms);
            if one.kind == MessageType::Delay || one.kind == MessageType::Transaction {
                let text = format!("a batch can't have messages of the type {}", one.kind.as_str_name());
                return Err(Refusal::new(Code::InternalServerError, text));
            }
            if !batch::push(&mut body, 0, &one.body, one.properties.as_bytes()) {
                return Err(Refusal::new(
                    Code::MessagePropertiesTooLarge,
                    "the properties of a message are too long",
                ));
            }
        }
        batch.properties.clear();
        Ok(Outgoing { body: body.into(), is_batch: true, ..batch })
    }

    fn command(&self, client: &Client, queue: &Queue) -> Command {
        let code = if self.is_batch { request::SEND_BATCH_MESSAGE } else { request::SEND_MESSAGE_V2 };
        // The group of a producer is its topic, so that the broker can ask for the topic's transactions.
        client
            .request(code)
            .with("a", self.topic)
            .with("b", self.topic)
            .with("c", stored_names::AUTO_CREATE_TOPIC)
            .with("d", 4)
            .with("e", queue.id)
            .with("f", self.flag)
            .with("g", self.born_ms)
            .with("h", 0)
            .with("i", &self.properties)
            .with("j", 0)
            .with("m", self.is_batch)
            .body(self.body.clone())
    }
}

/// Properties are made of texts.
fn text(properties: Vec<u8>) -> String {
    String::from_utf8(properties).expect("names and values are texts, and separators are ASCII")
}
