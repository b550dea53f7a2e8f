//! All groups of a broker (code 201, `subscriptionGroup.json`), and what is forbidden to one (353).

use super::data_version::DataVersion;
use super::group_config::SubscriptionGroupConfig;
use std::collections::BTreeMap;

json_object! {
    pub struct SubscriptionGroupTable {
        "dataVersion" data_version: DataVersion,
        /// For a group and a topic the bits of what is forbidden.
        "forbiddenTable" forbidden_table: BTreeMap<String, BTreeMap<String, i32>>,
        "subscriptionGroupTable" subscription_group_table: BTreeMap<String, SubscriptionGroupConfig>,
    }
}

json_object! {
    /// What a group may do with a topic (353).
    pub struct GroupForbidden {
        "group" group: String,
        "readable" readable: bool,
        "topic" topic: String,
    }
}
