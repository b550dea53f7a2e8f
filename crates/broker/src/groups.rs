//! The consumer groups of this broker: what each may do, and what is forbidden to it.

pub use crate::model::{DataVersion, SubscriptionGroupConfig};
use crate::state::StateError;
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct GroupTable {}

impl GroupTable {
    /// The group, if it is there; no automatic creation.
    pub fn get(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        let _ = group;
        unimplemented!()
    }

    /// The group, made with the defaults if `autoCreateSubscriptionGroup` allows it and the name is valid.
    pub fn get_or_create(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        let _ = group;
        unimplemented!()
    }

    pub fn put(&self, config: SubscriptionGroupConfig) -> Result<(), StateError> {
        let _ = config;
        unimplemented!()
    }

    /// Every group, in order of names.
    pub fn all(&self) -> Vec<Arc<SubscriptionGroupConfig>> {
        unimplemented!()
    }

    pub fn len(&self) -> usize {
        unimplemented!()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn data_version(&self) -> DataVersion {
        unimplemented!()
    }

    /// The bits of what the group must not do with the topic; bit 0 is reading.
    pub fn forbidden(&self, group: &str, topic: &str) -> i32 {
        let _ = (group, topic);
        unimplemented!()
    }

    pub fn set_forbidden(&self, group: &str, topic: &str, bits: i32) -> Result<(), StateError> {
        let _ = (group, topic, bits);
        unimplemented!()
    }

    /// Group to topic to bits, of those that have any.
    pub fn forbidden_table(&self) -> BTreeMap<String, BTreeMap<String, i32>> {
        unimplemented!()
    }
}
