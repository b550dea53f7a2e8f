//! What the table holds.

use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::route::QueueData;
use roxmq_protocol::body::static_topic::TopicQueueMappingInfo;
use roxmq_protocol::body::topic_config::TopicConfig;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// The id of a master.
pub const MASTER_ID: i64 = 0;
/// The permission bits of a topic's queues.
pub const PERM_WRITE: i32 = 2;

#[derive(Debug, Default)]
pub struct RouteTable {
    /// Topic → broker name → its queues there.
    pub(super) topics: HashMap<String, BTreeMap<String, TopicEntry>>,
    /// Broker name → the master and slaves of that name.
    pub(super) brokers: BTreeMap<String, BrokerSet>,
    /// Cluster → its broker names.
    pub(super) clusters: BTreeMap<String, BTreeSet<String>>,
    /// Static topic → broker name → the logical queues there.
    pub(super) mappings: HashMap<String, BTreeMap<String, TopicQueueMappingInfo>>,
}

/// The queues of one topic on one broker, as the broker says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicQueues {
    pub read_queue_nums: i32,
    pub write_queue_nums: i32,
    pub perm: i32,
    pub topic_sys_flag: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopicEntry {
    /// As registered, so that what was taken away can be given back.
    pub queues: TopicQueues,
    /// An operator took the write permission away. Holds until it is given back or the broker changes the topic.
    pub wiped: bool,
}

/// The brokers of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct BrokerSet {
    pub cluster: String,
    pub zone_name: Option<String>,
    pub enable_acting_master: bool,
    /// Never empty while the set is in the table.
    pub members: BTreeMap<i64, Member>,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub addr: String,
    pub ha_server_addr: String,
    pub data_version: DataVersion,
    pub filter_servers: Vec<String>,
    /// Over which it registered last: it is gone when that closes.
    pub connection: u64,
    pub last_seen: Instant,
    pub timeout: Duration,
}

impl BrokerSet {
    pub fn min_id(&self) -> Option<i64> {
        self.members.first_key_value().map(|(id, _)| *id)
    }

    /// A slave stands in for the master: nothing can be written here.
    pub fn is_acting(&self) -> bool {
        self.enable_acting_master && !self.members.contains_key(&MASTER_ID)
    }

    pub fn member_at(&self, addr: &str) -> Option<&Member> {
        self.members.values().find(|member| member.addr == addr)
    }

    pub fn member_at_mut(&mut self, addr: &str) -> Option<&mut Member> {
        self.members.values_mut().find(|member| member.addr == addr)
    }

    pub fn addrs(&self) -> BTreeMap<i64, String> {
        self.members.iter().map(|(id, member)| (*id, member.addr.clone())).collect()
    }
}

impl TopicEntry {
    /// The permission that routes show.
    pub fn perm(&self, set: &BrokerSet) -> i32 {
        if self.wiped || set.is_acting() { self.queues.perm & !PERM_WRITE } else { self.queues.perm }
    }
}

impl From<&TopicConfig> for TopicQueues {
    fn from(topic: &TopicConfig) -> Self {
        TopicQueues {
            read_queue_nums: topic.read_queue_nums,
            write_queue_nums: topic.write_queue_nums,
            perm: topic.perm,
            topic_sys_flag: topic.topic_sys_flag,
        }
    }
}

impl From<&QueueData> for TopicQueues {
    fn from(queues: &QueueData) -> Self {
        TopicQueues {
            read_queue_nums: queues.read_queue_nums,
            write_queue_nums: queues.write_queue_nums,
            perm: queues.perm,
            topic_sys_flag: queues.topic_sys_flag,
        }
    }
}

impl RouteTable {
    pub fn has_broker(&self, broker_name: &str, addr: &str) -> bool {
        self.brokers.get(broker_name).is_some_and(|set| set.member_at(addr).is_some())
    }

    /// The broker's data version, as of its last registration (322).
    pub fn data_version(&self, cluster: &str, broker_name: &str, addr: &str) -> Option<&DataVersion> {
        let set = self.brokers.get(broker_name).filter(|set| set.cluster == cluster)?;
        set.member_at(addr).map(|member| &member.data_version)
    }

    /// A word from the broker that is no registration (322, 904).
    pub fn heard_of(&mut self, cluster: &str, broker_name: &str, addr: &str, now: Instant) {
        let set = self.brokers.get_mut(broker_name).filter(|set| set.cluster == cluster);
        if let Some(member) = set.and_then(|set| set.member_at_mut(addr)) {
            member.last_seen = now;
        }
    }
}
