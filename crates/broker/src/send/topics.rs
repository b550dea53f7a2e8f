//! The topics that a connection sends to.

use crate::Broker;
use crate::topics::Topic;
use std::ops::Index;
use std::sync::Arc;

/// Topics that are remembered from one burst to the next.
const KEPT_MAX: usize = 16;

/// Topics that were looked up, remembered for as long as none changes: the table's lock and its topics' counts are
/// shared by all connections, and taking them from another processor costs more than all else about a topic.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownTopics {
    topics: Vec<Arc<Topic>>,
    /// That of the table when they were looked up.
    generation: u64,
}

/// A topic among those known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopicIndex(usize);

impl KnownTopics {
    /// Between two bursts: forgets what may have changed. Nothing holds an index meanwhile.
    pub(super) fn renew(&mut self, broker: &Broker) {
        let generation = broker.topics.generation();
        if self.generation != generation || self.topics.len() > KEPT_MAX {
            self.topics.clear();
            self.generation = generation;
        }
    }

    pub(super) fn forget(&mut self) {
        self.topics.clear();
    }

    pub(super) fn find(&mut self, broker: &Broker, name: &str) -> Option<TopicIndex> {
        let known = self.topics.iter().position(|topic| topic.topic_name == name);
        match known {
            Some(at) => Some(TopicIndex(at)),
            None => broker.topics.get(name).map(|topic| self.add(topic)),
        }
    }

    pub(super) fn add(&mut self, topic: Arc<Topic>) -> TopicIndex {
        let known = self.topics.iter().position(|known| Arc::ptr_eq(known, &topic));
        TopicIndex(known.unwrap_or_else(|| {
            self.topics.push(topic);
            self.topics.len() - 1
        }))
    }
}

impl Index<TopicIndex> for KnownTopics {
    type Output = Topic;

    fn index(&self, TopicIndex(at): TopicIndex) -> &Topic {
        &self.topics[at]
    }
}
