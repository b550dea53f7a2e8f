//! Lists of topics. Sorted, so that equal tables give equal answers.

use super::table::RouteTable;
use std::collections::BTreeSet;

/// Bits of a topic's system flag.
const UNIT: i32 = 1;
const UNIT_SUB: i32 = 2;

/// Which topics of a deployment in units (311, 312, 313).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitList {
    Unit,
    HasUnitSub,
    HasUnitSubButNoUnit,
}

impl RouteTable {
    pub fn all_topics(&self) -> BTreeSet<String> {
        self.topics_where(|_| true)
    }

    /// The topics that a broker of the cluster has; none for an unknown cluster.
    pub fn topics_of_cluster(&self, cluster: &str) -> BTreeSet<String> {
        let Some(names) = self.clusters.get(cluster) else {
            return BTreeSet::new();
        };
        self.topics_where(|topic| self.topics[topic].keys().any(|broker_name| names.contains(broker_name)))
    }

    pub fn unit_topics(&self, list: UnitList) -> BTreeSet<String> {
        self.topics_where(|topic| {
            let first = self.topics[topic].values().next();
            let flag = first.map_or(0, |entry| entry.queues.topic_sys_flag);
            let (unit, unit_sub) = (flag & UNIT != 0, flag & UNIT_SUB != 0);
            match list {
                UnitList::Unit => unit,
                UnitList::HasUnitSub => unit_sub,
                UnitList::HasUnitSubButNoUnit => unit_sub && !unit,
            }
        })
    }

    /// The names of clusters and brokers, which are topics too, and the address of some broker (304).
    pub fn system_topics(&self) -> (BTreeSet<String>, Option<String>) {
        let mut names = BTreeSet::new();
        for (cluster, brokers) in &self.clusters {
            names.insert(cluster.clone());
            names.extend(brokers.iter().cloned());
        }
        let members = self.brokers.values().flat_map(|set| set.members.values());
        (names, members.map(|member| member.addr.clone()).next())
    }

    fn topics_where(&self, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
        self.topics.keys().filter(|topic| wanted(topic)).cloned().collect()
    }
}
