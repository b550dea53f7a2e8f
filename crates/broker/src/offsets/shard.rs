//! The offsets of some of the groups, and which of them the state log doesn't have yet.

use super::{GroupOffsets, QueueOffsets};
use foldhash::fast::FixedState;
use roxmq_store::QueueId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) groups: HashMap<Arc<str>, Topics, FixedState>,
    /// The topics with commits that the state log doesn't have yet.
    pub(super) changed: BTreeSet<(Arc<str>, Arc<str>)>,
}

pub(super) type Topics = HashMap<Arc<str>, Queues, FixedState>;

/// What is known of a topic's queues in a group.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) committed: BTreeMap<QueueId, Committed>,
    /// Where the last pull ended.
    pub(super) pulled: BTreeMap<QueueId, i64>,
    /// The topic is in the shard's list of changes.
    listed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Committed {
    pub(super) offset: i64,
    pub(super) changed: bool,
}

pub(super) fn committed_topics(topics: &Topics) -> BTreeMap<String, QueueOffsets> {
    let committed = topics.iter().filter(|(_, queues)| !queues.committed.is_empty());
    committed.map(|(topic, queues)| (topic.to_string(), queues.offsets())).collect()
}

impl Queues {
    pub(super) fn offsets(&self) -> QueueOffsets {
        self.committed.iter().map(|(queue, committed)| (*queue, committed.offset)).collect()
    }
}

impl Shard {
    pub(super) fn queues(&self, group: &str, topic: &str) -> Option<&Queues> {
        self.groups.get(group)?.get(topic)
    }

    pub(super) fn queues_mut(&mut self, group: &str, topic: &str) -> &mut Queues {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.into(), Topics::default());
        }
        let topics = self.groups.get_mut(group).expect("the group was just put there");
        if !topics.contains_key(topic) {
            topics.insert(topic.into(), Queues::default());
        }
        topics.get_mut(topic).expect("the topic was just put there")
    }

    pub(super) fn commit(&mut self, group: &str, topic: &str, queue: QueueId, offset: i64) {
        let queues = self.queues_mut(group, topic);
        queues.committed.insert(queue, Committed { offset, changed: true });
        if !std::mem::replace(&mut queues.listed, true) {
            self.changed.insert((group.into(), topic.into()));
        }
    }

    /// Lists a queue's offset as changed, if it is still there.
    pub(super) fn mark(&mut self, group: &str, topic: &str, queue: QueueId) {
        if let Some(offset) = self.queues(group, topic).and_then(|queues| queues.committed.get(&queue)) {
            let offset = offset.offset;
            self.commit(group, topic, queue, offset);
        }
    }

    pub(super) fn take_changed(&mut self, taken: &mut GroupOffsets) {
        for (group, topic) in std::mem::take(&mut self.changed) {
            let queues = self.queues_mut(&group, &topic);
            queues.listed = false;
            let changed = queues.committed.iter_mut().filter(|(_, committed)| committed.changed);
            let offsets: QueueOffsets = changed
                .map(|(queue, committed)| {
                    committed.changed = false;
                    (*queue, committed.offset)
                })
                .collect();
            taken.entry(group.to_string()).or_default().insert(topic.to_string(), offsets);
        }
    }
}
