//! Where a topic's queues are (code 105).

use super::static_topic::TopicQueueMappingInfo;
use std::collections::BTreeMap;

json_object! {
    pub struct TopicRouteData {
        "brokerDatas" broker_datas: Vec<BrokerData>,
        "filterServerTable" filter_server_table: BTreeMap<String, Vec<String>>,
        /// `broker:queues` separated by `;`: replaces the queues for producers.
        "orderTopicConf" order_topic_conf: Option<String>,
        "queueDatas" queue_datas: Vec<QueueData>,
        "topicQueueMappingByBroker" topic_queue_mapping_by_broker: Option<BTreeMap<String, TopicQueueMappingInfo>>,
    }
}

json_object! {
    /// A topic's queues on one broker set.
    pub struct QueueData {
        "brokerName" broker_name: String,
        "perm" perm: i32,
        "readQueueNums" read_queue_nums: i32,
        "topicSysFlag" topic_sys_flag: i32,
        "writeQueueNums" write_queue_nums: i32,
    }
}

json_object! {
    /// The members of a broker set.
    pub struct BrokerData {
        /// By broker id; 0 is the master.
        "brokerAddrs" broker_addrs: BTreeMap<i64, String>,
        "brokerName" broker_name: String,
        "cluster" cluster: String,
        "enableActingMaster" enable_acting_master: bool,
        "zoneName" zone_name: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Form, FromJson, ToJson};

    #[test]
    fn old_and_new_clients_get_their_form_and_both_are_read() {
        let broker = BrokerData {
            broker_addrs: BTreeMap::from([(0, "127.0.0.1:10911".to_owned())]),
            broker_name: "b".to_owned(),
            cluster: "c".to_owned(),
            ..BrokerData::default()
        };
        let route = TopicRouteData { broker_datas: vec![broker], ..TopicRouteData::default() };
        let bare = r#"{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911"},"brokerName":"b","cluster":"c","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[]}"#;
        assert_eq!(route.to_json_text(), bare);
        let standard = route.to_json_in(Form::Standard);
        assert_eq!(standard, bare.replace("0:\"", "\"0\":\"").into_bytes());
        assert_eq!(TopicRouteData::from_json_bytes(bare.as_bytes()), Ok(route.clone()));
        assert_eq!(TopicRouteData::from_json_bytes(&standard), Ok(route));
    }
}
