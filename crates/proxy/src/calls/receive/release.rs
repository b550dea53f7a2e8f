//! Messages that were popped for a client which didn't take them: they are soon visible to others again.

use super::popped;
use super::renewer::Renewer;
use super::screen::handle_of;
use crate::client::Client;
use crate::invoker::Pending;
use crate::receipt::{Handle, Received};
use crate::refusal::Result;
use crate::schema::Message;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Where messages come from, and for whom.
#[derive(Clone)]
pub struct Source {
    pub client: Arc<Client>,
    pub broker: Arc<str>,
    pub topic: Arc<str>,
    pub group: Arc<str>,
    /// They come out of the lite topics that the client subscribes to.
    pub is_lite: bool,
    /// After this time they come again.
    pub released_ms: i64,
    /// For messages that are kept out of sight for as long as the client works on them.
    pub renewer: Option<Renewer>,
}

impl Source {
    async fn release(&self, messages: &[Message]) {
        for message in messages {
            if let Err(refusal) = self.release_one(message).await {
                tracing::debug!(topic = %self.topic, group = %self.group, %refusal, "a message stays out until its time is up");
            }
        }
    }

    /// As what a message of it is known to the broker.
    pub fn received<'a>(&'a self, message: &'a Message) -> Received<'a> {
        let system = message.system_properties.as_ref();
        let lite_topic = system.and_then(|system| system.lite_topic.as_deref()).filter(|_| self.is_lite);
        Received { topic: &self.topic, group: &self.group, lite_topic }
    }

    async fn release_one(&self, message: &Message) -> Result<()> {
        let handle = Handle::parse(handle_of(message))?;
        // It wasn't tried, so it doesn't count as tried.
        let change = handle.change_invisible(&self.client, self.received(message), self.released_ms);
        let change = change.with("suspend", true);
        self.client.call(&self.broker, change, TIMEOUT).await?;
        Ok(())
    }
}

/// Messages on their way to the client. What is left of them when this is dropped is released.
pub struct Undelivered {
    source: Source,
    /// The last is the first to go.
    messages: Vec<Message>,
    /// The handles of those that went out, until it is known that they arrived. Only where they are renewed.
    on_the_way: Vec<String>,
}

impl Undelivered {
    pub fn new(source: Source, mut messages: Vec<Message>) -> Self {
        messages.reverse();
        Undelivered { source, messages, on_the_way: Vec::new() }
    }

    pub fn next(&mut self) -> Option<Message> {
        let message = self.messages.pop()?;
        if let Some(renewer) = &self.source.renewer {
            renewer.keep(&self.source, &message);
            self.on_the_way.push(handle_of(&message).to_owned());
        }
        Some(message)
    }

    /// The client has read to the end.
    pub fn arrived(&mut self) {
        self.on_the_way.clear();
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if let Some(renewer) = &self.source.renewer {
            // Clients pass over what came before a stream broke. It comes again when its time is up.
            renewer.forget(&self.source, &self.on_the_way);
        }
        let messages = std::mem::take(&mut self.messages);
        // Without a runtime the process ends, and so does the pop.
        if !messages.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let source = self.source.clone();
            runtime.spawn(async move { source.release(&messages).await });
        }
    }
}

/// A pop that the broker hasn't answered. Dropped, because the client doesn't wait any more, it is waited for
/// nevertheless, and what it brings is released.
pub struct PendingPop {
    source: Source,
    /// Gone when it is answered.
    answer: Option<Pending<'static, Command>>,
}

impl PendingPop {
    pub fn start(source: Source, pop: Command, timeout: Duration) -> Self {
        let answer: Pending<'static, Command> = {
            let (client, broker) = (Arc::clone(&source.client), Arc::clone(&source.broker));
            Box::pin(async move { Ok(client.call(&broker, pop, timeout).await?) })
        };
        PendingPop { source, answer: Some(answer) }
    }
}

impl Future for PendingPop {
    type Output = Result<Command>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Command>> {
        let Some(pending) = &mut self.answer else { return Poll::Pending };
        let answer = ready!(pending.as_mut().poll(context));
        self.answer = None;
        Poll::Ready(answer)
    }
}

impl Drop for PendingPop {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(release_when_answered(self.source.clone(), answer));
        }
    }
}

async fn release_when_answered(source: Source, answer: Pending<'static, Command>) {
    let Ok(answer) = answer.await else { return };
    if answer.code != response::SUCCESS {
        return;
    }
    match popped::read(&answer, &source) {
        Ok(popped) => {
            let messages: Vec<_> = popped.into_iter().map(|popped| popped.message).collect();
            source.release(&messages).await;
        }
        Err(refusal) => {
            tracing::warn!(topic = %source.topic, %refusal, "popped messages stay out until their time is up")
        }
    }
}
