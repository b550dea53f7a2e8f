//! How brokers leave: by request (104), with their connection, or by silence.

use super::RoutePolicy;
use super::table::RouteTable;
use std::time::Instant;

/// The smallest id of a broker set changed, and these members are to be told (905).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinIdNotice {
    pub to: Vec<String>,
    pub broker_name: String,
    pub min_broker_id: i64,
    pub min_broker_addr: String,
    /// The broker that left, if one left.
    pub offline_broker_addr: Option<String>,
    /// Where the others can replicate from, if a broker came.
    pub ha_broker_addr: Option<String>,
}

/// A broker that has said nothing for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    pub broker_name: String,
    pub addr: String,
    pub timeout_ms: u128,
    /// To be closed.
    pub connection: u64,
}

impl RouteTable {
    /// Removes the broker at this address; nothing happens if it isn't there.
    pub fn unregister(&mut self, broker_name: &str, addr: &str, policy: RoutePolicy) -> Option<MinIdNotice> {
        let set = self.brokers.get_mut(broker_name)?;
        let min_before = set.min_id();
        set.members.retain(|_, member| member.addr != addr);
        if set.members.is_empty() {
            self.remove_set(broker_name);
            return None;
        }
        let tells = policy.notify_min_broker_id && set.enable_acting_master && set.min_id() != min_before;
        if tells { self.min_id_notice(broker_name, Some(addr)) } else { None }
    }

    /// Removes the broker at this address if this connection is the one it last registered over. Nothing if it
    /// isn't; otherwise what has to be sent.
    pub fn connection_closed(
        &mut self,
        broker_name: &str,
        addr: &str,
        connection: u64,
        policy: RoutePolicy,
    ) -> Option<Option<MinIdNotice>> {
        let member = self.brokers.get(broker_name)?.member_at(addr)?;
        (member.connection == connection).then(|| self.unregister(broker_name, addr, policy))
    }

    /// Removes every broker that has been silent for longer than it said it would be.
    pub fn expire(&mut self, now: Instant, policy: RoutePolicy) -> (Vec<Expired>, Vec<MinIdNotice>) {
        let mut expired = Vec::new();
        for (name, set) in &self.brokers {
            for member in set.members.values() {
                if now.saturating_duration_since(member.last_seen) > member.timeout {
                    expired.push(Expired {
                        broker_name: name.clone(),
                        addr: member.addr.clone(),
                        timeout_ms: member.timeout.as_millis(),
                        connection: member.connection,
                    });
                }
            }
        }
        let notices = expired
            .iter()
            .filter_map(|gone| self.unregister(&gone.broker_name, &gone.addr, policy))
            .collect();
        (expired, notices)
    }

    fn remove_set(&mut self, broker_name: &str) {
        self.brokers.remove(broker_name);
        self.clusters.retain(|_, names| {
            names.remove(broker_name);
            !names.is_empty()
        });
        self.retain_topics(broker_name, |_| false);
        self.forget_mappings(broker_name);
    }

    pub(super) fn min_id_notice(&self, broker_name: &str, offline: Option<&str>) -> Option<MinIdNotice> {
        let set = self.brokers.get(broker_name)?;
        let (min_broker_id, min) = set.members.first_key_value()?;
        // Who comes knows its own id; everybody is told of who left.
        let tells_all = offline.is_some() || set.members.len() == 1;
        let told = set.members.iter().filter(|(id, _)| tells_all || *id != min_broker_id);
        Some(MinIdNotice {
            to: told.map(|(_, member)| member.addr.clone()).collect(),
            broker_name: broker_name.to_owned(),
            min_broker_id: *min_broker_id,
            min_broker_addr: min.addr.clone(),
            offline_broker_addr: offline.map(str::to_owned),
            ha_broker_addr: offline.is_none().then(|| min.ha_server_addr.clone()),
        })
    }
}
