//! How far a group has come (code 208), and all groups of a broker (code 317).

use crate::message_queue::MessageQueue;
use std::collections::BTreeMap;

json_object! {
    pub struct ConsumeStats {
        "consumeTps" consume_tps: f64,
        "offsetTable" offset_table: BTreeMap<MessageQueue, OffsetWrapper>,
    }
}

json_object! {
    pub struct OffsetWrapper {
        "brokerOffset" broker_offset: i64,
        "consumerOffset" consumer_offset: i64,
        /// Store time of the last message consumed.
        "lastTimestamp" last_timestamp: i64,
        "pullOffset" pull_offset: i64,
    }
}

json_object! {
    pub struct ConsumeStatsList {
        "brokerAddr" broker_addr: Option<String>,
        "consumeStatsList" consume_stats_list: Vec<BTreeMap<String, Vec<ConsumeStats>>>,
        "totalDiff" total_diff: i64,
        "totalInflightDiff" total_inflight_diff: i64,
    }
}
