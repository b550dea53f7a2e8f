//! The brokers, by their names: where the master of each is.
//!
//! A broker that the name servers know no longer is remembered for a while with its last address. It may be restarting,
//! or the name server may be, and what was received from it is still to be acknowledged.

use super::ABSENCE;
use parking_lot::RwLock;
use roxmq_protocol::body::route::BrokerData;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a broker that is gone is remembered.
const GONE_KEPT: Duration = Duration::from_secs(3_600);
/// Of all clusters together.
const MEMBERS_MAX: usize = 10_000;
const MASTER_ID: i64 = 0;

#[derive(Default)]
pub struct Members {
    by_name: RwLock<BTreeMap<Arc<str>, Member>>,
}

#[derive(Clone, Debug)]
struct Member {
    cluster: Box<str>,
    /// None as long as only slaves were seen.
    master: Option<Arc<str>>,
    seen: Instant,
    /// Since when the name servers know no master of it any more.
    absent: Option<Instant>,
}

impl Member {
    fn has_just_left(&self, now: Instant) -> bool {
        self.absent.is_some_and(|since| now < since + ABSENCE)
    }
}

impl Members {
    /// What a name server says of brokers. It may say nothing of others.
    pub fn learn<'a>(&self, brokers: impl Iterator<Item = &'a BrokerData>, now: Instant) {
        let mut by_name = self.by_name.write();
        for broker in brokers {
            let master = broker.broker_addrs.get(&MASTER_ID);
            let has_room = by_name.len() < MEMBERS_MAX;
            match by_name.get_mut(broker.broker_name.as_str()) {
                Some(known) => {
                    known.seen = now;
                    let Some(master) = master else { continue };
                    known.absent = None;
                    if known.master.as_deref() != Some(master) {
                        known.master = Some(master.as_str().into());
                    }
                }
                None if has_room => {
                    let member = Member {
                        cluster: broker.cluster.as_str().into(),
                        master: master.map(|master| master.as_str().into()),
                        seen: now,
                        absent: None,
                    };
                    by_name.insert(broker.broker_name.as_str().into(), member);
                }
                None => {}
            }
        }
    }

    /// All that the name servers know. Masters of others are absent.
    pub fn learn_all(&self, brokers: &BTreeMap<String, BrokerData>, now: Instant) {
        self.learn(brokers.values(), now);
        for (name, member) in self.by_name.write().iter_mut() {
            let broker = brokers.get(&**name);
            if broker.is_none_or(|broker| !broker.broker_addrs.contains_key(&MASTER_ID)) {
                member.absent.get_or_insert(now);
            }
        }
    }

    /// Whether the name servers know its master no longer.
    pub fn is_absent(&self, name: &str) -> bool {
        self.by_name.read().get(name).is_some_and(|member| member.absent.is_some())
    }

    /// Whether its master left a moment ago, and may come back.
    pub fn has_just_left(&self, name: &str, now: Instant) -> bool {
        self.by_name.read().get(name).is_some_and(|member| member.has_just_left(now))
    }

    pub fn any_has_just_left(&self, now: Instant) -> bool {
        self.by_name.read().values().any(|member| member.has_just_left(now))
    }

    /// Forgets who is gone for good.
    pub fn expire(&self, now: Instant) {
        self.by_name.write().retain(|_, member| now.saturating_duration_since(member.seen) < GONE_KEPT);
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.read().is_empty()
    }

    pub fn knows(&self, name: &str) -> bool {
        self.by_name.read().contains_key(name)
    }

    /// Where the master is, or was when it was last heard of.
    pub fn address(&self, name: &str) -> Option<Arc<str>> {
        self.by_name.read().get(name)?.master.clone()
    }

    /// Those that have a master, in order of names: of the cluster if there are any, else all.
    pub fn of_cluster(&self, cluster: &str) -> Vec<Arc<str>> {
        let by_name = self.by_name.read();
        let masters = || by_name.iter().filter(|(_, member)| member.master.is_some());
        let of_cluster: Vec<_> = masters()
            .filter(|(_, member)| *member.cluster == *cluster)
            .map(|(name, _)| Arc::clone(name))
            .collect();
        if of_cluster.is_empty() { masters().map(|(name, _)| Arc::clone(name)).collect() } else { of_cluster }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(name: &str, cluster: &str, addresses: &[(i64, &str)]) -> BrokerData {
        BrokerData {
            broker_name: name.to_owned(),
            cluster: cluster.to_owned(),
            broker_addrs: addresses.iter().map(|(id, address)| (*id, (*address).to_owned())).collect(),
            ..BrokerData::default()
        }
    }

    #[test]
    fn a_master_is_remembered_while_it_is_away() {
        let members = Members::default();
        let start = Instant::now();
        assert!(members.is_empty());
        members.learn(
            [broker("a", "C", &[(0, "h:1"), (1, "h:2")]), broker("b", "D", &[(1, "h:3")])].iter(),
            start,
        );
        assert_eq!(members.address("a").as_deref(), Some("h:1"));
        assert_eq!((members.address("b"), members.knows("b")), (None, true));
        // Only the slave is left.
        members.learn([broker("a", "C", &[(1, "h:2")])].iter(), start);
        assert_eq!(members.address("a").as_deref(), Some("h:1"));
        // The master is back, elsewhere.
        members.learn([broker("a", "C", &[(0, "h:4")])].iter(), start + GONE_KEPT / 2);
        assert_eq!(members.address("a").as_deref(), Some("h:4"));
        members.expire(start + GONE_KEPT);
        assert_eq!((members.knows("a"), members.knows("b")), (true, false));
    }

    #[test]
    fn whoever_the_name_servers_lack_has_left() {
        let members = Members::default();
        let start = Instant::now();
        let known = |brokers: &[BrokerData]| {
            brokers
                .iter()
                .map(|broker| (broker.broker_name.clone(), broker.clone()))
                .collect::<BTreeMap<_, _>>()
        };
        let (a, b) = (broker("a", "C", &[(0, "h:1")]), broker("b", "C", &[(0, "h:2"), (1, "h:3")]));
        members.learn_all(&known(&[a.clone(), b.clone()]), start);
        assert!(!members.any_has_just_left(start));
        // Of the other the slave is left.
        let slave = broker("b", "C", &[(1, "h:3")]);
        members.learn_all(&known(&[slave]), start);
        assert!(members.is_absent("a") && members.has_just_left("b", start));
        members.learn_all(&known(&[]), start + ABSENCE / 2);
        assert!(members.is_absent("a") && !members.has_just_left("a", start + ABSENCE));
        assert!(!members.any_has_just_left(start + ABSENCE));
        members.learn([a].iter(), start + ABSENCE);
        assert_eq!((members.is_absent("a"), members.is_absent("b")), (false, true));
        assert!(!members.is_absent("nobody"));
    }

    #[test]
    fn the_own_cluster_comes_first_if_it_is_there() {
        let members = Members::default();
        let brokers = [broker("b", "C", &[(0, "h:1")]), broker("a", "D", &[(0, "h:2")])];
        members.learn(brokers.iter(), Instant::now());
        let names =
            |cluster| members.of_cluster(cluster).iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(names("C"), ["b"]);
        assert_eq!(names("nobody's"), ["a", "b"]);
    }
}
