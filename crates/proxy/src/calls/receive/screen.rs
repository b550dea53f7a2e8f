//! The last look at messages before a client gets them. The broker tells tags apart by their hashes only, and hands
//! out what has been tried too often.

use super::popped::Popped;
use super::release::Source;
use crate::calls::dead_letter;
use crate::receipt::Handle;
use crate::refusal::Result;
use crate::schema::Message;
use std::collections::BTreeSet;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

pub struct Screen {
    /// None for all.
    pub tags: BTreeSet<String>,
    pub attempts_max: i32,
}

enum Fate {
    Deliver,
    /// Nobody in the group wants it.
    Drop,
    /// It was tried often enough.
    Bury,
}

/// What was popped, by what becomes of it.
#[derive(Default)]
pub struct Screened {
    pub deliver: Vec<Message>,
    pub others: Others,
}

#[derive(Default)]
pub struct Others {
    drop: Vec<Message>,
    bury: Vec<Message>,
}

impl Others {
    pub fn is_empty(&self) -> bool {
        self.drop.is_empty() && self.bury.is_empty()
    }

    /// Is done with them. If that fails or is cut short, they come again and are looked at again.
    pub async fn put_away(&self, source: &Source) {
        for message in &self.drop {
            log(source, drop_unwanted(source, message).await);
        }
        for message in &self.bury {
            log(source, bury(source, message).await);
        }
    }
}

fn log(source: &Source, done: Result<()>) {
    if let Err(refusal) = done {
        tracing::warn!(topic = %source.topic, group = %source.group, %refusal, "a message can't be put away");
    }
}

impl Screen {
    pub fn look(&self, popped: Vec<Popped>) -> Screened {
        let mut screened = Screened::default();
        for popped in popped {
            let to = match self.fate(&popped) {
                Fate::Deliver => &mut screened.deliver,
                Fate::Drop => &mut screened.others.drop,
                Fate::Bury => &mut screened.others.bury,
            };
            to.push(popped.message);
        }
        screened
    }

    fn fate(&self, popped: &Popped) -> Fate {
        let tag = popped.message.system_properties.as_ref().and_then(|system| system.tag.as_deref());
        if !self.tags.is_empty() && !tag.is_some_and(|tag| self.tags.contains(tag)) {
            Fate::Drop
        } else if popped.reconsume_times >= self.attempts_max {
            Fate::Bury
        } else {
            Fate::Deliver
        }
    }
}

async fn drop_unwanted(source: &Source, message: &Message) -> Result<()> {
    let handle = Handle::parse(handle_of(message))?;
    let ack = handle.ack(&source.client, source.received(message));
    source.client.call(&source.broker, ack, TIMEOUT).await?;
    Ok(())
}

async fn bury(source: &Source, message: &Message) -> Result<()> {
    let handle = Handle::parse(handle_of(message))?;
    let id = message.system_properties.as_ref().map_or("", |system| system.message_id.as_str());
    dead_letter::bury(&source.client, source.received(message), &handle, id).await
}

pub fn handle_of(message: &Message) -> &str {
    let system = message.system_properties.as_ref();
    system.and_then(|system| system.receipt_handle.as_deref()).unwrap_or_default()
}
