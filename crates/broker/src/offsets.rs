//! How far each group has consumed each queue.
//!
//! A commit overwrites, whatever it finds: smaller offsets are legal. What changed is remembered and goes to the state
//! log in batches. Everything of a group lives under one lock, so that first commits at one moment can't lose one
//! another.

mod shard;

use crate::state::Unlogged;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use roxmq_store::QueueId;
use shard::{Committed, Queues, Shard, Topics, committed_topics};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

/// The committed offsets of a topic in a group, by queue.
pub type QueueOffsets = BTreeMap<QueueId, i64>;
/// Group to topic to queue to committed offset.
pub type GroupOffsets = BTreeMap<String, BTreeMap<String, QueueOffsets>>;

/// Groups are spread over this many locks.
const SHARDS: usize = 64;

#[derive(Debug)]
pub struct ConsumerOffsets {
    shards: Vec<Mutex<Shard>>,
    hasher: FixedState,
    unlogged: Unlogged,
}

impl Default for ConsumerOffsets {
    fn default() -> Self {
        ConsumerOffsets {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: FixedState::default(),
            unlogged: Unlogged::default(),
        }
    }
}

impl ConsumerOffsets {
    /// Notes the next offset to consume. Allocates for the first commit of a topic or queue only.
    pub fn commit(&self, group: &str, topic: &str, queue: QueueId, offset: i64) {
        self.shard(group).lock().commit(group, topic, queue, offset);
        self.unlogged.add();
    }

    /// Notes an offset whose record is in the state log already.
    pub(crate) fn commit_recorded(&self, group: &str, topic: &str, queue: QueueId, offset: i64) {
        let recorded = Committed { offset, changed: false };
        self.shard(group).lock().queues_mut(group, topic).committed.insert(queue, recorded);
        self.unlogged.logged();
    }

    pub fn get(&self, group: &str, topic: &str, queue: QueueId) -> Option<i64> {
        let shard = self.shard(group).lock();
        shard.queues(group, topic)?.committed.get(&queue).map(|committed| committed.offset)
    }

    /// Notes where the last pull of the queue ended; kept in memory only.
    pub fn note_pull(&self, group: &str, topic: &str, queue: QueueId, next: i64) {
        self.shard(group).lock().queues_mut(group, topic).pulled.insert(queue, next);
    }

    /// Where the last pull ended.
    pub fn pulled(&self, group: &str, topic: &str, queue: QueueId) -> Option<i64> {
        self.shard(group).lock().queues(group, topic)?.pulled.get(&queue).copied()
    }

    /// Everything a group has committed, by topic.
    pub fn of_group(&self, group: &str) -> BTreeMap<String, QueueOffsets> {
        self.shard(group).lock().groups.get(group).map(committed_topics).unwrap_or_default()
    }

    /// A group's committed offsets of one topic.
    pub fn of(&self, group: &str, topic: &str) -> QueueOffsets {
        self.shard(group).lock().queues(group, topic).map(Queues::offsets).unwrap_or_default()
    }

    /// The groups that have committed anything of the topic, in order.
    pub fn groups_of_topic(&self, topic: &str) -> Vec<String> {
        let mut groups = BTreeSet::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let has = |topics: &Topics| topics.get(topic).is_some_and(|queues| !queues.committed.is_empty());
            groups.extend(
                shard.groups.iter().filter(|(_, topics)| has(topics)).map(|(group, _)| group.to_string()),
            );
        }
        groups.into_iter().collect()
    }

    /// Everything committed.
    pub fn all(&self) -> GroupOffsets {
        let mut all = GroupOffsets::new();
        for shard in &self.shards {
            for (group, topics) in &shard.lock().groups {
                let topics = committed_topics(topics);
                if !topics.is_empty() {
                    all.insert(group.to_string(), topics);
                }
            }
        }
        all
    }

    /// Where the last pulls ended, like [`all`](Self::all).
    pub fn all_pulled(&self) -> GroupOffsets {
        let mut all = GroupOffsets::new();
        for shard in &self.shards {
            for (group, topics) in &shard.lock().groups {
                for (topic, queues) in topics.iter().filter(|(_, queues)| !queues.pulled.is_empty()) {
                    let topics = all.entry(group.to_string()).or_default();
                    topics.insert(topic.to_string(), queues.pulled.clone());
                }
            }
        }
        all
    }

    /// Gives `to` the committed offsets that `from` has of the topic.
    pub fn clone_offsets(&self, from: &str, to: &str, topic: &str) {
        for (queue, offset) in self.of(from, topic) {
            self.commit(to, topic, queue, offset);
        }
    }

    /// Forgets everything of a group. Part of a change that stands in the state log.
    pub(crate) fn remove_group(&self, group: &str) {
        let mut shard = self.shard(group).lock();
        shard.groups.remove(group);
        shard.changed.retain(|(changed, _)| **changed != *group);
        self.unlogged.logged();
    }

    /// Forgets a topic in every group. Part of a change that stands in the state log.
    pub(crate) fn remove_topic(&self, topic: &str) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.groups.retain(|_, topics| {
                topics.remove(topic);
                !topics.is_empty()
            });
            shard.changed.retain(|(_, changed)| **changed != *topic);
        }
        self.unlogged.logged();
    }

    /// Sets offsets that the state log or a file has already.
    pub(crate) fn restore(&self, offsets: &GroupOffsets) {
        for (group, topics) in offsets {
            let mut shard = self.shard(group).lock();
            for (topic, queues) in topics {
                let known = &mut shard.queues_mut(group, topic).committed;
                let restored = |(queue, offset): (&QueueId, &i64)| {
                    (*queue, Committed { offset: *offset, changed: false })
                };
                known.extend(queues.iter().map(restored));
            }
        }
    }

    /// Waits until something was committed since the last [`take_changed`](Self::take_changed).
    pub(crate) async fn wait_changed(&self) {
        self.unlogged.wait().await;
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.unlogged.generation()
    }

    /// The offsets committed since the last call.
    pub(crate) fn take_changed(&self) -> GroupOffsets {
        self.unlogged.take();
        let mut taken = GroupOffsets::new();
        for shard in &self.shards {
            shard.lock().take_changed(&mut taken);
        }
        taken
    }

    /// Puts back what the state log didn't take, so that it is tried again.
    pub(crate) fn put_back(&self, offsets: &GroupOffsets) {
        for (group, topics) in offsets {
            let mut shard = self.shard(group).lock();
            for (topic, queues) in topics {
                queues.keys().for_each(|queue| shard.mark(group, topic, *queue));
            }
        }
        self.unlogged.put_back();
    }

    fn shard(&self, group: &str) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(group) as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    const Q0: QueueId = QueueId(0);
    const Q1: QueueId = QueueId(1);

    fn offsets(entries: &[(&str, &str, QueueId, i64)]) -> GroupOffsets {
        let mut all = GroupOffsets::new();
        for (group, topic, queue, offset) in entries {
            let topics = all.entry((*group).to_owned()).or_default();
            topics.entry((*topic).to_owned()).or_default().insert(*queue, *offset);
        }
        all
    }

    #[test]
    fn the_last_commit_counts_even_if_it_is_smaller() {
        let table = ConsumerOffsets::default();
        assert_eq!(table.get("g", "t", Q0), None);
        table.commit("g", "t", Q0, 9);
        table.commit("g", "t", Q0, 4);
        assert_eq!(table.get("g", "t", Q0), Some(4));
        assert_eq!(table.get("g", "t", Q1), None);
        assert_eq!(table.get("other", "t", Q0), None);
    }

    /// Several first commits of a new group at once: one table replaced the other, and offsets of some queues
    /// vanished.
    #[test]
    fn first_commits_at_one_moment_are_all_kept() {
        const THREADS: usize = 16;
        for round in 0..50 {
            let table = ConsumerOffsets::default();
            let barrier = Barrier::new(THREADS);
            let group = format!("g{round}");
            std::thread::scope(|scope| {
                for queue in 0..THREADS {
                    let (table, barrier, group) = (&table, &barrier, &group);
                    scope.spawn(move || {
                        barrier.wait();
                        table.commit(group, "t", QueueId(queue as i32), queue as i64);
                    });
                }
            });
            assert_eq!(table.of(&group, "t").len(), THREADS, "round {round}");
        }
    }

    #[test]
    fn changes_are_taken_once() {
        let table = ConsumerOffsets::default();
        table.commit("g", "t", Q0, 1);
        table.commit("g", "t", Q1, 2);
        table.commit("g", "t", Q0, 3);
        assert!(table.unlogged.any());
        assert_eq!(table.take_changed(), offsets(&[("g", "t", Q0, 3), ("g", "t", Q1, 2)]));
        assert!(!table.unlogged.any());
        assert_eq!(table.take_changed(), GroupOffsets::new());
        table.commit("g", "t", Q1, 5);
        assert_eq!(table.take_changed(), offsets(&[("g", "t", Q1, 5)]));
    }

    #[test]
    fn what_was_put_back_is_taken_again_with_its_newest_value() {
        let table = ConsumerOffsets::default();
        table.commit("g", "t", Q0, 1);
        table.commit("gone", "t", Q0, 1);
        let taken = table.take_changed();
        table.commit("g", "t", Q0, 2);
        table.remove_group("gone");
        table.put_back(&taken);
        assert_eq!(table.take_changed(), offsets(&[("g", "t", Q0, 2)]));
    }

    #[test]
    fn what_was_removed_leaves_no_trace() {
        let table = ConsumerOffsets::default();
        for (group, topic) in [("g", "t"), ("g", "u"), ("h", "t")] {
            table.commit(group, topic, Q0, 7);
            table.note_pull(group, topic, Q0, 8);
        }
        table.remove_topic("t");
        assert_eq!(table.all(), offsets(&[("g", "u", Q0, 7)]));
        assert_eq!(table.pulled("g", "t", Q0), None);
        assert_eq!(table.groups_of_topic("t"), Vec::<String>::new());
        table.remove_group("g");
        assert_eq!(table.all(), GroupOffsets::new());
        assert_eq!(table.take_changed(), GroupOffsets::new());
    }

    #[test]
    fn pulls_are_no_commits() {
        let table = ConsumerOffsets::default();
        table.note_pull("g", "t", Q0, 8);
        assert_eq!(table.pulled("g", "t", Q0), Some(8));
        assert_eq!(table.get("g", "t", Q0), None);
        assert_eq!(table.groups_of_topic("t"), Vec::<String>::new());
        assert!(!table.unlogged.any());
    }

    #[test]
    fn a_cloned_group_has_the_same_offsets() {
        let table = ConsumerOffsets::default();
        table.commit("g", "t", Q0, 1);
        table.commit("g", "u", Q0, 2);
        table.clone_offsets("g", "h", "t");
        assert_eq!(table.of_group("h"), BTreeMap::from([("t".to_owned(), QueueOffsets::from([(Q0, 1)]))]));
    }

    #[test]
    fn restored_offsets_are_no_changes() {
        let table = ConsumerOffsets::default();
        let restored = offsets(&[("g", "t", Q0, 1), ("h", "t", Q1, 2)]);
        table.restore(&restored);
        assert_eq!(table.all(), restored);
        assert_eq!(table.take_changed(), GroupOffsets::new());
    }
}
