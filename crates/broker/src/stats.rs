//! Counters of what the broker does. Counting is an atomic addition; rates are worked out by a sampler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often something happened and how much of it there was.
#[derive(Debug, Default)]
pub struct Counter {
    count: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    pub fn add(&self, count: u64, bytes: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The counters of a topic, reached through its entry.
#[derive(Debug, Default)]
pub struct TopicStats {
    /// Messages put into the topic and the bytes of their records.
    pub put: Counter,
}

/// The counters of a group on a topic; whoever pulls keeps the handle.
#[derive(Debug, Default)]
pub struct GroupStats {
    /// Messages given to the group.
    pub get: Counter,
    /// Messages the group sent back.
    pub send_back: Counter,
}

pub struct Stats {}

impl Stats {
    /// After a successful append to the topic.
    pub fn put(&self, topic: &TopicStats, messages: u64, bytes: u64) {
        let _ = (topic, messages, bytes);
        unimplemented!()
    }

    /// Messages that were refused or could not be stored.
    pub fn put_failed(&self, messages: u64) {
        let _ = messages;
        unimplemented!()
    }

    /// The counters of a group on a topic, made at the first call: look them up once and keep them.
    pub fn group(&self, topic: &str, group: &str) -> Arc<GroupStats> {
        let _ = (topic, group);
        unimplemented!()
    }

    /// A pull that found messages.
    pub fn get_found(&self, group: &GroupStats, messages: u64, bytes: u64) {
        let _ = (group, messages, bytes);
        unimplemented!()
    }

    /// A pull that found nothing.
    pub fn get_missed(&self) {
        unimplemented!()
    }

    /// Messages put into the topic, per second over the last minute.
    pub fn topic_put_tps(&self, topic: &str) -> f64 {
        let _ = topic;
        unimplemented!()
    }

    /// Messages given to the group, per second over the last minute.
    pub fn group_get_tps(&self, topic: &str, group: &str) -> f64 {
        let _ = (topic, group);
        unimplemented!()
    }
}
