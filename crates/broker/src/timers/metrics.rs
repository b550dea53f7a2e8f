//! How many timer messages wait, in all and for each topic; in the Java server's form in `config/timermetrics`.
//!
//! Each message that is entered counts, and each that takes another one back counts less. Both are uncounted when their
//! slot is done with, so that the sums can't drift: they are what the units of the timer log say.

use parking_lot::Mutex;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::java_hash;
use roxmq_protocol::json::{ToJson, Writer};
use roxmq_store::Millis;
use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the hash of the topic, which is what a unit has.
    topics: HashMap<i32, TopicCount>,
    version: DataVersion,
    entered: Rate,
    delivered: Rate,
}

#[derive(Debug, Default)]
struct TopicCount {
    /// Not known for a topic that was deleted before a start.
    name: Option<String>,
    count: i64,
    changed: Millis,
}

/// Events of the last whole second.
#[derive(Debug, Default)]
struct Rate {
    second: i64,
    now: u64,
    before: u64,
}

impl Metrics {
    /// What a start has found. `names` are all topics.
    pub(super) fn found(
        counts: &HashMap<i32, i64>,
        names: impl IntoIterator<Item = String>,
        now: Millis,
    ) -> Metrics {
        let known: HashMap<i32, String> =
            names.into_iter().map(|name| (java_hash::hash(&name), name)).collect();
        let topics = counts.iter().map(|(hash, count)| {
            (*hash, TopicCount { name: known.get(hash).cloned(), count: *count, changed: now })
        });
        let inner = Inner { topics: topics.collect(), ..Inner::default() };
        Metrics { inner: Mutex::new(inner) }
    }

    /// A message was entered that is meant for the topic.
    pub(super) fn enter(&self, topic: &str, hash: i32, weight: i32, now: Millis) {
        let mut inner = self.inner.lock();
        inner.entered.add(now, 1);
        let topic_count = inner.change(hash, weight, now);
        if topic_count.name.is_none() {
            topic_count.name = Some(topic.to_owned());
        }
    }

    /// Messages are done with, whatever became of them.
    pub(super) fn leave(&self, weights: impl IntoIterator<Item = (i32, i32)>, now: Millis) {
        let mut inner = self.inner.lock();
        for (hash, weight) in weights {
            inner.change(hash, -weight, now);
        }
    }

    pub(super) fn delivered(&self, count: u64, now: Millis) {
        self.inner.lock().delivered.add(now, count);
    }

    /// How many wait.
    pub(crate) fn total(&self) -> i64 {
        self.inner.lock().topics.values().map(|topic| topic.count.max(0)).sum()
    }

    /// Messages entered and delivered in the last second.
    pub(crate) fn rates(&self, now: Millis) -> (u64, u64) {
        let mut inner = self.inner.lock();
        (inner.entered.last(now), inner.delivered.last(now))
    }

    /// A topic is gone.
    pub(crate) fn remove(&self, topic: &str) {
        self.inner.lock().topics.remove(&java_hash::hash(topic));
    }

    pub(crate) fn version(&self) -> DataVersion {
        self.inner.lock().version
    }
}

impl Inner {
    fn change(&mut self, hash: i32, weight: i32, now: Millis) -> &mut TopicCount {
        self.version = self.version.next(now.0);
        let topic = self.topics.entry(hash).or_default();
        topic.count += i64::from(weight);
        topic.changed = now;
        topic
    }
}

impl Rate {
    fn add(&mut self, now: Millis, count: u64) {
        self.turn(now);
        self.now += count;
    }

    fn last(&mut self, now: Millis) -> u64 {
        self.turn(now);
        self.before
    }

    fn turn(&mut self, now: Millis) {
        let second = now.0 / 1_000;
        if second != self.second {
            self.before = if second == self.second + 1 { self.now } else { 0 };
            (self.second, self.now) = (second, 0);
        }
    }
}

/// The Java server's `TimerMetrics`.
impl ToJson for Metrics {
    fn write_json(&self, writer: &mut Writer) {
        struct Shown(i64, Millis);
        impl ToJson for Shown {
            fn write_json(&self, writer: &mut Writer) {
                writer.object(|writer| {
                    writer.field("count", &self.0);
                    writer.field("timeStamp", &self.1.0);
                });
            }
        }
        let inner = self.inner.lock();
        let named = |topic: &TopicCount| {
            // More may have been taken back than was there, by clients that recall with properties of their own.
            Some((topic.name.clone()?, Shown(topic.count.max(0), topic.changed)))
        };
        let counts: BTreeMap<String, Shown> = inner.topics.values().filter_map(named).collect();
        writer.object(|writer| {
            writer.field("dataVersion", &inner.version);
            writer.field("timingCount", &counts);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_the_java_servers_form() {
        let (hash, other) = (java_hash::hash("T"), java_hash::hash("U"));
        let counts = HashMap::from([(hash, 2), (7, 1)]);
        let metrics = Metrics::found(&counts, ["T".to_owned()], Millis(5));
        metrics.enter("T", hash, 1, Millis(6));
        metrics.enter("U", other, -1, Millis(7));
        metrics.leave([(hash, 1), (7, 1)], Millis(8));
        assert_eq!(
            metrics.to_json_text(),
            r#"{"dataVersion":{"counter":4,"stateVersion":0,"timestamp":8},"timingCount":{"T":{"count":2,"timeStamp":8},"U":{"count":0,"timeStamp":7}}}"#
        );
        assert_eq!(metrics.total(), 2);
        metrics.leave([(other, -1)], Millis(9));
        metrics.remove("T");
        assert_eq!(metrics.total(), 0);
    }

    #[test]
    fn a_rate_is_that_of_the_last_whole_second() {
        let metrics = Metrics::default();
        metrics.delivered(5, Millis(1_999));
        assert_eq!(metrics.rates(Millis(1_999)), (0, 0));
        assert_eq!(metrics.rates(Millis(2_000)), (0, 5));
        assert_eq!(metrics.rates(Millis(3_000)), (0, 0));
    }
}
