//! What must be there: each acknowledged message, and each that a restart has shown, at its place and nowhere else.

use super::TOPIC;
use super::load::Acknowledged;
use super::message::Message;
use crate::client::{Peer, about_queue, pull};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::record::{Record, Records};
use std::collections::{BTreeMap, HashMap};

const PULL_MESSAGES: i32 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    message: Message,
    phy_offset: i64,
}

pub struct Ledger {
    /// Each queue's messages by their offsets.
    queues: Vec<BTreeMap<i64, Entry>>,
    /// The queue and the offset of each message.
    places: HashMap<Message, (i32, i64)>,
    /// Up to here each queue has been seen whole after a restart.
    seen: Vec<i64>,
}

impl Ledger {
    pub fn new(queues: i32) -> Ledger {
        let queues = queues as usize;
        Ledger { queues: vec![BTreeMap::new(); queues], places: HashMap::new(), seen: vec![0; queues] }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    #[track_caller]
    pub fn add(&mut self, sent: Acknowledged) {
        let entry = Entry { message: sent.message, phy_offset: sent.phy_offset };
        self.put(sent.queue_id, sent.queue_offset, entry);
    }

    #[track_caller]
    fn put(&mut self, queue_id: i32, offset: i64, entry: Entry) {
        let other = self.queues[queue_id as usize].insert(offset, entry);
        assert_eq!(other, None, "{entry:?} has the place of another: offset {offset} of queue {queue_id}");
        let place = (queue_id, offset);
        let other = self.places.insert(entry.message, place);
        assert_eq!(other, None, "{entry:?} is there twice, the second time at {place:?}");
    }

    /// Holds what came since the last restart against the server.
    #[track_caller]
    pub fn verify_new(&mut self, peer: &mut Peer) {
        self.verify(peer, self.seen.clone());
    }

    #[track_caller]
    pub fn verify_all(&mut self, peer: &mut Peer) {
        self.verify(peer, vec![0; self.queues.len()]);
    }

    #[track_caller]
    fn verify(&mut self, peer: &mut Peer, from: Vec<i64>) {
        let mut found = Vec::new();
        for (queue_id, from) in (0..).zip(from) {
            let end = self.verify_queue(peer, queue_id, from);
            self.verify_order(queue_id);
            self.seen[queue_id as usize] = end;
            found.extend(self.queues[queue_id as usize].range(from..).map(|(_, entry)| *entry));
        }
        verify_by_key(peer, &found);
        verify_by_id(peer, &found);
    }

    /// From `from` to its end the queue has each message of the ledger, with no hole. Those that were never
    /// acknowledged may be there, too, and then they stay.
    #[track_caller]
    fn verify_queue(&mut self, peer: &mut Peer, queue_id: i32, from: i64) -> i64 {
        let min = peer.number(about_queue(request::GET_MIN_OFFSET, TOPIC, queue_id), "offset");
        let max = peer.number(about_queue(request::GET_MAX_OFFSET, TOPIC, queue_id), "offset");
        assert_eq!(min, 0, "queue {queue_id} has lost its beginning");
        let mut next = from;
        while next < max {
            let answer = peer.call(pull(TOPIC, queue_id, next, PULL_MESSAGES));
            assert_eq!(answer.code, response::SUCCESS, "queue {queue_id} from {next} to {max}: {answer:?}");
            for record in Records::new(&answer.body) {
                let record = record.unwrap();
                assert_eq!((record.queue_id, record.queue_offset), (queue_id, next));
                self.verify_record(&record);
                next += 1;
            }
        }
        let lost: Vec<_> = self.queues[queue_id as usize].range(max..).take(5).collect();
        assert!(lost.is_empty(), "queue {queue_id} ends at {max}, without {lost:?} and maybe more");
        max
    }

    #[track_caller]
    fn verify_record(&mut self, record: &Record<'_>) {
        record.verify_crc().unwrap();
        let message = Message::of_body(record.body).unwrap_or_else(|| panic!("nobody sent {record:?}"));
        let entry = Entry { message, phy_offset: record.phy_offset };
        match self.queues[record.queue_id as usize].get(&record.queue_offset) {
            Some(known) => assert_eq!(*known, entry, "offset {} of {}", record.queue_offset, record.queue_id),
            None => self.put(record.queue_id, record.queue_offset, entry),
        }
    }

    /// Each producer's messages are in the order in which it sent them.
    #[track_caller]
    fn verify_order(&self, queue_id: i32) {
        let mut last = HashMap::new();
        for (offset, Entry { message, .. }) in &self.queues[queue_id as usize] {
            let before = last.insert(message.producer, message.sequence);
            assert!(
                before < Some(message.sequence),
                "{message:?} at {offset} of {queue_id} is after {before:?}"
            );
        }
    }
}

#[track_caller]
fn verify_by_key(peer: &mut Peer, entries: &[Entry]) {
    let keyed: Vec<_> = entries.iter().filter(|entry| entry.message.is_keyed()).collect();
    let answers = peer.call_all(keyed.iter().map(|entry| entry.message.query()).collect());
    for (entry, answer) in keyed.into_iter().zip(&answers) {
        assert_is(entry, answer, "by key");
    }
}

#[track_caller]
fn verify_by_id(peer: &mut Peer, entries: &[Entry]) {
    let view = |entry: &Entry| Command::request(request::VIEW_MESSAGE_BY_ID).with("offset", entry.phy_offset);
    let answers = peer.call_all(entries.iter().map(view).collect());
    for (entry, answer) in entries.iter().zip(&answers) {
        assert_is(entry, answer, "by id");
    }
}

/// The answer holds the message, once.
#[track_caller]
fn assert_is(entry: &Entry, answer: &Command, how: &str) {
    assert_eq!(answer.code, response::SUCCESS, "{entry:?} {how}: {answer:?}");
    let found: Vec<_> = Records::new(&answer.body)
        .map(|record| record.unwrap())
        .map(|record| (Message::of_body(record.body), record.phy_offset))
        .collect();
    assert_eq!(found, [(Some(entry.message), entry.phy_offset)], "{how}");
}
