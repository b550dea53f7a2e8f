//! A producer that sends until the server is gone, and remembers what it was answered.

use super::message::Message;
use super::{QUEUES, TOPIC};
use crate::client::{Peer, batch, number, send};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;

/// Sends under way.
const WINDOW: usize = 8;
/// One send of so many is a batch.
const BATCH_EVERY: u32 = 6;
const BATCH_MESSAGES: u32 = 5;

/// A message that the server said it has, and where.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    pub message: Message,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub phy_offset: i64,
}

pub struct Producer {
    number: u32,
    next: u32,
    rng: fastrand::Rng,
}

/// A send without an answer yet.
struct Sent {
    queue_id: i32,
    messages: Vec<Message>,
}

impl Producer {
    pub fn new(number: u32, rng: fastrand::Rng) -> Producer {
        Producer { number, next: 0, rng }
    }

    /// What was acknowledged before the connection broke; the first answer is reported at once.
    pub fn run(&mut self, port: u16, first_answer: Sender<()>) -> Vec<Acknowledged> {
        let mut acknowledged = Vec::new();
        // The connection breaks in the end: that is what this is about.
        let _ = self.send_until_killed(port, first_answer, &mut acknowledged);
        acknowledged
    }

    fn send_until_killed(
        &mut self,
        port: u16,
        first_answer: Sender<()>,
        acknowledged: &mut Vec<Acknowledged>,
    ) -> io::Result<()> {
        let mut first_answer = Some(first_answer);
        let mut peer = Peer::connect(port)?;
        let mut under_way = HashMap::new();
        let mut broken = Ok(());
        loop {
            while under_way.len() < WINDOW && broken.is_ok() {
                let (sent, request) = self.next_send();
                match peer.send(request) {
                    Ok(opaque) => drop(under_way.insert(opaque, sent)),
                    // There may be answers to read all the same.
                    Err(error) => broken = Err(error),
                }
            }
            let answer = peer.receive()?;
            let sent = under_way.remove(&answer.opaque).expect("an answer to a request of ours");
            acknowledged.extend(read_answer(&sent, &answer));
            if let Some(first_answer) = first_answer.take() {
                first_answer.send(()).expect("the load is not on yet");
            }
        }
    }

    fn next_send(&mut self) -> (Sent, Command) {
        let queue_id = self.rng.i32(0..QUEUES);
        let batched = self.rng.u32(0..BATCH_EVERY) == 0;
        let count = if batched { BATCH_MESSAGES } else { 1 };
        let messages: Vec<_> = (self.next..self.next + count)
            .map(|sequence| Message { producer: self.number, sequence })
            .collect();
        self.next += count;
        let request = if batched {
            let items: Vec<_> =
                messages.iter().map(|message| (message.properties(), message.body())).collect();
            batch(TOPIC, queue_id, &items)
        } else {
            send(TOPIC, queue_id, &messages[0].properties(), messages[0].body())
        };
        (Sent { queue_id, messages }, request)
    }
}

fn read_answer(sent: &Sent, answer: &Command) -> Vec<Acknowledged> {
    assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
    assert_eq!(number(answer, "queueId"), i64::from(sent.queue_id));
    let first = number(answer, "queueOffset");
    let ids: Vec<OffsetMessageId> =
        answer.field("msgId").unwrap().split(',').map(|id| id.parse().unwrap()).collect();
    assert_eq!(ids.len(), sent.messages.len());
    let place = |((message, id), queue_offset): ((&Message, &OffsetMessageId), i64)| Acknowledged {
        message: *message,
        queue_id: sent.queue_id,
        queue_offset,
        phy_offset: id.phy_offset,
    };
    sent.messages.iter().zip(&ids).zip(first..).map(place).collect()
}
