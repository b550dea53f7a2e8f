//! What was sent, in order, what of it was acknowledged, and whether a store holds what it must.

use roxmq_protocol::java_hash::index_hash;
use roxmq_protocol::record::Record;
use roxmq_store::{ConsumeQueue, Millis, QueueId, QueueOffset, Store};
use std::collections::BTreeMap;

/// The topics of the workload.
pub const TOPICS: [&str; 3] = ["TopicA", "TopicB", "Fleeting"];
pub const QUEUES: i32 = 2;
/// Light queues that some of the messages go to as well.
pub const LMQS: [&str; 2] = ["%LMQ%a", "%LMQ%$parent$lite"];

/// Something that changes the store; what a crash leaves is what a first part of these makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Sent { number: u64, topic: &'static str, queue: QueueId },
    Deleted { topic: &'static str },
}

/// The light queues of a message.
pub fn lmqs_of(number: u64) -> &'static [&'static str] {
    &LMQS[..(number % 4).min(2) as usize]
}

/// The numbers of the messages in each queue.
type Held = BTreeMap<(&'static str, QueueId), Vec<u64>>;

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub events: Vec<Event>,
    /// How many of the first events were acknowledged.
    pub acknowledged: usize,
    /// How many of the first events must outlive a loss of power.
    pub durable: usize,
}

impl Ledger {
    /// Everything so far is acknowledged; with synchronous flush it is durable as well.
    pub fn acknowledge(&mut self, durable: bool) {
        self.acknowledged = self.events.len();
        if durable {
            self.durable = self.acknowledged;
        }
    }

    /// The ledger of a store that holds the first `n` events, and no others.
    pub fn first(&self, n: usize) -> Ledger {
        Ledger { events: self.events[..n].to_vec(), acknowledged: n, durable: n }
    }

    /// Checks that the store holds what the first `n` events make, for an `n` of at least `min`; returns that `n`.
    #[track_caller]
    pub fn check(&self, store: &Store, min: usize, story: &str) -> usize {
        let found = held(store, story);
        let mut expected: Held = empty();
        let mut matching = (expected == found).then_some(0);
        for (n, event) in self.events.iter().enumerate() {
            match event {
                Event::Sent { number, topic, queue } => {
                    expected.entry((*topic, *queue)).or_default().push(*number);
                    for lmq in lmqs_of(*number) {
                        expected.entry((lmq, QueueId(0))).or_default().push(*number);
                    }
                }
                Event::Deleted { topic } => (0..QUEUES).for_each(|queue| {
                    expected.insert((*topic, QueueId(queue)), Vec::new());
                }),
            }
            if expected == found {
                matching = Some(n + 1);
            }
        }
        let events = self.events.len();
        match matching {
            Some(n) if n >= min => n,
            Some(n) => panic!("{story}: only the first {n} of {min} acknowledged events are there"),
            None => panic!("{story}: no first part of {events} events makes {found:?}"),
        }
    }
}

fn empty() -> Held {
    let queues = |topic| (0..QUEUES).map(move |queue| ((topic, QueueId(queue)), Vec::new()));
    let lmqs = LMQS.into_iter().map(|lmq| ((lmq, QueueId(0)), Vec::new()));
    TOPICS.into_iter().flat_map(queues).chain(lmqs).collect()
}

fn held(store: &Store, story: &str) -> Held {
    let mut held = empty();
    for ((topic, id), numbers) in &mut held {
        if let Some(queue) = store.queue(topic, *id) {
            *numbers = read_queue(store, &queue, story);
        }
    }
    held
}

/// The numbers in a queue; each message is where its queue, its record and the key index say it is.
fn read_queue(store: &Store, queue: &ConsumeQueue, story: &str) -> Vec<u64> {
    let story = format!("{story}: {}/{}", queue.topic(), queue.id());
    let (min, max) = (queue.min_offset(), queue.max_offset());
    assert_eq!(min, QueueOffset(0), "{story}");
    assert_eq!(max, queue.next_offset(), "{story}");
    let entries = store.entries(queue, min, usize::MAX).unwrap();
    assert_eq!(entries.len() as i64, max.0, "{story}: offsets without entries");
    let mut numbers = Vec::new();
    for (offset, entry) in entries.iter().enumerate() {
        let story = format!("{story} at {offset}");
        let record = store.record(entry.phy_offset).unwrap().unwrap_or_else(|| panic!("{story}: no record"));
        let record = Record::decode(&record).unwrap();
        assert_eq!(place_in(queue, &record), Some(offset as i64), "{story}");
        assert_eq!(record.total_size() as i32, entry.bytes, "{story}");
        let number: u64 = std::str::from_utf8(record.body).unwrap().trim().parse().unwrap();
        let hash = index_hash(record.topic, &number.to_string());
        let found = store.query_key(hash, Millis(0), Millis(i64::MAX), 64).unwrap();
        assert!(found.places.contains(&entry.phy_offset), "{story}: the key {number} is not found");
        numbers.push(number);
    }
    numbers
}

/// Where a record says that it stands in the queue.
fn place_in(queue: &ConsumeQueue, record: &Record<'_>) -> Option<i64> {
    if !LMQS.contains(&queue.topic()) {
        return ((record.topic, record.queue_id) == (queue.topic(), queue.id().0))
            .then_some(record.queue_offset);
    }
    let names = record.properties.get("INNER_MULTI_DISPATCH")?.split(',');
    let offsets = record.properties.get("INNER_MULTI_QUEUE_OFFSET")?.split(',');
    names.zip(offsets).find(|(name, _)| *name == queue.topic())?.1.parse().ok()
}
