//! Counters of what the broker does. Counting is an atomic addition; a sampler works out rates and sums of windows.

mod counter;
mod day;
mod distribution;
mod sampler;
mod windows;

pub use counter::{Counter, Totals};
pub(crate) use sampler::{SAMPLE_INTERVAL, StatsView};
pub use windows::WindowSum;

use crate::topics::TopicTable;
use counter::Sampled;
use day::DayTotals;
use distribution::Distribution;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use roxmq_store::Millis;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use windows::RecentRates;

/// The counters of a topic, reached through its entry.
#[derive(Debug, Default)]
pub struct TopicStats {
    /// Messages put into the topic and the bytes of their records.
    pub put: Sampled,
}

/// The counters of a group on a topic; whoever pulls keeps the handle.
#[derive(Debug, Default)]
pub struct GroupStats {
    /// Messages given to the group.
    pub get: Sampled,
    /// Messages the group sent back.
    pub send_back: Sampled,
}

/// Groups on topics: topic to group to counters.
type GroupsByTopic = HashMap<Arc<str>, HashMap<Arc<str>, Arc<GroupStats>, RandomState>, RandomState>;

pub struct Stats {
    groups: RwLock<GroupsByTopic>,
    put: Sampled,
    put_failed: Counter,
    /// Messages given to consumers.
    get: Sampled,
    /// Pulls, by whether they found anything.
    get_found: Counter,
    get_missed: Counter,
    put_took: Distribution,
    get_took_max: distribution::Longest,
    rates: Mutex<RecentRates>,
    days: Mutex<DayTotals>,
    pub(crate) started: Millis,
}

impl Stats {
    pub(crate) fn new(now: Millis) -> Self {
        Stats {
            groups: RwLock::default(),
            put: Sampled::default(),
            put_failed: Counter::default(),
            get: Sampled::default(),
            get_found: Counter::default(),
            get_missed: Counter::default(),
            put_took: Distribution::default(),
            get_took_max: distribution::Longest::default(),
            rates: Mutex::default(),
            days: Mutex::new(DayTotals::new(now)),
            started: now,
        }
    }

    /// After a successful append to the topic.
    pub fn put(&self, topic: &TopicStats, messages: u64, bytes: u64) {
        topic.put.add(messages, bytes);
        self.put.add(messages, bytes);
    }

    /// How long the append of a burst with so many messages took.
    pub fn put_took(&self, elapsed: Duration, messages: u64) {
        self.put_took.add(elapsed, messages);
    }

    /// Messages that were refused or could not be stored.
    pub fn put_failed(&self, messages: u64) {
        self.put_failed.add(messages, 0);
    }

    /// The counters of a group on a topic, made at the first call: look them up once and keep them.
    pub fn group(&self, topic: &str, group: &str) -> Arc<GroupStats> {
        if let Some(known) = self.known_group(topic, group) {
            return known;
        }
        let mut groups = self.groups.write();
        Arc::clone(groups.entry(topic.into()).or_default().entry(group.into()).or_default())
    }

    /// A pull that found messages.
    pub fn get_found(&self, group: &GroupStats, messages: u64, bytes: u64) {
        group.get.add(messages, bytes);
        self.get.add(messages, bytes);
        self.get_found.add(1, 0);
    }

    /// A pull that found nothing.
    pub fn get_missed(&self) {
        self.get_missed.add(1, 0);
    }

    /// How long reading from the store took.
    pub fn get_took(&self, elapsed: Duration) {
        self.get_took_max.add(elapsed);
    }

    /// Messages given to the group, per second over the last minute.
    pub fn group_get_tps(&self, topic: &str, group: &str) -> f64 {
        self.known_group(topic, group).map_or(0.0, |stats| stats.get.windows().messages.minute().tps)
    }

    /// Forgets a topic's groups.
    pub(crate) fn remove_topic(&self, topic: &str) {
        self.groups.write().remove(topic);
    }

    /// Forgets a group on all topics.
    pub(crate) fn remove_group(&self, group: &str) {
        self.groups.write().retain(|_, groups| {
            groups.remove(group);
            !groups.is_empty()
        });
    }

    /// What a request asks to see.
    pub(crate) fn view<'a>(&'a self, topics: &'a TopicTable, cluster: &'a str) -> StatsView<'a> {
        StatsView { stats: self, topics, cluster }
    }

    fn known_group(&self, topic: &str, group: &str) -> Option<Arc<GroupStats>> {
        self.groups.read().get(topic)?.get(group).cloned()
    }
}
