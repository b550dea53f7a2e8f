//! What topics and groups are, under the names of Java's fields.

use std::collections::BTreeMap;

/// May be read, written, inherited from (a template for automatic creation).
pub mod perm {
    pub const INHERIT: i32 = 1;
    pub const WRITE: i32 = 2;
    pub const READ: i32 = 4;

    pub fn is_readable(perm: i32) -> bool {
        perm & READ != 0
    }

    pub fn is_writable(perm: i32) -> bool {
        perm & WRITE != 0
    }

    pub fn is_inherited(perm: i32) -> bool {
        perm & INHERIT != 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicConfig {
    pub topic_name: String,
    pub read_queue_nums: i32,
    pub write_queue_nums: i32,
    pub perm: i32,
    /// `SINGLE_TAG` or `MULTI_TAG`
    pub topic_filter_type: String,
    pub topic_sys_flag: i32,
    pub order: bool,
    pub attributes: BTreeMap<String, String>,
}

/// Counts the changes of a table; two copies are the same when all three are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataVersion {
    pub counter: i64,
    pub state_version: i64,
    pub timestamp: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionGroupConfig {
    pub group_name: String,
    pub consume_enable: bool,
    pub consume_from_min_enable: bool,
    pub consume_broadcast_enable: bool,
    pub consume_message_orderly: bool,
    pub retry_queue_nums: i32,
    pub retry_max_times: i32,
    pub broker_id: i64,
    pub which_broker_when_consume_slowly: i64,
    pub notify_consumer_ids_changed_enable: bool,
    pub group_sys_flag: i32,
    pub consume_timeout_minute: i32,
    pub attributes: BTreeMap<String, String>,
}
