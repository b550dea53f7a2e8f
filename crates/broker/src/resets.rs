//! Offsets that an operator has set and the consumer hasn't taken up yet.
//!
//! A running consumer holds a position of its own and would commit it over the one that was set. So a reset is
//! kept here until the consumer's next pull, which is told to go there; commits until then are not taken.
//! The offset itself is also in the offset table, so losing this table in a restart loses no reset of a consumer
//! that starts after it.

use foldhash::HashMap;
use parking_lot::RwLock;
use roxmq_store::QueueId;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Group, topic, queue: looked up without building a key.
type Offsets = HashMap<String, HashMap<String, HashMap<QueueId, i64>>>;

#[derive(Debug, Default)]
pub struct PendingResets {
    groups: RwLock<Offsets>,
    /// How many there are: pulls and commits ask this first, and mostly it is none.
    count: AtomicUsize,
}

impl PendingResets {
    pub fn set(&self, group: &str, topic: &str, queue_id: QueueId, offset: i64) {
        let mut groups = self.groups.write();
        let topics = groups.entry(group.to_owned()).or_default();
        let queues = topics.entry(topic.to_owned()).or_default();
        queues.insert(queue_id, offset);
        self.settle(&mut groups);
    }

    pub fn get(&self, group: &str, topic: &str, queue_id: QueueId) -> Option<i64> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.groups.read().get(group)?.get(topic)?.get(&queue_id).copied()
    }

    /// The offset that a pull has to go to; it is told once.
    pub fn take(&self, group: &str, topic: &str, queue_id: QueueId) -> Option<i64> {
        self.get(group, topic, queue_id)?;
        let mut groups = self.groups.write();
        let taken = groups.get_mut(group)?.get_mut(topic)?.remove(&queue_id);
        self.settle(&mut groups);
        taken
    }

    pub fn delete_group(&self, group: &str) {
        let mut groups = self.groups.write();
        groups.remove(group);
        self.settle(&mut groups);
    }

    pub fn delete_topic(&self, topic: &str) {
        let mut groups = self.groups.write();
        for topics in groups.values_mut() {
            topics.remove(topic);
        }
        self.settle(&mut groups);
    }

    /// Drops what has become empty, and counts the rest.
    fn settle(&self, groups: &mut Offsets) {
        let mut count = 0;
        groups.retain(|_, topics| {
            topics.retain(|_, queues| {
                count += queues.len();
                !queues.is_empty()
            });
            !topics.is_empty()
        });
        self.count.store(count, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Q0: QueueId = QueueId(0);
    const Q1: QueueId = QueueId(1);

    #[test]
    fn a_reset_is_seen_until_one_pull_takes_it() {
        let resets = PendingResets::default();
        assert_eq!(resets.take("g", "t", Q0), None);
        resets.set("g", "t", Q0, 5);
        resets.set("g", "t", Q0, 7);
        resets.set("g", "t", Q1, 0);
        assert_eq!(resets.get("g", "t", Q0), Some(7));
        assert_eq!(resets.get("g", "u", Q0), None);
        assert_eq!(resets.get("h", "t", Q0), None);
        assert_eq!(resets.take("g", "t", Q0), Some(7));
        assert_eq!(resets.take("g", "t", Q0), None);
        assert_eq!(resets.take("g", "t", Q1), Some(0));
        assert!(resets.groups.read().is_empty());
    }

    #[test]
    fn a_deleted_group_or_topic_takes_its_resets_along() {
        let resets = PendingResets::default();
        resets.set("g", "t", Q0, 1);
        resets.set("g", "u", Q0, 2);
        resets.set("h", "t", Q0, 3);
        resets.delete_topic("t");
        assert_eq!(resets.get("g", "t", Q0), None);
        assert_eq!(resets.get("g", "u", Q0), Some(2));
        assert_eq!(resets.get("h", "t", Q0), None);
        resets.delete_group("g");
        assert_eq!(resets.get("g", "u", Q0), None);
        assert_eq!(resets.count.load(Ordering::Relaxed), 0);
    }
}
