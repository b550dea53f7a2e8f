//! What brokers say of topics and groups, kept for a moment: a call asks for it far more often than it changes.
//!
//! What isn't there isn't remembered, so that a topic made a moment ago is found.

use crate::invoker::{Invoker, Topic};
use crate::refusal::Result;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Of each kind.
const FACTS_MAX: usize = 20_000;

pub struct Facts {
    invoker: Arc<dyn Invoker>,
    /// How long an answer counts.
    keep: Duration,
    topics: Kept<Topic>,
    groups: Kept<SubscriptionGroupConfig>,
}

impl Facts {
    pub fn new(invoker: Arc<dyn Invoker>, keep: Duration) -> Self {
        Facts { invoker, keep, topics: Kept::default(), groups: Kept::default() }
    }

    pub async fn topic(&self, topic: &str) -> Result<Arc<Topic>> {
        if let Some(known) = self.topics.get(topic, self.keep) {
            return Ok(known);
        }
        let asked = self.invoker.topic(topic).await?;
        Ok(self.topics.put(topic, asked))
    }

    pub async fn group(&self, group: &str) -> Result<Arc<SubscriptionGroupConfig>> {
        if let Some(known) = self.groups.get(group, self.keep) {
            return Ok(known);
        }
        let asked = self.invoker.group(group).await?;
        Ok(self.groups.put(group, asked))
    }

    /// To be called when a broker says that it doesn't have the topic.
    pub fn forget_topic(&self, topic: &str) {
        self.topics.by_name.lock().remove(topic);
    }
}

/// A fact, and since when it is known.
type Known<T> = (Arc<T>, Instant);

struct Kept<T> {
    by_name: Mutex<HashMap<Box<str>, Known<T>, RandomState>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept { by_name: Mutex::default() }
    }
}

impl<T> Kept<T> {
    fn get(&self, name: &str, keep: Duration) -> Option<Arc<T>> {
        let by_name = self.by_name.lock();
        let (fact, since) = by_name.get(name)?;
        (since.elapsed() < keep).then(|| Arc::clone(fact))
    }

    fn put(&self, name: &str, fact: Arc<T>) -> Arc<T> {
        let mut by_name = self.by_name.lock();
        if by_name.len() >= FACTS_MAX {
            by_name.clear();
        }
        by_name.insert(name.into(), (Arc::clone(&fact), Instant::now()));
        fact
    }
}
