//! How far each group has consumed each queue.
//!
//! A commit overwrites, whatever it finds: smaller offsets are legal. Commits are remembered as changed and go to the
//! state log in batches.

use roxmq_store::QueueId;
use std::collections::BTreeMap;

/// The committed offsets of a topic in a group, by queue.
pub type QueueOffsets = BTreeMap<QueueId, i64>;

#[derive(Default)]
pub struct ConsumerOffsets {}

impl ConsumerOffsets {
    /// Notes the next offset to consume. Allocates for the first commit of a queue only.
    pub fn commit(&self, group: &str, topic: &str, queue: QueueId, offset: i64) {
        let _ = (group, topic, queue, offset);
        unimplemented!()
    }

    pub fn get(&self, group: &str, topic: &str, queue: QueueId) -> Option<i64> {
        let _ = (group, topic, queue);
        unimplemented!()
    }

    /// Notes where the last pull of the queue ended; kept in memory only.
    pub fn note_pull(&self, group: &str, topic: &str, queue: QueueId, next: i64) {
        let _ = (group, topic, queue, next);
        unimplemented!()
    }

    /// Where the last pull ended.
    pub fn pulled(&self, group: &str, topic: &str, queue: QueueId) -> Option<i64> {
        let _ = (group, topic, queue);
        unimplemented!()
    }

    /// Everything a group has committed, by topic.
    pub fn of_group(&self, group: &str) -> BTreeMap<String, QueueOffsets> {
        let _ = group;
        unimplemented!()
    }

    /// A group's committed offsets of one topic.
    pub fn of(&self, group: &str, topic: &str) -> QueueOffsets {
        let _ = (group, topic);
        unimplemented!()
    }

    /// The groups that have committed or pulled anything of the topic, in order.
    pub fn groups_of_topic(&self, topic: &str) -> Vec<String> {
        let _ = topic;
        unimplemented!()
    }

    /// `group` to topic to offsets: everything committed.
    pub fn all(&self) -> BTreeMap<String, BTreeMap<String, QueueOffsets>> {
        unimplemented!()
    }

    /// Gives `to` the committed offsets that `from` has of the topic.
    pub fn clone_offsets(&self, from: &str, to: &str, topic: &str) {
        let _ = (from, to, topic);
        unimplemented!()
    }
}
