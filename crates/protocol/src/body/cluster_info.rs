//! All brokers (code 106) and the members of one broker set (code 901).

use super::route::BrokerData;
use std::collections::{BTreeMap, BTreeSet};

json_object! {
    pub struct ClusterInfo {
        "brokerAddrTable" broker_addr_table: BTreeMap<String, BrokerData>,
        /// The broker names of each cluster.
        "clusterAddrTable" cluster_addr_table: BTreeMap<String, BTreeSet<String>>,
    }
}

json_object! {
    pub struct BrokerMemberGroup {
        "brokerAddrs" broker_addrs: BTreeMap<i64, String>,
        "brokerName" broker_name: String,
        "cluster" cluster: String,
    }
}

json_object! {
    pub struct BrokerMemberGroupAnswer {
        "brokerMemberGroup" broker_member_group: Option<BrokerMemberGroup>,
    }
}
