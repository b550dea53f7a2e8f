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
use roxmq_protocol::names;
use roxmq_store::Millis;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use windows::RecentRates;

/// The counters of a topic, reached through its entry.
#[derive(Debug)]
pub struct TopicStats {
    /// Messages put into the topic and the bytes of their records.
    pub put: Sampled,
    /// Nobody's own messages, which some figures leave out.
    is_system: bool,
}

impl TopicStats {
    pub fn new(topic: &str) -> Self {
        TopicStats { put: Sampled::default(), is_system: names::is_system_topic(topic) }
    }
}

/// The counters of a group on a topic; whoever pulls keeps the handle.
#[derive(Debug)]
pub struct GroupStats {
    /// Messages given to the group.
    pub get: Sampled,
    /// How long the store took to give them: times, and milliseconds in place of bytes.
    pub get_took: Sampled,
    /// Messages the group sent back.
    pub send_back: Sampled,
    /// Popped messages that the group acknowledged.
    pub ack: Sampled,
    /// Times that the group popped from a queue.
    pub pop: Sampled,
    /// Messages that went before the group had read them.
    pub lost: Counter,
    /// Of a topic of the system.
    is_system: bool,
}

impl GroupStats {
    fn new(topic: &str) -> Self {
        GroupStats {
            get: Sampled::default(),
            get_took: Sampled::default(),
            send_back: Sampled::default(),
            ack: Sampled::default(),
            pop: Sampled::default(),
            lost: Counter::default(),
            is_system: names::is_system_topic(topic),
        }
    }

    fn all(&self) -> [&Sampled; 5] {
        [&self.get, &self.get_took, &self.send_back, &self.ack, &self.pop]
    }
}

/// Groups on topics: topic to group to counters.
type GroupsByTopic = HashMap<Arc<str>, HashMap<Arc<str>, Arc<GroupStats>, RandomState>, RandomState>;

pub struct Stats {
    groups: RwLock<GroupsByTopic>,
    put: Sampled,
    /// Of that, into topics of the system.
    put_system: Sampled,
    put_failed: Counter,
    /// Messages given to consumers.
    get: Sampled,
    /// Of that, from topics of the system.
    get_system: Sampled,
    ack: Sampled,
    pop: Sampled,
    connections_opened: Sampled,
    connections_closed: Sampled,
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
            put_system: Sampled::default(),
            put_failed: Counter::default(),
            get: Sampled::default(),
            get_system: Sampled::default(),
            ack: Sampled::default(),
            pop: Sampled::default(),
            connections_opened: Sampled::default(),
            connections_closed: Sampled::default(),
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
        if topic.is_system {
            self.put_system.add(messages, bytes);
        }
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
        let of_topic = groups.entry(topic.into()).or_default();
        Arc::clone(of_topic.entry(group.into()).or_insert_with(|| Arc::new(GroupStats::new(topic))))
    }

    /// A pull that found messages.
    pub fn get_found(&self, group: &GroupStats, messages: u64, bytes: u64) {
        group.get.add(messages, bytes);
        self.get.add(messages, bytes);
        self.get_found.add(1, 0);
        if group.is_system {
            self.get_system.add(messages, bytes);
        }
    }

    /// How long the store took for what the group was given.
    pub fn group_get_took(&self, group: &GroupStats, elapsed: Duration) {
        group.get_took.add(1, u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
    }

    /// Messages that a group popped from a queue at one time.
    pub fn popped(&self, group: &GroupStats) {
        group.pop.add(1, 0);
        self.pop.add(1, 0);
    }

    /// Popped messages that a group acknowledged.
    pub fn acknowledged(&self, group: &GroupStats, messages: u64) {
        group.ack.add(messages, 0);
        self.ack.add(messages, 0);
    }

    pub fn connection_opened(&self) {
        self.connections_opened.add(1, 0);
    }

    pub fn connection_closed(&self) {
        self.connections_closed.add(1, 0);
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

    /// The topic, group and counters of all groups on all topics, in order.
    pub(crate) fn groups(&self) -> Vec<(Arc<str>, Arc<str>, Arc<GroupStats>)> {
        let mut all = Vec::new();
        for (topic, groups) in self.groups.read().iter() {
            let of_topic = groups.iter();
            all.extend(of_topic.map(|(group, stats)| (topic.clone(), group.clone(), Arc::clone(stats))));
        }
        all.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        all
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
