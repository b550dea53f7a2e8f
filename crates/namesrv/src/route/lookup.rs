//! Questions about one topic, one broker set, or the whole cluster (105, 901, 106).

use super::RoutePolicy;
use super::table::{BrokerSet, MASTER_ID, PERM_WRITE, RouteTable, TopicEntry};
use roxmq_protocol::body::cluster_info::ClusterInfo;
use roxmq_protocol::body::route::{BrokerData, QueueData, TopicRouteData};
use roxmq_protocol::names;
use std::collections::BTreeMap;

impl RouteTable {
    /// The brokers that have the topic, with its queues there; nothing if none has it.
    pub fn route(&self, topic: &str, policy: RoutePolicy) -> Option<TopicRouteData> {
        let mut route = TopicRouteData::default();
        // What the members of a set tell one another is not for an acting master.
        let shows_acting = policy.acting_master && !topic.starts_with(names::SYNC_BROKER_MEMBER_PREFIX);
        for (broker_name, entry) in self.entries(topic)? {
            let Some(set) = self.brokers.get(broker_name) else { continue };
            let queues = QueueData {
                broker_name: broker_name.clone(),
                read_queue_nums: entry.queues.read_queue_nums,
                write_queue_nums: entry.queues.write_queue_nums,
                perm: entry.perm(set),
                topic_sys_flag: entry.queues.topic_sys_flag,
            };
            let mut broker = set.data(broker_name);
            if shows_acting && set.is_acting() && queues.perm & PERM_WRITE == 0 {
                show_acting_master(&mut broker);
            }
            set.list_filter_servers(&mut route.filter_server_table);
            route.queue_datas.push(queues);
            route.broker_datas.push(broker);
        }
        route.topic_queue_mapping_by_broker = self.mappings.get(topic).cloned();
        (!route.broker_datas.is_empty()).then_some(route)
    }

    /// Where the topic is. The template of unknown topics is the same one for every namespace without one of its own.
    fn entries(&self, topic: &str) -> Option<&BTreeMap<String, TopicEntry>> {
        let is_template = || names::is_auto_create_topic_of_namespace(topic);
        let template = || is_template().then(|| self.topics.get(names::AUTO_CREATE_TOPIC)).flatten();
        self.topics.get(topic).or_else(template)
    }

    /// Every broker, by name and by cluster.
    pub fn cluster_info(&self) -> ClusterInfo {
        ClusterInfo {
            broker_addr_table: self
                .brokers
                .iter()
                .map(|(name, set)| (name.clone(), set.data(name)))
                .collect(),
            cluster_addr_table: self.clusters.clone(),
        }
    }

    /// The addresses of a set by their ids; none for an unknown set.
    pub fn members(&self, broker_name: &str) -> BTreeMap<i64, String> {
        self.brokers.get(broker_name).map(BrokerSet::addrs).unwrap_or_default()
    }
}

impl BrokerSet {
    fn data(&self, broker_name: &str) -> BrokerData {
        BrokerData {
            cluster: self.cluster.clone(),
            broker_name: broker_name.to_owned(),
            broker_addrs: self.addrs(),
            zone_name: self.zone_name.clone(),
            enable_acting_master: self.enable_acting_master,
        }
    }

    fn list_filter_servers(&self, table: &mut BTreeMap<String, Vec<String>>) {
        for member in self.members.values().filter(|member| !member.filter_servers.is_empty()) {
            table.insert(member.addr.clone(), member.filter_servers.clone());
        }
    }
}

/// Clients ask the master for locks and offsets: the slave that acts as one must look like one.
fn show_acting_master(broker: &mut BrokerData) {
    if let Some((_, addr)) = broker.broker_addrs.pop_first() {
        broker.broker_addrs.insert(MASTER_ID, addr);
    }
}

/// Leaves out the brokers of other zones, except those without a master: their messages can only be read elsewhere.
pub fn keep_zone(route: &mut TopicRouteData, zone: &str) {
    let stays = |broker: &BrokerData| {
        let is_of_zone = broker.zone_name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(zone));
        is_of_zone || !broker.broker_addrs.contains_key(&MASTER_ID)
    };
    let (kept, removed): (Vec<_>, Vec<_>) = route.broker_datas.drain(..).partition(stays);
    route.broker_datas = kept;
    for broker in &removed {
        route.queue_datas.retain(|queues| queues.broker_name != broker.broker_name);
        route.filter_server_table.retain(|addr, _| broker.broker_addrs.values().all(|gone| gone != addr));
    }
}
