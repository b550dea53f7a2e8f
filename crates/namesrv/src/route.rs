//! The routes: pure state, driven by registrations and time.

use std::collections::BTreeMap;

/// What a broker tells about itself and its topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registration {
    pub cluster: String,
    pub broker_name: String,
    /// 0 for a master.
    pub broker_id: i64,
    pub broker_addr: String,
    pub ha_server_addr: String,
    pub zone_name: Option<String>,
    /// How long the broker counts as alive without a further word; 120 s if it doesn't say.
    pub heartbeat_timeout_ms: Option<u64>,
    /// Whether a slave may act as master; `None` for brokers too old to know.
    pub acting_master: Option<bool>,
    pub topics: BTreeMap<String, TopicQueues>,
    /// These are all topics that the broker has, so that others are gone. Java brokers never say so.
    pub full: bool,
}

/// The queues of one topic on one broker, as the broker says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicQueues {
    pub read_queue_nums: i32,
    pub write_queue_nums: i32,
    pub perm: i32,
    pub topic_sys_flag: i32,
}

/// What a registration is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// The master of a slave that registered.
    pub master_addr: Option<String>,
    pub ha_server_addr: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    #[error(
        "register broker failed: {broker_name} (id {broker_id}) must register all its topics before a single one"
    )]
    SingleTopicFirst { broker_name: String, broker_id: i64 },
}

#[derive(Debug, Default)]
pub struct RouteTable {}
