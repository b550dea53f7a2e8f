//! The slot whose moment is on or was last: its messages in the order in which they are due.

use roxmq_protocol::properties::{Properties, name};
use roxmq_store::timer::TimerEntry;
use roxmq_store::{Millis, PhyOffset};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// In memory while the slot is on: 48 bytes a message.
#[derive(Debug)]
pub(super) struct OpenSlot {
    pub(super) slot: Millis,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// What takes others back.
    recalls: HashSet<RecallKey>,
    /// The messages that say so, by the hashes of their topics.
    recalling: Vec<i32>,
}

/// Which message is taken back: a topic and a unique key.
pub(super) type RecallKey = (String, String);

#[derive(Debug)]
struct Waiting(TimerEntry);

impl Waiting {
    fn key(&self) -> (Millis, PhyOffset) {
        (self.0.due, self.0.phy_offset)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl OpenSlot {
    /// Of these messages, which take none back.
    pub(super) fn new(slot: Millis, entries: impl IntoIterator<Item = TimerEntry>) -> OpenSlot {
        let waiting = entries.into_iter().map(|entry| Reverse(Waiting(entry))).collect();
        OpenSlot { slot, waiting, recalls: HashSet::new(), recalling: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: TimerEntry) {
        self.waiting.push(Reverse(Waiting(entry)));
    }

    /// When the next message is due.
    pub(super) fn next_due(&self) -> Option<Millis> {
        self.waiting.peek().map(|Reverse(next)| next.0.due)
    }

    /// The next message, if it is due by now. One that was entered twice comes once.
    pub(super) fn pop(&mut self, now: Millis) -> Option<TimerEntry> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(next) = self.waiting.pop()?;
        while self.waiting.peek().is_some_and(|Reverse(other)| *other == next) {
            self.waiting.pop();
        }
        Some(next.0)
    }

    /// Takes a message of the slot back, as one of the topic with this hash says.
    pub(super) fn recall(&mut self, key: RecallKey, topic_hash: i32) {
        self.recalls.insert(key);
        self.recalling.push(topic_hash);
    }

    /// Those that took others back.
    pub(super) fn recalling(&self) -> &[i32] {
        &self.recalling
    }

    /// Whether a message is taken back.
    pub(super) fn is_recalled(&self, topic: &str, properties: Properties<'_>) -> bool {
        !self.recalls.is_empty()
            && properties
                .get(name::UNIQ_KEY)
                .is_some_and(|key| self.recalls.contains(&(topic.to_owned(), key.to_owned())))
    }
}

/// What a message takes back, if it does. The key comes alone, or behind the topic as Java servers before 5.5.0 have it.
pub(super) fn recall_key(topic: &str, properties: Properties<'_>) -> Option<RecallKey> {
    let key = properties.get(name::TIMER_DEL_UNIQKEY)?;
    let bare = key.strip_prefix(topic).and_then(|rest| rest.strip_prefix('+')).unwrap_or(key);
    Some((topic.to_owned(), bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(due: i64, phy_offset: i64) -> TimerEntry {
        TimerEntry {
            slot: Millis(5_000),
            due: Millis(due),
            written: Millis(1_000),
            phy_offset: PhyOffset(phy_offset),
            record_bytes: 100,
            topic_hash: 7,
            rolls: false,
            recalls: false,
        }
    }

    #[test]
    fn messages_come_in_the_order_of_their_times_and_once() {
        let mut open = OpenSlot::new(
            Millis(5_000),
            [entry(5_300, 20), entry(5_100, 30), entry(5_300, 10), entry(5_100, 30)],
        );
        open.push(entry(5_200, 40));
        assert_eq!(open.pop(Millis(5_099)), None);
        let mut popped = Vec::new();
        while let Some(entry) = open.pop(Millis(5_300)) {
            popped.push((entry.due.0, entry.phy_offset.0));
        }
        assert_eq!(popped, [(5_100, 30), (5_200, 40), (5_300, 10), (5_300, 20)]);
        assert_eq!(open.next_due(), None);
    }

    #[test]
    fn both_forms_of_the_key_take_back_and_only_in_their_topic() {
        let mut open = OpenSlot::new(Millis(5_000), []);
        for text in ["TIMER_DEL_UNIQKEY\u{1}A1\u{2}", "TIMER_DEL_UNIQKEY\u{1}T+A2\u{2}"] {
            let key = recall_key("T", Properties::new(text.as_bytes())).expect("a key");
            open.recall(key, 7);
        }
        assert_eq!(open.recalling(), [7, 7]);
        let check = |topic, properties: &str, expected| {
            assert_eq!(
                open.is_recalled(topic, Properties::new(properties.as_bytes())),
                expected,
                "{topic} {properties}"
            );
        };
        check("T", "UNIQ_KEY\u{1}A1\u{2}", true);
        check("T", "UNIQ_KEY\u{1}A2\u{2}", true);
        check("T", "UNIQ_KEY\u{1}A3\u{2}", false);
        check("U", "UNIQ_KEY\u{1}A1\u{2}", false);
        check("T", "", false);
        assert_eq!(recall_key("T", Properties::new(b"")), None);
    }
}
