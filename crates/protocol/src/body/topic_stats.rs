//! The offsets of a topic's queues (code 202).

use crate::message_queue::MessageQueue;
use std::collections::BTreeMap;

json_object! {
    pub struct TopicStatsTable {
        "offsetTable" offset_table: BTreeMap<MessageQueue, TopicOffset>,
        "topicPutTps" topic_put_tps: f64,
    }
}

json_object! {
    pub struct TopicOffset {
        "lastUpdateTimestamp" last_update_timestamp: i64,
        "maxOffset" max_offset: i64,
        "minOffset" min_offset: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn the_table_has_the_json_of_java() {
        let golden = r#"{"offsetTable":{{"brokerName":"broker-a","queueId":1,"topic":"TT"}:{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}},"topicPutTps":0.0}"#;
        let offset_table = BTreeMap::from([(MessageQueue::new("TT", "broker-a", 1), TopicOffset::default())]);
        let table = TopicStatsTable { offset_table, topic_put_tps: 0.0 };
        assert_eq!(table.to_json_text(), golden);
        assert_eq!(TopicStatsTable::from_json_bytes(golden.as_bytes()), Ok(table));
    }
}
