//! Bodies that are nothing but a list or a table of texts.

use std::collections::{BTreeMap, BTreeSet};

json_object! {
    /// Texts by name (28, 219).
    pub struct KvTable {
        "table" table: BTreeMap<String, String>,
    }
}

json_object! {
    /// Topics (206, 224, 304, 305, 311, 312, 313, 343).
    pub struct TopicList {
        "brokerAddr" broker_addr: Option<String>,
        "topicList" topic_list: BTreeSet<String>,
    }
}

json_object! {
    /// Groups (300).
    pub struct GroupList {
        "groupList" group_list: BTreeSet<String>,
    }
}

json_object! {
    /// Client ids of a group (38).
    pub struct ConsumerIdList {
        "consumerIdList" consumer_id_list: Vec<String>,
    }
}

json_object! {
    /// What a name server keeps in its file of texts.
    pub struct KvConfig {
        /// Namespace to key to value.
        "configTable" config_table: BTreeMap<String, BTreeMap<String, String>>,
    }
}
