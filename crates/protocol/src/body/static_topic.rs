//! Static topics: logical queues and the places they have been at.

use std::collections::BTreeMap;

json_object! {
    /// A topic's logical queues, as routes name them.
    pub struct TopicQueueMappingInfo {
        "bname" bname: String,
        /// Logical to physical queue.
        "currIdMap" curr_id_map: BTreeMap<i32, i32>,
        "dirty" dirty: bool,
        "epoch" epoch: i64,
        "scope" scope: Option<String>,
        "topic" topic: String,
        "totalQueues" total_queues: i32,
    }
}

json_object! {
    /// A topic's logical queues with all that a broker knows of them.
    pub struct TopicQueueMappingDetail {
        "bname" bname: String,
        "currIdMap" curr_id_map: BTreeMap<i32, i32>,
        "dirty" dirty: bool,
        "epoch" epoch: i64,
        "hostedQueues" hosted_queues: BTreeMap<i32, Vec<LogicQueueMappingItem>>,
        "scope" scope: Option<String>,
        "topic" topic: String,
        "totalQueues" total_queues: i32,
    }
}

json_object! {
    /// A stretch of a logical queue on one physical queue.
    pub struct LogicQueueMappingItem {
        "bname" bname: String,
        "endOffset" end_offset: i64 = -1,
        "gen" generation: i32,
        "logicOffset" logic_offset: i64,
        "queueId" queue_id: i32,
        "startOffset" start_offset: i64,
        "timeOfEnd" time_of_end: i64 = -1,
        "timeOfStart" time_of_start: i64 = -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    /// Made with the Java class library.
    const GOLDEN: &str = r#"{"bname":"broker-a","currIdMap":{},"dirty":false,"epoch":1,"hostedQueues":{0:[{"bname":"broker-a","endOffset":-1,"gen":0,"logicOffset":0,"queueId":0,"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1}]},"scope":"__global__","topic":"T","totalQueues":2}"#;

    #[test]
    fn a_mapping_reads_and_writes_as_in_java() {
        let detail = TopicQueueMappingDetail::from_json_bytes(GOLDEN.as_bytes()).expect("a mapping");
        assert_eq!(detail.hosted_queues[&0][0].end_offset, -1);
        assert_eq!(detail.to_json_text(), GOLDEN);
    }
}
