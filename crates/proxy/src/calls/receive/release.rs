//! Messages that were popped for a client which didn't take them: they are soon visible to others again.

use super::popped;
use super::renewer::Renewer;
use super::screen::handle_of;
use crate::client::Client;
use crate::invoker::success;
use crate::receipt::{Handle, Received};
use crate::refusal::Result;
use crate::schema::Message;
use crate::waiting::Leftovers;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Where messages come from, and for whom.
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
    async fn release(&self, messages: &[OnTheWay]) {
        for message in messages {
            if let Err(refusal) = self.release_one(message).await {
                tracing::debug!(topic = %self.topic, group = %self.group, %refusal, "a message stays out until its time is up");
            }
        }
    }

    /// As what a message of it is known to the broker.
    pub fn received<'a>(&'a self, message: &'a Message) -> Received<'a> {
        let system = message.system_properties.as_ref();
        self.received_from(system.and_then(|system| system.lite_topic.as_deref()))
    }

    fn received_from<'a>(&'a self, lite_topic: Option<&'a str>) -> Received<'a> {
        Received { topic: &self.topic, group: &self.group, lite_topic: lite_topic.filter(|_| self.is_lite) }
    }

    async fn release_one(&self, message: &OnTheWay) -> Result<()> {
        let handle = Handle::parse(&message.handle)?;
        let received = self.received_from(message.lite_topic.as_deref());
        // It wasn't tried, so it doesn't count as tried.
        let change = handle.change_invisible(&self.client, received, self.released_ms).with("suspend", true);
        success(self.client.call(&self.broker, change, TIMEOUT).await?)?;
        Ok(())
    }
}

/// What a message that went out is given back by.
struct OnTheWay {
    handle: String,
    lite_topic: Option<String>,
}

impl OnTheWay {
    fn of(message: &Message) -> Self {
        let system = message.system_properties.as_ref();
        let lite_topic = system.and_then(|system| system.lite_topic.clone());
        OnTheWay { handle: handle_of(message).to_owned(), lite_topic }
    }
}

/// Messages on their way to the client. Unless they have arrived when this is dropped they are released, all of them:
/// clients pass over what came before a stream broke.
pub struct Undelivered {
    source: Arc<Source>,
    on_the_way: Vec<OnTheWay>,
    /// Those that didn't set out yet. The last is the first to go.
    messages: Vec<Message>,
}

impl Undelivered {
    pub fn new(source: Arc<Source>, mut messages: Vec<Message>) -> Self {
        let on_the_way = messages.iter().map(OnTheWay::of).collect();
        messages.reverse();
        Undelivered { source, on_the_way, messages }
    }

    pub fn is_empty(&self) -> bool {
        self.on_the_way.is_empty()
    }

    pub fn next(&mut self) -> Option<Message> {
        let message = self.messages.pop()?;
        if let Some(renewer) = &self.source.renewer {
            renewer.keep(&self.source, &message);
        }
        Some(message)
    }

    /// The client has taken them.
    pub fn arrived(&mut self) {
        self.on_the_way.clear();
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if self.on_the_way.is_empty() {
            return;
        }
        if let Some(renewer) = &self.source.renewer {
            renewer.forget(&self.source, self.on_the_way.iter().map(|message| message.handle.as_str()));
        }
        // Without a runtime the process ends, and so does the pop.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (source, messages) = (Arc::clone(&self.source), std::mem::take(&mut self.on_the_way));
            runtime.spawn(async move { source.release(&messages).await });
        }
    }
}

/// What a pop brings after its client has gone.
impl Leftovers for Arc<Source> {
    async fn take(self, answer: Command) {
        if answer.code != response::SUCCESS {
            return;
        }
        match popped::read(&answer, &self) {
            Ok(popped) => {
                let messages: Vec<_> = popped.iter().map(|popped| OnTheWay::of(&popped.message)).collect();
                self.release(&messages).await;
            }
            Err(refusal) => {
                tracing::warn!(topic = %self.topic, %refusal, "popped messages stay out until their time is up")
            }
        }
    }
}
