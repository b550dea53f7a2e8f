//! Registration of a broker (103).

use super::RoutePolicy;
use super::table::{BrokerSet, MASTER_ID, Member, RouteTable, TopicEntry, TopicQueues};
use super::unregister::MinIdNotice;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::static_topic::TopicQueueMappingInfo;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a broker that doesn't say otherwise counts as alive after its last word.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a broker tells about itself and its topics.
#[derive(Clone, Debug, Default)]
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
    pub enable_acting_master: Option<bool>,
    pub data_version: DataVersion,
    pub topics: BTreeMap<String, TopicQueues>,
    /// Static topics with their logical queues on this broker.
    pub mappings: BTreeMap<String, TopicQueueMappingInfo>,
    /// `None` leaves the known ones.
    pub filter_servers: Option<Vec<String>>,
    /// These are all topics that the broker has, so others are gone. Java brokers never say so.
    pub full: bool,
}

/// What a registration is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// The master of a slave that registered.
    pub master_addr: Option<String>,
    pub ha_server_addr: Option<String>,
    /// To be sent to other members of the broker's set.
    pub notice: Option<MinIdNotice>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    #[error(
        "register broker failed: {broker_name} (id {broker_id}) must register all its topics before a single one"
    )]
    SingleTopicFirst { broker_name: String, broker_id: i64 },
    #[error("register broker failed: {0} is blank")]
    Blank(&'static str),
}

impl RouteTable {
    pub fn register(
        &mut self,
        registration: Registration,
        connection: u64,
        now: Instant,
        policy: RoutePolicy,
    ) -> Result<Registered, RegisterError> {
        registration.check()?;
        if self.is_outdated(&registration) {
            self.drop_other_ids(&registration);
            return Ok(Registered::default());
        }
        self.check_not_single_topic_first(&registration)?;

        let min_before = self.brokers.get(&registration.broker_name).and_then(BrokerSet::min_id);
        let min_lowered = min_before.is_some_and(|min| registration.broker_id < min);
        self.drop_other_ids(&registration);
        self.take_in(&registration, connection, now);
        if self.speaks_for_its_set(&registration) {
            self.apply_topics(&registration, policy);
        }
        let mut registered = self.master_of(&registration);
        if min_lowered && policy.notify_min_broker_id {
            registered.notice = self.min_id_notice(&registration.broker_name, None);
        }
        Ok(registered)
    }

    /// Another address holds this id with a newer state: the broker that registers was master once and missed that
    /// it no longer is.
    fn is_outdated(&self, registration: &Registration) -> bool {
        let set = self.brokers.get(&registration.broker_name);
        let holder = set.and_then(|set| set.members.get(&registration.broker_id));
        holder.is_some_and(|holder| {
            holder.addr != registration.broker_addr
                && holder.data_version.state_version > registration.data_version.state_version
        })
    }

    /// A change of one topic can arrive before this server, newly started, knows the others. Taken for the whole, it
    /// would hide them.
    fn check_not_single_topic_first(&self, registration: &Registration) -> Result<(), RegisterError> {
        let set = self.brokers.get(&registration.broker_name);
        let is_known = set.is_some_and(|set| set.members.contains_key(&registration.broker_id));
        if !is_known && registration.topics.len() == 1 && !registration.full {
            return Err(RegisterError::SingleTopicFirst {
                broker_name: registration.broker_name.clone(),
                broker_id: registration.broker_id,
            });
        }
        Ok(())
    }

    /// An address has one id: a slave that became master isn't a slave any more.
    fn drop_other_ids(&mut self, registration: &Registration) {
        if let Some(set) = self.brokers.get_mut(&registration.broker_name) {
            set.members.retain(|id, member| {
                *id == registration.broker_id || member.addr != registration.broker_addr
            });
        }
    }

    /// Puts the broker into its cluster and set.
    fn take_in(&mut self, registration: &Registration, connection: u64, now: Instant) {
        let name = &registration.broker_name;
        self.clusters.entry(registration.cluster.clone()).or_default().insert(name.clone());
        let set = self.brokers.entry(name.clone()).or_default();
        if set.members.is_empty() {
            set.cluster.clone_from(&registration.cluster);
        }
        set.enable_acting_master = registration.enable_acting_master.unwrap_or(false);
        set.zone_name.clone_from(&registration.zone_name);
        let before = set.members.get(&registration.broker_id);
        let known_filters = before
            .filter(|before| before.addr == registration.broker_addr)
            .map(|before| before.filter_servers.clone());
        let member = Member {
            addr: registration.broker_addr.clone(),
            ha_server_addr: registration.ha_server_addr.clone(),
            data_version: registration.data_version,
            filter_servers: registration.filter_servers.clone().or(known_filters).unwrap_or_default(),
            connection,
            last_seen: now,
            timeout: registration.heartbeat_timeout_ms.map_or(HEARTBEAT_TIMEOUT, Duration::from_millis),
        };
        set.members.insert(registration.broker_id, member);
    }

    /// The master's topics count; while there is none, those of the slave with the smallest id.
    fn speaks_for_its_set(&self, registration: &Registration) -> bool {
        let id = registration.broker_id;
        let min_id = self.brokers.get(&registration.broker_name).and_then(BrokerSet::min_id);
        id == MASTER_ID || (registration.enable_acting_master.is_some() && min_id == Some(id))
    }

    fn apply_topics(&mut self, registration: &Registration, policy: RoutePolicy) {
        let name = &registration.broker_name;
        let lists_all = registration.full || policy.delete_unregistered_topics;
        if lists_all && registration.mappings.is_empty() {
            self.retain_topics(name, |topic| registration.topics.contains_key(topic));
        }
        for (topic, queues) in &registration.topics {
            self.set_queues(topic, name, *queues);
        }
        if registration.full {
            self.forget_mappings(name);
        }
        for (topic, mapping) in &registration.mappings {
            let brokers = self.mappings.entry(topic.clone()).or_default();
            brokers.insert(name.clone(), mapping.clone());
        }
    }

    /// What the broker says replaces what was known only if it differs: a permission that was taken away from a
    /// broker doesn't come back to all its topics because one of them changed.
    pub(super) fn set_queues(&mut self, topic: &str, broker_name: &str, queues: TopicQueues) {
        let Some(brokers) = self.topics.get_mut(topic) else {
            let entry = TopicEntry { queues, wiped: false };
            self.topics.insert(topic.to_owned(), BTreeMap::from([(broker_name.to_owned(), entry)]));
            return;
        };
        match brokers.get_mut(broker_name) {
            Some(known) if known.queues == queues => {}
            Some(known) => *known = TopicEntry { queues, wiped: false },
            None => {
                brokers.insert(broker_name.to_owned(), TopicEntry { queues, wiped: false });
            }
        }
    }

    fn master_of(&self, registration: &Registration) -> Registered {
        if registration.broker_id == MASTER_ID {
            return Registered::default();
        }
        let set = self.brokers.get(&registration.broker_name);
        let master = set.and_then(|set| set.members.get(&MASTER_ID));
        Registered {
            master_addr: master.map(|master| master.addr.clone()),
            ha_server_addr: master.map(|master| master.ha_server_addr.clone()),
            notice: None,
        }
    }
}

impl Registration {
    fn check(&self) -> Result<(), RegisterError> {
        let named = [
            ("clusterName", &self.cluster),
            ("brokerName", &self.broker_name),
            ("brokerAddr", &self.broker_addr),
        ];
        match named.iter().find(|(_, value)| value.trim().is_empty()) {
            Some((field, _)) => Err(RegisterError::Blank(field)),
            None => Ok(()),
        }
    }
}
