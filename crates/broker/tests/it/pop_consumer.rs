//! What a POP consumer does with the answers it gets.

use crate::requests::{Message, messages, number};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;

/// A popped message and what is needed to acknowledge it.
#[derive(Clone, Debug)]
pub struct Popped {
    pub message: Message,
    /// The topic it lies in.
    topic: String,
    pub receipt: String,
}

impl Popped {
    /// The messages of an answer to a pop of the group `g`, as the Java client finds their receipts.
    pub fn of(answer: &Command) -> Vec<Popped> {
        let starts = answer.field("startOffsetInfo").unwrap_or_default();
        let [pop_time, invisible, revive_queue] =
            ["popTime", "invisibleTime", "reviveQid"].map(|name| number(answer, name));
        let with_receipt = |message: Message| {
            let receipt = message.property("POP_CK").map(str::to_owned).unwrap_or_else(|| {
                let of_queue = |item: &&str| {
                    item.split(' ').nth(1).and_then(|id| id.parse().ok()) == Some(message.queue_id)
                };
                let item = starts.split(';').find(of_queue).expect("the queue has a start");
                let parts: Vec<_> = item.split(' ').collect();
                format!(
                    "{} {pop_time} {invisible} {revive_queue} {} broker-a {} {}",
                    parts[2], parts[0], message.queue_id, message.queue_offset
                )
            });
            let topic = match receipt.split(' ').nth(4) {
                Some("1") => format!("%RETRY%g_{}", message.topic),
                Some("2") => format!("%RETRY%g+{}", message.topic),
                _ => message.topic.clone(),
            };
            Popped { message, topic, receipt }
        };
        messages(answer).into_iter().map(with_receipt).collect()
    }

    /// The message under the receipt that the answer to a changed invisible time gives it.
    pub fn renewed(&self, answer: &Command) -> Popped {
        let [pop_time, invisible, revive_queue] =
            ["popTime", "invisibleTime", "reviveQid"].map(|name| number(answer, name));
        let parts: Vec<_> = self.receipt.split(' ').collect();
        let offset = self.message.queue_offset;
        let receipt = format!(
            "{offset} {pop_time} {invisible} {revive_queue} {} {} {} {offset}",
            parts[4], parts[5], parts[6]
        );
        Popped { receipt, ..self.clone() }
    }
}

pub fn texts(answer: &Command) -> Vec<String> {
    messages(answer).iter().map(|message| message.text().to_owned()).collect()
}

fn about(code: i32, group: &str, popped: &Popped) -> Command {
    Command::request(code)
        .with("consumerGroup", group)
        .with("topic", popped.topic.as_str())
        .with("queueId", popped.message.queue_id)
        .with("extraInfo", popped.receipt.as_str())
        .with("offset", popped.message.queue_offset)
}

pub fn ack(group: &str, popped: &Popped) -> Command {
    about(request::ACK_MESSAGE, group, popped)
}

pub fn change_invisible(group: &str, popped: &Popped, invisible_ms: i64) -> Command {
    about(request::CHANGE_MESSAGE_INVISIBLETIME, group, popped).with("invisibleTime", invisible_ms)
}

/// Acknowledges messages of the queue 0 of the topic T, by their distances from where the pop began.
pub fn batch_ack(group: &str, answer: &Command, distances: &[u8]) -> Command {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = distances.iter().fold(0_u32, |bits, distance| bits | 1 << distance);
    let [a, b, c, _] = bits.to_le_bytes();
    let group_of_three = u32::from_be_bytes([0, a, b, c]);
    let base64: String = [18, 12, 6, 0]
        .map(|shift| char::from(DIGITS[(group_of_three >> shift) as usize & 63]))
        .iter()
        .collect();
    let body = format!(
        r#"{{"brokerName":"broker-a","acks":[{{"c":"{group}","t":"T","r":"0","so":0,"q":0,"rq":{},"pt":{},"it":{},"b":"{base64}"}}]}}"#,
        number(answer, "reviveQid"),
        number(answer, "popTime"),
        number(answer, "invisibleTime"),
    );
    Command::request(request::BATCH_ACK_MESSAGE).body(body)
}
