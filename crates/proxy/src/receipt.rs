//! Receipt handles: what a client acknowledges a message with. To clients they are texts without meaning.
//!
//! A handle is the broker's receipt, followed by where the message lies in the broker's log, which only the way to
//! the dead-letter queue needs.

use crate::client::Client;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::names::pop_retry_topic;
use roxmq_protocol::receipt::{PopOrigin, Receipt};

/// Where the log's offset stands, counted in blanks before it.
const PHY_OFFSET_AT: usize = 8;

/// As what the message of a handle was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    pub topic: &'a str,
    pub group: &'a str,
    pub lite_topic: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle<'a> {
    /// As the client has it.
    pub text: &'a str,
    pub receipt: Receipt<'a>,
    pub queue_offset: i64,
    /// None in handles that a client has put together itself.
    pub phy_offset: Option<i64>,
}

impl<'a> Handle<'a> {
    pub fn parse(text: &'a str) -> Result<Self> {
        let invalid = |reason: String| Refusal::new(Code::InvalidReceiptHandle, reason);
        let receipt = Receipt::parse(text).map_err(|error| invalid(error.to_string()))?;
        let queue_offset =
            receipt.queue_offset.ok_or_else(|| invalid("the receipt handle has no offset".to_owned()))?;
        let phy_offset = match text.split(' ').nth(PHY_OFFSET_AT) {
            Some(part) => {
                let offset = part.parse::<i64>().map_err(|_| {
                    invalid("the receipt handle has no number for the offset in the log".to_owned())
                })?;
                Some(offset).filter(|offset| *offset >= 0)
            }
            None => None,
        };
        Ok(Handle { text, receipt, queue_offset, phy_offset })
    }

    /// Refused if the message is visible to others again.
    pub fn check_expiry(&self, now_ms: i64) -> Result<()> {
        let Receipt { pop_time, invisible_time, .. } = self.receipt;
        if pop_time.saturating_add(invisible_time) <= now_ms {
            return Err(Refusal::new(Code::InvalidReceiptHandle, "the receipt handle has expired"));
        }
        Ok(())
    }

    pub fn broker(&self) -> &'a str {
        self.receipt.broker_name
    }

    /// The topic that the message lies in: that of the client, or one of its retry topics.
    pub fn real_topic(&self, topic: &str, group: &str) -> String {
        match self.receipt.origin {
            PopOrigin::Topic => topic.to_owned(),
            PopOrigin::RetryV1 => pop_retry_topic(topic, group, false),
            PopOrigin::RetryV2 => pop_retry_topic(topic, group, true),
        }
    }

    /// The request that acknowledges the message.
    pub fn ack(&self, client: &Client, of: Received<'_>) -> Command {
        self.request(client.request(request::ACK_MESSAGE), of)
    }

    /// The request that makes the message visible again after `invisible_ms` from now.
    pub fn change_invisible(&self, client: &Client, of: Received<'_>, invisible_ms: i64) -> Command {
        let request = client.request(request::CHANGE_MESSAGE_INVISIBLETIME);
        self.request(request, of).with("invisibleTime", invisible_ms)
    }

    fn request(&self, request: Command, of: Received<'_>) -> Command {
        request
            .with("consumerGroup", of.group)
            .with("topic", self.real_topic(of.topic, of.group))
            .with("queueId", self.receipt.queue_id)
            .with("extraInfo", self.text)
            .with("offset", self.queue_offset)
            .with_some("liteTopic", of.lite_topic.filter(|lite_topic| !lite_topic.is_empty()))
    }

    /// The handle that takes this one's place, as the broker's answer to a change of the invisible time says.
    pub fn renewed(&self, answer: &Command) -> Result<String> {
        let number = |name| answer.field(name).and_then(|text| text.parse().ok());
        let renewed = (|| {
            Some(Receipt {
                pop_time: number("popTime")?,
                invisible_time: number("invisibleTime")?,
                revive_queue: answer.field("reviveQid")?.parse().ok()?,
                ..self.receipt
            })
        })();
        let receipt = renewed.ok_or_else(|| {
            Refusal::new(Code::InternalServerError, "the broker's answer lacks the new time of the message")
        })?;
        Ok(text_of(&receipt, self.phy_offset))
    }
}

/// The text of a handle.
pub fn text_of(receipt: &Receipt<'_>, phy_offset: Option<i64>) -> String {
    let mut text = Vec::with_capacity(96);
    receipt.write(&mut text);
    let text = String::from_utf8_lossy(&text);
    match phy_offset {
        Some(offset) => format!("{text} {offset}"),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on the wire of the Java server.
    const TEXT: &str = "0 1795987636606 15000 1 1 gx-broker 0 3 4223866";

    #[test]
    fn a_handle_comes_back() {
        let handle = Handle::parse(TEXT).expect("a handle");
        assert_eq!((handle.queue_offset, handle.phy_offset), (3, Some(4_223_866)));
        assert_eq!((handle.broker(), handle.receipt.queue_id), ("gx-broker", 0));
        assert_eq!(text_of(&handle.receipt, handle.phy_offset), TEXT);
        assert_eq!(handle.real_topic("T", "G"), "%RETRY%G_T");
        let short = Handle::parse("0 1 2 1 2 b 0 3").expect("a handle");
        assert_eq!((short.phy_offset, short.real_topic("T", "G")), (None, "%RETRY%G+T".to_owned()));
        assert_eq!(Handle::parse("0 1 2 1 0 b 0 3 -1").map(|handle| handle.phy_offset), Ok(None));
    }

    #[test]
    fn what_is_no_handle_is_refused() {
        for text in ["", "abc", "0 1 2 3 0 b 0", "0 1 2 3 9 b 0 3", "0 1 2 3 0 b 0 3 x", "a b c d e f g h i"]
        {
            let code = Handle::parse(text).map(drop).map_err(|refusal| refusal.code);
            assert_eq!(code, Err(Code::InvalidReceiptHandle), "{text}");
        }
    }

    #[test]
    fn a_handle_expires_with_the_messages_time() {
        let handle = Handle::parse("0 1000 500 1 0 b 0 3").expect("a handle");
        assert_eq!(handle.check_expiry(1_499), Ok(()));
        assert!(handle.check_expiry(1_500).is_err());
        let endless = Handle::parse("0 9223372036854775807 500 1 0 b 0 3").expect("a handle");
        assert_eq!(endless.check_expiry(i64::MAX - 1), Ok(()));
    }

    #[test]
    fn the_next_handle_has_the_new_times() {
        let handle = Handle::parse(TEXT).expect("a handle");
        let answer = Command::response(0).with("popTime", 7).with("invisibleTime", 8).with("reviveQid", 2);
        assert_eq!(handle.renewed(&answer).as_deref(), Ok("0 7 8 2 1 gx-broker 0 3 4223866"));
        assert!(handle.renewed(&Command::response(0)).is_err());
    }
}
