//! The topics of this broker.
//!
//! A change is in the state log before it is seen here. Looking a topic up allocates nothing.

pub(crate) mod attributes;
mod by_send;
mod defaults;

pub use by_send::CreateError;
pub use roxmq_protocol::body::data_version::DataVersion;
pub use roxmq_protocol::body::topic_config::{TopicConfig, TopicFilterType};

use crate::config::CurrentConfig;
use crate::registration::TopicChanges;
use crate::state::{Change, StateError, StateLog, Turn};
use crate::stats::TopicStats;
use crate::table_version::TableVersion;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::TopicRetention;
use roxmq_store::clock::Clock;
use roxmq_store::multi_dispatch::is_light_queue;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

/// More queues than this nobody means; each costs memory in clients, too.
pub(crate) const QUEUES_MAX: i32 = 65_536;

/// A topic: its configuration and its counters.
#[derive(Debug)]
pub struct Topic {
    pub config: TopicConfig,
    /// Survives changes of the configuration.
    pub stats: Arc<TopicStats>,
}

impl Deref for Topic {
    type Target = TopicConfig;

    fn deref(&self) -> &TopicConfig {
        &self.config
    }
}

pub struct TopicTable {
    topics: RwLock<HashMap<Arc<str>, Arc<Topic>, RandomState>>,
    version: TableVersion,
    /// Names that requests may not change or delete.
    system: BTreeSet<String>,
    log: Arc<StateLog>,
    config: Arc<CurrentConfig>,
    changes: Arc<TopicChanges>,
    /// What the store is told of topics that keep their messages for a time of their own.
    retention: Arc<TopicRetention>,
}

impl TopicTable {
    /// The table with the topics that every broker has.
    pub(crate) fn new(
        log: Arc<StateLog>,
        config: Arc<CurrentConfig>,
        clock: Arc<dyn Clock>,
        changes: Arc<TopicChanges>,
        retention: Arc<TopicRetention>,
    ) -> Self {
        let defaults = defaults::topics(&config.get());
        let system = defaults.iter().map(|topic| topic.topic_name.clone()).collect();
        let table = TopicTable {
            topics: RwLock::default(),
            version: TableVersion::new(clock),
            system,
            log,
            config,
            changes,
            retention,
        };
        defaults.into_iter().for_each(|topic| drop(table.insert(topic)));
        table
    }

    /// The topic; called for each message.
    pub fn get(&self, topic: &str) -> Option<Arc<Topic>> {
        let known = self.topics.read().get(topic).cloned();
        if known.is_some() { known } else { self.light(topic) }
    }

    /// A light queue is a topic with one queue, without being in the table.
    fn light(&self, name: &str) -> Option<Arc<Topic>> {
        if !names::is_lmq(name) || !is_light_queue(name) || !self.config.get().enable_lmq {
            return None;
        }
        let config = topic_config(name, 1, perm::READ | perm::WRITE);
        Some(Arc::new(Topic { config, stats: Arc::new(TopicStats::new(name)) }))
    }

    /// Makes or replaces a topic.
    pub fn put(&self, config: TopicConfig) -> Result<Arc<Topic>, StateError> {
        self.put_in(&mut self.log.turn(), config)
    }

    /// The topic as it is, or made with this many queues: retry and dead-letter topics.
    pub fn create_internal(
        &self,
        topic: &str,
        queues: i32,
        perm: i32,
        sys_flag: i32,
    ) -> Result<Arc<Topic>, StateError> {
        if let Some(existing) = self.get(topic) {
            return Ok(existing);
        }
        let mut turn = self.log.turn();
        if let Some(existing) = self.get(topic) {
            return Ok(existing);
        }
        tracing::info!(topic, queues, perm, "created a topic of the broker");
        let config = TopicConfig { topic_sys_flag: sys_flag, ..topic_config(topic, queues, perm) };
        self.put_in(&mut turn, config)
    }

    /// Every topic, in order of names.
    pub fn all(&self) -> Vec<Arc<Topic>> {
        let mut all: Vec<_> = self.topics.read().values().cloned().collect();
        all.sort_unstable_by(|a, b| a.topic_name.cmp(&b.topic_name));
        all
    }

    pub fn len(&self) -> usize {
        self.topics.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn data_version(&self) -> DataVersion {
        self.version.get()
    }

    /// Whether the topic is one of the broker's own: not to be changed or deleted by requests.
    pub fn is_system(&self, topic: &str) -> bool {
        names::is_system_topic(topic) || self.system.contains(topic)
    }

    /// The broker's own topics (request 305), in order of names.
    pub fn system_topics(&self) -> Vec<String> {
        self.system.iter().cloned().collect()
    }

    /// Removes a topic; the turn has its record written.
    pub(crate) fn remove(&self, _turn: &mut Turn<'_>, topic: &str) -> Option<Arc<Topic>> {
        let removed = self.take(topic)?;
        self.changed();
        self.changes.everything();
        Some(removed)
    }

    /// The version moves although no topic changed: the broker's permission is part of what name servers are told.
    pub(crate) fn bump_version(&self) {
        self.changed();
        self.changes.everything();
    }

    /// Puts what a snapshot or the state log has.
    pub(crate) fn restore(&self, config: TopicConfig) {
        self.insert(config);
    }

    /// Removes what the state log says was removed.
    pub(crate) fn restore_removed(&self, topic: &str) {
        self.take(topic);
    }

    /// The version of a snapshot; each change replayed on top of it moves it on.
    pub(crate) fn restore_version(&self, version: DataVersion) {
        self.version.restore(version);
    }

    /// Marks a replayed change.
    pub(crate) fn changed(&self) {
        self.version.changed();
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.version.generation()
    }

    fn put_in(&self, turn: &mut Turn<'_>, config: TopicConfig) -> Result<Arc<Topic>, StateError> {
        turn.record(&Change::PutTopic(config.clone()))?;
        let topic = self.insert(config);
        self.changed();
        self.changes.changed(&topic.topic_name);
        Ok(topic)
    }

    fn take(&self, topic: &str) -> Option<Arc<Topic>> {
        let removed = self.topics.write().remove(topic);
        self.retention.set(topic, None);
        removed
    }

    fn insert(&self, config: TopicConfig) -> Arc<Topic> {
        self.retention.set(&config.topic_name, attributes::reserve_time(&config.attributes));
        let mut topics = self.topics.write();
        let known = topics.get(config.topic_name.as_str());
        let stats = match known {
            Some(known) => Arc::clone(&known.stats),
            None => Arc::new(TopicStats::new(&config.topic_name)),
        };
        let topic = Arc::new(Topic { config, stats });
        topics.insert(topic.topic_name.as_str().into(), Arc::clone(&topic));
        topic
    }
}

/// A topic with as many queues to read as to write.
pub(crate) fn topic_config(name: &str, queues: i32, perm: i32) -> TopicConfig {
    TopicConfig {
        topic_name: name.to_owned(),
        read_queue_nums: queues,
        write_queue_nums: queues,
        perm,
        ..TopicConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;
    use crate::state::memory::MemoryJournal;
    use roxmq_store::clock::SystemClock;
    use std::sync::atomic::Ordering;

    pub(super) fn table(config: BrokerConfig) -> (TopicTable, MemoryJournal) {
        let journal = MemoryJournal::default();
        let log = Arc::new(StateLog::new(journal.clone()));
        let changes = Arc::new(TopicChanges::default());
        let config = Arc::new(CurrentConfig::new(config));
        (TopicTable::new(log, config, Arc::new(SystemClock), changes, Arc::default()), journal)
    }

    #[test]
    fn a_fresh_broker_has_the_topics_of_the_java_server() {
        let (table, _) = table(BrokerConfig::default());
        let check = |name: &str, queues: i32, perm: i32| {
            let topic = table.get(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(
                (topic.read_queue_nums, topic.write_queue_nums, topic.perm),
                (queues, queues, perm),
                "{name}"
            );
            assert!(table.is_system(name), "{name}");
        };
        check("TBW102", 8, 7);
        check("SELF_TEST_TOPIC", 1, 6);
        check("BenchmarkTest", 1024, 6);
        check("DefaultCluster", 16, 7);
        check("broker-a", 1, 7);
        check("OFFSET_MOVED_EVENT", 1, 6);
        check("SCHEDULE_TOPIC_XXXX", 18, 6);
        check("DefaultCluster_REPLY_TOPIC", 1, 6);
        check("rmq_sys_REVIVE_LOG_DefaultCluster", 8, 6);
        check("rmq_sys_SYNC_BROKER_MEMBER_broker-a", 1, 1);
        check("RMQ_SYS_TRANS_HALF_TOPIC", 1, 6);
        check("RMQ_SYS_TRANS_OP_HALF_TOPIC", 1, 6);
        check("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", 1, 6);
        check("RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", 1, 6);
        check("rmq_sys_wheel_timer", 1, 6);
        assert_eq!(table.len(), 15);
        assert_eq!(table.generation(), 0);
    }

    #[test]
    fn what_the_log_refuses_is_not_made() {
        let (table, journal) = table(BrokerConfig::default());
        journal.full.store(true, Ordering::Relaxed);
        table.put(topic_config("T", 1, 6)).expect_err("a full log");
        assert!(table.get("T").is_none());
        assert_eq!(table.data_version().counter, 0);
    }

    #[test]
    fn counters_survive_a_change_of_the_configuration() {
        let (table, _) = table(BrokerConfig::default());
        let topic = table.put(topic_config("T", 1, 6)).expect("a topic");
        topic.stats.put.add(5, 50);
        let topic = table.put(topic_config("T", 2, 6)).expect("a topic");
        assert_eq!(topic.stats.put.count(), 5);
    }

    #[test]
    fn topics_of_the_broker_are_made_once() {
        let (table, journal) = table(BrokerConfig::default());
        for _ in 0..2 {
            let topic = table.create_internal("%RETRY%g", 1, 6, 0).expect("a topic");
            assert_eq!((topic.write_queue_nums, topic.perm), (1, 6));
        }
        assert_eq!(journal.changes.lock().len(), 1);
    }
}
