//! What happens to messages in flight, as bodies of state records. `docs/formats/pop-state.md` has the picture.
//!
//! A record holds the changes of one pop, of a burst of acknowledgements, or of what came again; it names a queue and
//! then what happens there. Values are absolute, so that making a change twice is the same as making it once.

mod read;

pub(crate) use read::read;

use super::batch::{Batch, BatchKey, Distances, Messages};
use roxmq_protocol::body::order_info::OrderInfo;
use roxmq_protocol::json::ToJson;
use roxmq_store::{Millis, QueueId};

const VERSION: u8 = 1;

const QUEUE: u8 = 1;
const POPPED: u8 = 2;
const FINISHED: u8 = 3;
const MOVED: u8 = 4;
const ORDERED: u8 = 5;
const ORDER_FORGOTTEN: u8 = 6;
const HELD: u8 = 7;

/// In the count of messages: each has its distance behind it.
const GAPS: u8 = 0x80;

/// The queue of a group that changes are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueName<'a> {
    pub(crate) group: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) id: QueueId,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PopChange {
    /// A batch is in flight, and the group goes on at `next`.
    Popped { key: BatchKey, batch: Batch, next: i64 },
    /// Messages are acknowledged, or were put where they come again from.
    Finished { key: BatchKey, messages: Messages },
    /// One message of a batch is invisible for another time, in a batch of its own.
    Moved { from: BatchKey, index: usize, to: BatchKey, visible_at: Millis, revive_queue: u8 },
    /// What of an ordered queue is out, and where the group goes on.
    Ordered { info: OrderInfo, next: i64 },
    /// Nothing of an ordered queue is out.
    OrderForgotten,
    /// A batch as it is; in snapshots.
    Held { key: BatchKey, batch: Batch },
}

#[derive(Debug, thiserror::Error)]
pub enum PopRecordError {
    #[error("the version is {0}, known is {VERSION}")]
    Version(u8),
    #[error("it ends in the middle of a change")]
    Truncated,
    #[error("the kind of change {0} is unknown")]
    Kind(u8),
    #[error("a name isn't UTF-8")]
    Name,
    #[error("a change names no queue")]
    NoQueue,
    #[error("the message {0} of a batch is none")]
    Index(u8),
    #[error("what an ordered queue has out can't be read: {0}")]
    Order(#[from] roxmq_protocol::json::JsonError),
}

/// A body in the making.
#[derive(Debug, Default)]
pub(crate) struct PopRecord {
    bytes: Vec<u8>,
}

impl PopRecord {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What follows is about this queue.
    pub(crate) fn queue(&mut self, name: QueueName<'_>) {
        if self.bytes.is_empty() {
            self.bytes.push(VERSION);
        }
        self.bytes.push(QUEUE);
        for text in [name.group, name.topic] {
            // Names are checked to be much shorter.
            self.bytes.extend_from_slice(&(text.len() as u16).to_be_bytes());
            self.bytes.extend_from_slice(text.as_bytes());
        }
        self.bytes.extend_from_slice(&name.id.0.to_be_bytes());
    }

    pub(crate) fn push(&mut self, change: &PopChange) {
        match change {
            PopChange::Popped { key, batch, next } => {
                self.kind(POPPED, *key);
                self.longs(&[batch.visible_at.0, *next]);
                self.bytes.push(batch.revive_queue);
                self.distances(&batch.distances);
            }
            PopChange::Finished { key, messages } => {
                self.kind(FINISHED, *key);
                self.bytes.extend_from_slice(&messages.0.to_be_bytes());
            }
            PopChange::Moved { from, index, to, visible_at, revive_queue } => {
                self.kind(MOVED, *from);
                self.bytes.push(*index as u8);
                self.longs(&[to.start, to.pop_time, visible_at.0]);
                self.bytes.push(*revive_queue);
            }
            PopChange::Ordered { info, next } => {
                self.bytes.push(ORDERED);
                self.longs(&[*next]);
                let json = info.to_json();
                self.bytes.extend_from_slice(&(json.len() as u32).to_be_bytes());
                self.bytes.extend_from_slice(&json);
            }
            PopChange::OrderForgotten => self.bytes.push(ORDER_FORGOTTEN),
            PopChange::Held { key, batch } => {
                self.kind(HELD, *key);
                self.longs(&[batch.visible_at.0]);
                self.bytes.push(batch.revive_queue);
                self.distances(&batch.distances);
                for messages in [batch.pending, batch.moved] {
                    self.bytes.extend_from_slice(&messages.0.to_be_bytes());
                }
            }
        }
    }

    fn kind(&mut self, kind: u8, key: BatchKey) {
        self.bytes.push(kind);
        self.longs(&[key.start, key.pop_time]);
    }

    fn longs(&mut self, values: &[i64]) {
        values.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_be_bytes()));
    }

    fn distances(&mut self, distances: &Distances) {
        match distances {
            Distances::Run(count) => self.bytes.push(*count),
            Distances::Each(each) => {
                self.bytes.push(each.len() as u8 | GAPS);
                each.iter().for_each(|distance| self.bytes.extend_from_slice(&distance.to_be_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAME: QueueName<'static> = QueueName { group: "G", topic: "T", id: QueueId(3) };

    fn key(start: i64) -> BatchKey {
        BatchKey { start, pop_time: 7 }
    }

    fn changes() -> Vec<PopChange> {
        let batch = |distances| Batch::new(distances, Millis(99), 2);
        vec![
            PopChange::Popped { key: key(5), batch: batch(Distances::Run(32)), next: 37 },
            PopChange::Popped { key: key(40), batch: batch(Distances::Each([1, 700].into())), next: 800 },
            PopChange::Finished { key: key(5), messages: Messages(0b101) },
            PopChange::Moved { from: key(5), index: 31, to: key(36), visible_at: Millis(1), revive_queue: 7 },
            PopChange::Ordered { info: OrderInfo { pop_time: 4, ..OrderInfo::default() }, next: 9 },
            PopChange::OrderForgotten,
            PopChange::Held {
                key: key(5),
                batch: Batch { moved: Messages(0b1), ..batch(Distances::Run(2)) },
            },
        ]
    }

    fn record(changes: &[PopChange]) -> PopRecord {
        let mut record = PopRecord::default();
        record.queue(NAME);
        changes.iter().for_each(|change| record.push(change));
        record
    }

    #[test]
    fn changes_come_back_with_their_queue() {
        let mut record = record(&changes());
        record.queue(QueueName { group: "H", ..NAME });
        record.push(&PopChange::OrderForgotten);
        let mut back = Vec::new();
        read(record.bytes(), |name, change| back.push((name.group.to_owned(), change))).expect("changes");
        let mut expected: Vec<_> = changes().into_iter().map(|change| ("G".to_owned(), change)).collect();
        expected.push(("H".to_owned(), PopChange::OrderForgotten));
        assert_eq!(back, expected);
    }

    #[test]
    fn the_bytes_of_an_acknowledgement() {
        let finished = PopChange::Finished { key: BatchKey { start: 5, pop_time: 7 }, messages: Messages(3) };
        let expected = [
            &[1, QUEUE, 0, 1, b'G', 0, 1, b'T', 0, 0, 0, 3, FINISHED][..],
            &[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3],
        ]
        .concat();
        assert_eq!(record(&[finished]).bytes(), expected);
    }

    #[test]
    fn what_is_no_record_says_why() {
        let check = |body: &[u8], expected: &str| {
            let error = read(body, |_, _| {}).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(&[], "ends");
        check(&[9], "version is 9");
        check(&[VERSION, ORDER_FORGOTTEN], "no queue");
        check(&[record(&[]).bytes(), &[77]].concat(), "77 is unknown");
        let whole = record(&changes());
        for cut in [2, 5, 30, whole.bytes().len() - 4] {
            check(&whole.bytes()[..cut], "ends");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_bytes_are_read_without_a_panic(mut body in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(first) = body.first_mut() {
                *first = VERSION;
            }
            let _ = read(&body, |_, _| {});
        }
    }
}
