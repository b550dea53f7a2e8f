//! Which places are told of messages in which queues.
//!
//! A queue that is watched has the place counted among its waiters, so that the store reports its messages; others
//! cost an append nothing.

use super::places::Place;
use crate::Broker;
use crate::pull::QueueKey;
use foldhash::HashMap;
use parking_lot::Mutex;
use roxmq_store::{ConsumeQueue, QueueId};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SHARDS: usize = 16;

type Places = SmallVec<[Arc<Place>; 2]>;

#[derive(Default)]
pub(super) struct Watches {
    shards: [Mutex<HashMap<QueueKey, Places>>; SHARDS],
}

/// The queues that bring a place messages: the topic's, and those of what comes again to the group.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    queues: Vec<Arc<ConsumeQueue>>,
    /// How many there are of each topic.
    counts: [i32; 3],
}

impl Watches {
    /// Has the queues of the place watched as they are now: topics change, and what comes again may be the first.
    pub(super) fn renew(&self, broker: &Broker, place: &Arc<Place>, queues: &mut Queues) {
        let read_queues = |topic: &str| broker.topics.get(topic).map_or(0, |topic| topic.read_queue_nums);
        let counts = place.topics().map(read_queues);
        if counts == queues.counts {
            return;
        }
        let of_topic = |(topic, count): (&str, i32)| {
            (0..count).map(|id| broker.store.queue_or_create(topic, QueueId(id))).collect::<Vec<_>>()
        };
        let all = place.topics().into_iter().zip(counts).flat_map(of_topic).collect();
        let before = std::mem::replace(queues, Queues { queues: all, counts });
        self.add(place, queues);
        self.remove(place, &before);
    }

    /// The places that wait for the queue's messages.
    pub(super) fn of(&self, queue: &Arc<ConsumeQueue>) -> Places {
        let key = QueueKey::of(queue);
        self.shard(key).lock().get(&key).cloned().unwrap_or_default()
    }

    fn add(&self, place: &Arc<Place>, queues: &Queues) {
        for queue in &queues.queues {
            let key = QueueKey::of(queue);
            self.shard(key).lock().entry(key).or_default().push(Arc::clone(place));
            queue.waiters.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub(super) fn remove(&self, place: &Arc<Place>, queues: &Queues) {
        for queue in &queues.queues {
            let key = QueueKey::of(queue);
            let mut shard = self.shard(key).lock();
            if let Some(places) = shard.get_mut(&key)
                && let Some(at) = places.iter().position(|other| Arc::ptr_eq(other, place))
            {
                places.swap_remove(at);
                if places.is_empty() {
                    shard.remove(&key);
                }
                queue.waiters.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn shard(&self, key: QueueKey) -> &Mutex<HashMap<QueueKey, Places>> {
        // The low bits of an address are always the same.
        &self.shards[(key.0 >> 6) % SHARDS]
    }
}
