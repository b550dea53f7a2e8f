//! Everything that is in flight on this broker, by group, topic and queue.

use super::queue::PopQueue;
use super::record::{self, PopChange, PopRecord, PopRecordError, QueueName};
use foldhash::fast::FixedState;
use parking_lot::RwLock;
use roxmq_protocol::body::order_info::OrderInfoTable;
use roxmq_store::QueueId;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Groups are spread over this many locks.
const SHARDS: usize = 64;
/// Between topic and group in the keys of the table of orders.
const TOPIC_GROUP_SEPARATOR: char = '@';

type Topics = HashMap<Arc<str>, Queues, FixedState>;
type Queues = HashMap<QueueId, Arc<PopQueue>, FixedState>;

pub struct PopTable {
    shards: Vec<RwLock<HashMap<Arc<str>, Topics, FixedState>>>,
    hasher: FixedState,
    /// Counts changes, for the snapshots.
    generation: AtomicU64,
}

impl Default for PopTable {
    fn default() -> Self {
        PopTable {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: FixedState::default(),
            generation: AtomicU64::new(0),
        }
    }
}

impl PopTable {
    /// The queue, if anything of it was ever popped.
    pub(crate) fn get(&self, group: &str, topic: &str, id: QueueId) -> Option<Arc<PopQueue>> {
        self.shard(group).read().get(group)?.get(topic)?.get(&id).cloned()
    }

    pub(crate) fn get_or_create(&self, group: &str, topic: &str, id: QueueId) -> Arc<PopQueue> {
        if let Some(known) = self.get(group, topic, id) {
            return known;
        }
        let mut groups = self.shard(group).write();
        let group: Arc<str> =
            groups.get_key_value(group).map_or_else(|| group.into(), |(name, _)| name.clone());
        let topics = groups.entry(group.clone()).or_default();
        let topic: Arc<str> =
            topics.get_key_value(topic).map_or_else(|| topic.into(), |(name, _)| name.clone());
        let queues = topics.entry(topic.clone()).or_default();
        Arc::clone(queues.entry(id).or_insert_with(|| Arc::new(PopQueue::new(group, topic, id))))
    }

    /// Every queue that has something in flight.
    pub(crate) fn busy_queues(&self) -> Vec<Arc<PopQueue>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let groups = shard.read();
            let queues = groups.values().flat_map(|topics| topics.values().flat_map(HashMap::values));
            all.extend(queues.filter(|queue| !queue.state().is_empty()).cloned());
        }
        all
    }

    /// The first message of the queue that the group has popped and not acknowledged, apart from ordered pops.
    pub(crate) fn first_pending(&self, group: &str, topic: &str, id: QueueId) -> Option<i64> {
        self.get(group, topic, id)?.state().flight.first_pending()
    }

    /// Forgets a group. Part of a change that stands in the state log.
    pub(crate) fn remove_group(&self, group: &str) {
        if let Some(topics) = self.shard(group).write().remove(group) {
            topics.values().for_each(forget);
        }
        self.changed();
    }

    /// Forgets a topic in every group. Part of a change that stands in the state log.
    pub(crate) fn remove_topic(&self, topic: &str) {
        for shard in &self.shards {
            shard.write().retain(|_, topics| {
                topics.remove(topic).iter().for_each(forget);
                !topics.is_empty()
            });
        }
        self.changed();
    }

    /// Makes the changes of a record of the state log again, as far as `wanted` says; `committed` is told where groups
    /// go on.
    pub(crate) fn replay(
        &self,
        body: &[u8],
        wanted: impl Fn(&PopChange) -> bool,
        mut committed: impl FnMut(QueueName<'_>, i64),
    ) -> Result<(), PopRecordError> {
        record::read(body, |name, change| {
            let next = match &change {
                PopChange::Popped { next, .. } | PopChange::Ordered { next, .. } => Some(*next),
                _ => None,
            };
            if let Some(next) = next {
                committed(name, next);
            }
            if wanted(&change) {
                self.get_or_create(name.group, name.topic, name.id).state().apply(change);
                self.changed();
            }
        })
    }

    /// What is in flight, as the body of one record.
    pub(crate) fn flight(&self) -> Vec<u8> {
        let mut record = PopRecord::default();
        for queue in self.busy_queues() {
            let state = queue.state();
            if !state.flight.is_empty() {
                record.queue(queue.name());
            }
            for (key, batch) in state.flight.iter() {
                record.push(&PopChange::Held { key: *key, batch: batch.clone() });
            }
        }
        record.into_bytes()
    }

    pub(crate) fn restore_flight(&self, flight: &[u8]) -> Result<(), PopRecordError> {
        if flight.is_empty() {
            return Ok(());
        }
        self.replay(flight, |_| true, |_, _| {})
    }

    /// What ordered queues have out.
    pub(crate) fn orders(&self) -> OrderInfoTable {
        let mut orders = OrderInfoTable::new();
        for queue in self.busy_queues() {
            if let Some(info) = &queue.state().order {
                let key = format!("{}{TOPIC_GROUP_SEPARATOR}{}", queue.topic, queue.group);
                orders.entry(key).or_default().insert(queue.id.0, info.clone());
            }
        }
        orders
    }

    pub(crate) fn restore_orders(&self, orders: OrderInfoTable) {
        for (key, queues) in orders {
            // Neither topics nor groups have the separator in their names.
            let Some((topic, group)) = key.split_once(TOPIC_GROUP_SEPARATOR) else { continue };
            for (id, info) in queues {
                self.get_or_create(group, topic, QueueId(id)).state().order = Some(info);
            }
        }
    }

    pub(crate) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn shard(&self, group: &str) -> &RwLock<HashMap<Arc<str>, Topics, FixedState>> {
        &self.shards[self.hasher.hash_one(group) as usize % SHARDS]
    }
}

/// Whoever still has one of the queues finds nothing in it.
fn forget(queues: &Queues) {
    queues.values().for_each(|queue| queue.state().remove());
}
