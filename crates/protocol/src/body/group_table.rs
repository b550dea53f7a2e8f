//! All groups of a broker (code 201, `subscriptionGroup.json`).

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
