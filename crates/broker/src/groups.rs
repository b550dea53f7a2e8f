//! The consumer groups of this broker: what each may do, and what is forbidden to it.
//!
//! A change is in the state log before it is seen here. Looking a group up allocates nothing.

pub use roxmq_protocol::body::data_version::DataVersion;
pub use roxmq_protocol::body::group_config::SubscriptionGroupConfig;

use crate::config::CurrentConfig;
use crate::state::{Change, StateError, StateLog, Turn};
use crate::table_version::TableVersion;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use roxmq_protocol::names;
use roxmq_store::clock::Clock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Group to topic to the bits of what the group must not do.
pub type ForbiddenTable = BTreeMap<String, BTreeMap<String, i32>>;

pub struct GroupTable {
    groups: RwLock<HashMap<Arc<str>, Arc<SubscriptionGroupConfig>, RandomState>>,
    forbidden: RwLock<ForbiddenTable>,
    version: TableVersion,
    log: Arc<StateLog>,
    config: Arc<CurrentConfig>,
}

impl GroupTable {
    /// The table with the groups that every broker has.
    pub(crate) fn new(log: Arc<StateLog>, config: Arc<CurrentConfig>, clock: Arc<dyn Clock>) -> Self {
        let table = GroupTable {
            groups: RwLock::default(),
            forbidden: RwLock::default(),
            version: TableVersion::new(clock),
            log,
            config,
        };
        names::INITIAL_GROUPS
            .iter()
            .for_each(|group| drop(table.insert(SubscriptionGroupConfig::new(*group))));
        table
    }

    /// The group, if it is there; no automatic creation.
    pub fn get(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        let known = self.groups.read().get(group).cloned();
        if known.is_some() { known } else { self.light(group) }
    }

    /// A group of light queues has the defaults, without being in the table.
    fn light(&self, name: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        let is_light =
            names::is_lmq(name) && self.config.get().enable_lmq && names::check_group(name).is_ok();
        is_light.then(|| Arc::new(SubscriptionGroupConfig::new(name)))
    }

    /// The group, made with the defaults if `autoCreateSubscriptionGroup` allows it and the name is valid.
    pub fn get_or_create(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        if let Some(existing) = self.get(group) {
            return Some(existing);
        }
        let config = self.config.get();
        let allowed = config.auto_create_subscription_group
            || (config.enable_create_sys_group && group.starts_with(names::SYSTEM_GROUP_PREFIX));
        if !allowed || names::check_group(group).is_err() {
            return None;
        }
        let mut turn = self.log.turn();
        if let Some(existing) = self.get(group) {
            return Some(existing);
        }
        match self.put_in(&mut turn, SubscriptionGroupConfig::new(group)) {
            Ok(created) => {
                tracing::info!(group, "created a consumer group");
                Some(created)
            }
            Err(error) => {
                tracing::warn!(group, %error, "a consumer group could not be created");
                None
            }
        }
    }

    /// Makes or replaces a group.
    pub fn put(&self, config: SubscriptionGroupConfig) -> Result<(), StateError> {
        self.put_in(&mut self.log.turn(), config).map(drop)
    }

    /// Every group, in order of names.
    pub fn all(&self) -> Vec<Arc<SubscriptionGroupConfig>> {
        let mut all: Vec<_> = self.groups.read().values().cloned().collect();
        all.sort_unstable_by(|a, b| a.group_name.cmp(&b.group_name));
        all
    }

    pub fn len(&self) -> usize {
        self.groups.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn data_version(&self) -> DataVersion {
        self.version.get()
    }

    /// The bits of what the group must not do with the topic; bit 0 is reading.
    pub fn forbidden(&self, group: &str, topic: &str) -> i32 {
        let forbidden = self.forbidden.read();
        if forbidden.is_empty() {
            return 0;
        }
        forbidden.get(group).and_then(|topics| topics.get(topic)).copied().unwrap_or(0)
    }

    pub fn set_forbidden(&self, group: &str, topic: &str, bits: i32) -> Result<(), StateError> {
        let mut turn = self.log.turn();
        turn.record(&Change::Forbid { group: group.to_owned(), topic: topic.to_owned(), bits })?;
        self.restore_forbidden(group, topic, bits);
        self.changed();
        Ok(())
    }

    /// Group to topic to bits, of those that have any.
    pub fn forbidden_table(&self) -> ForbiddenTable {
        self.forbidden.read().clone()
    }

    /// Removes a group; the turn has its record written.
    pub(crate) fn remove(&self, _turn: &mut Turn<'_>, group: &str) {
        self.restore_removed(group);
        self.changed();
    }

    /// Forgets what groups must not do with a topic; the turn has the record of its deletion written.
    pub(crate) fn remove_topic(&self, _turn: &mut Turn<'_>, topic: &str) {
        if self.restore_removed_topic(topic) {
            self.changed();
        }
    }

    /// Forgets a topic that the state log says was removed; whether there was anything.
    pub(crate) fn restore_removed_topic(&self, topic: &str) -> bool {
        let mut forbidden = self.forbidden.write();
        let mut had = false;
        forbidden.retain(|_, topics| {
            had |= topics.remove(topic).is_some();
            !topics.is_empty()
        });
        had
    }

    /// Puts what a snapshot or the state log has.
    pub(crate) fn restore(&self, config: SubscriptionGroupConfig) {
        self.insert(config);
    }

    pub(crate) fn restore_forbidden(&self, group: &str, topic: &str, bits: i32) {
        let mut forbidden = self.forbidden.write();
        if bits != 0 {
            forbidden.entry(group.to_owned()).or_default().insert(topic.to_owned(), bits);
        } else if let Some(topics) = forbidden.get_mut(group) {
            topics.remove(topic);
            forbidden.retain(|_, topics| !topics.is_empty());
        }
    }

    /// Removes what the state log says was removed.
    pub(crate) fn restore_removed(&self, group: &str) {
        self.groups.write().remove(group);
        self.forbidden.write().remove(group);
    }

    pub(crate) fn restore_version(&self, version: DataVersion) {
        self.version.restore(version);
    }

    /// Marks a change that was made or replayed.
    pub(crate) fn changed(&self) {
        self.version.changed();
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.version.generation()
    }

    fn put_in(
        &self,
        turn: &mut Turn<'_>,
        config: SubscriptionGroupConfig,
    ) -> Result<Arc<SubscriptionGroupConfig>, StateError> {
        turn.record(&Change::PutGroup(config.clone()))?;
        let group = self.insert(config);
        self.changed();
        Ok(group)
    }

    fn insert(&self, config: SubscriptionGroupConfig) -> Arc<SubscriptionGroupConfig> {
        let group = Arc::new(config);
        self.groups.write().insert(group.group_name.as_str().into(), Arc::clone(&group));
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;
    use crate::state::memory::MemoryJournal;
    use roxmq_store::clock::SystemClock;
    use std::sync::atomic::Ordering;

    fn table(config: BrokerConfig) -> (GroupTable, MemoryJournal) {
        let journal = MemoryJournal::default();
        let log = Arc::new(StateLog::new(journal.clone()));
        (GroupTable::new(log, Arc::new(CurrentConfig::new(config)), Arc::new(SystemClock)), journal)
    }

    #[test]
    fn groups_are_made_on_demand_if_that_is_allowed_and_the_name_is_valid() {
        let (table, journal) = table(BrokerConfig::default());
        assert_eq!(table.len(), 8);
        let group = table.get_or_create("g").expect("a group");
        assert_eq!(group.retry_max_times, 16);
        assert!(table.get_or_create("g").is_some());
        assert!(table.get_or_create("no name").is_none());
        assert!(table.get_or_create(&"g".repeat(121)).is_none());
        assert_eq!(journal.changes.lock().len(), 1);
        journal.full.store(true, Ordering::Relaxed);
        assert!(table.get_or_create("h").is_none());
    }

    #[test]
    fn without_automatic_creation_only_groups_of_the_system_are_made() {
        let (table, _) =
            table(BrokerConfig { auto_create_subscription_group: false, ..BrokerConfig::default() });
        assert!(table.get_or_create("g").is_none());
        assert!(table.get_or_create("CID_RMQ_SYS_X").is_some());
        assert!(table.get_or_create("TOOLS_CONSUMER").is_some());
    }

    #[test]
    fn what_is_forbidden_goes_with_the_last_bit_or_the_group() {
        let (table, journal) = table(BrokerConfig::default());
        assert_eq!(table.forbidden("g", "t"), 0);
        table.set_forbidden("g", "t", 1).expect("a change");
        table.set_forbidden("h", "t", 1).expect("a change");
        assert_eq!(table.forbidden("g", "t"), 1);
        table.set_forbidden("g", "t", 0).expect("a change");
        table.remove(&mut table.log.turn(), "h");
        assert_eq!(table.forbidden_table(), ForbiddenTable::new());
        assert_eq!(journal.changes.lock().len(), 3);
    }
}
