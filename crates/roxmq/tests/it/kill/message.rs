//! The messages of the ledger: everything about one follows from who sent it and its number.

use super::TOPIC;
use crate::client::properties;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;

/// The longest filling; bodies of many lengths end at many places in the log's files.
const FILLING_MAX: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    pub producer: u32,
    pub sequence: u32,
}

impl Message {
    pub fn body(self) -> Vec<u8> {
        let mut body = format!("{}/{}/", self.producer, self.sequence).into_bytes();
        let letter = b'a' + (self.sequence % 26) as u8;
        body.resize(body.len() + self.sequence as usize * 37 % FILLING_MAX, letter);
        body
    }

    /// The message that has this body, if it is one of ours to the last byte.
    pub fn of_body(body: &[u8]) -> Option<Message> {
        let text = std::str::from_utf8(body).ok()?;
        let mut parts = text.split('/');
        let mut number = || parts.next()?.parse().ok();
        let message = Message { producer: number()?, sequence: number()? };
        (message.body() == body).then_some(message)
    }

    /// Every second message has keys.
    pub fn is_keyed(self) -> bool {
        self.sequence.is_multiple_of(2)
    }

    pub fn properties(self) -> String {
        if self.is_keyed() {
            properties(&[("KEYS", &self.key()), ("UNIQ_KEY", &self.unique_key())])
        } else {
            String::new()
        }
    }

    /// Asks for the message by one of its keys.
    pub fn query(self) -> Command {
        let by_key = self.sequence.is_multiple_of(4);
        Command::request(request::QUERY_MESSAGE)
            .with("topic", TOPIC)
            .with("key", if by_key { self.key() } else { self.unique_key() })
            .with("maxNum", 32)
            .with("beginTimestamp", 0)
            .with("endTimestamp", i64::MAX)
    }

    fn key(self) -> String {
        format!("k{}-{}", self.producer, self.sequence)
    }

    fn unique_key(self) -> String {
        format!("U{}-{}", self.producer, self.sequence)
    }
}
