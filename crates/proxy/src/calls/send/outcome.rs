//! What became of messages that a broker has stored.

use crate::message::transaction_id::TransactionId;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{Code, Message, MessageType, SendMessageResponse, SendResultEntry, Status};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;

/// Whether an answer of this code says that the messages are stored, if not as safely as wanted.
pub fn is_stored(code: i32) -> bool {
    entry_code(code).is_some()
}

fn entry_code(code: i32) -> Option<Code> {
    Some(match code {
        response::SUCCESS => Code::Ok,
        response::FLUSH_DISK_TIMEOUT => Code::MasterPersistenceTimeout,
        response::FLUSH_SLAVE_TIMEOUT => Code::SlavePersistenceTimeout,
        response::SLAVE_NOT_AVAILABLE => Code::HaNotAvailable,
        _ => return None,
    })
}

/// An entry for each message, in their order.
pub fn response(messages: &[Message], answer: &Command, broker: &str) -> Result<SendMessageResponse> {
    let code = entry_code(answer.code).ok_or_else(|| Refusal::from_broker(answer))?;
    let first_offset =
        answer.field("queueOffset").and_then(|text| text.parse::<i64>().ok()).unwrap_or_default();
    let status = match code {
        Code::Ok => ok(),
        code => Status {
            code: code.into(),
            message: answer.remark.clone().unwrap_or_else(|| code.as_str_name().to_owned()),
        },
    };
    let entry = |(message, offset): (&Message, i64)| {
        let system = message.system_properties.as_ref();
        let id = system.map(|system| system.message_id.clone()).unwrap_or_default();
        let is_half = system.is_some_and(|system| system.message_type() == MessageType::Transaction);
        SendResultEntry {
            status: Some(status.clone()),
            transaction_id: half_id(answer, broker, offset, &id)
                .filter(|_| is_half)
                .unwrap_or_else(|| id.clone()),
            message_id: id,
            offset,
            recall_handle: answer.field("recallHandle").unwrap_or_default().to_owned(),
        }
    };
    let entries: Vec<_> = messages.iter().zip(first_offset..).map(entry).collect();
    Ok(SendMessageResponse { status: Some(status), entries })
}

/// The id of the transaction whose half message was stored.
fn half_id(answer: &Command, broker: &str, queue_offset: i64, uniq_key: &str) -> Option<String> {
    let id: OffsetMessageId = answer.field("msgId")?.parse().ok()?;
    Some(TransactionId { broker, queue_offset, phy_offset: id.phy_offset, uniq_key }.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SystemProperties;

    fn message(id: &str) -> Message {
        let system = SystemProperties { message_id: id.to_owned(), ..SystemProperties::default() };
        Message { system_properties: Some(system), ..Message::default() }
    }

    /// The Java server gives one entry for a whole batch, and its clients take the send for failed.
    #[test]
    fn each_message_of_a_batch_has_its_entry() {
        let answer = Command::response(0).with("queueOffset", 41).with("queueId", 2);
        let response = response(&[message("a"), message("b")], &answer, "b").expect("stored");
        let entries: Vec<_> =
            response.entries.iter().map(|entry| (entry.message_id.as_str(), entry.offset)).collect();
        assert_eq!(entries, [("a", 41), ("b", 42)]);
        assert_eq!(response.status, Some(ok()));
    }

    #[test]
    fn a_half_message_says_where_it_lies() {
        let mut half = message("01AB");
        if let Some(system) = &mut half.system_properties {
            system.set_message_type(MessageType::Transaction);
        }
        let answer =
            Command::response(0).with("queueOffset", 7).with("msgId", "7F00000100002A9F0000000000001267");
        let response = response(&[half], &answer, "broker-a").expect("stored");
        assert_eq!(response.entries[0].transaction_id, "v1 broker-a 7 4711 01AB");
    }

    #[test]
    fn codes_of_the_broker_become_codes_of_the_entry() {
        let check = |code: i32, expected: Code| {
            let answer = Command::response(code).with("queueOffset", 1).with("recallHandle", "h");
            let response = response(&[message("a")], &answer, "b").expect("stored");
            let entry = &response.entries[0];
            assert_eq!(entry.status.as_ref().map(|status| status.code), Some(expected.into()));
            assert_eq!(response.status.map(|status| status.code), Some(expected.into()));
            assert_eq!((entry.transaction_id.as_str(), entry.recall_handle.as_str()), ("a", "h"));
        };
        check(response::SUCCESS, Code::Ok);
        check(response::FLUSH_DISK_TIMEOUT, Code::MasterPersistenceTimeout);
        check(response::FLUSH_SLAVE_TIMEOUT, Code::SlavePersistenceTimeout);
        check(response::SLAVE_NOT_AVAILABLE, Code::HaNotAvailable);
        let refused = super::response(&[message("a")], &Command::response(response::SYSTEM_BUSY), "b");
        assert_eq!(refused.map_err(|refusal| refusal.code), Err(Code::TooManyRequests));
    }
}
