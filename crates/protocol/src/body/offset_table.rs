//! Tables of offsets: of consumers (code 43, `consumerOffset.json`), of delay levels (code 45, `delayOffset.json`),
//! of a reset (codes 220 and 222), of consumers that are online (codes 221 and 223), of a correction (code 308).

use super::data_version::DataVersion;
use crate::message_queue::MessageQueue;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets by queue.
pub type QueueOffsets = BTreeMap<i32, i64>;

json_object! {
    pub struct ConsumerOffsetTable {
        "dataVersion" data_version: DataVersion,
        "groupTopicMap" group_topic_map: Option<BTreeMap<String, BTreeSet<String>>>,
        /// By `topic@group`.
        "offsetTable" offset_table: BTreeMap<String, QueueOffsets>,
        "pullOffsetTable" pull_offset_table: Option<BTreeMap<String, QueueOffsets>>,
    }
}

json_object! {
    pub struct DelayOffsetTable {
        "dataVersion" data_version: DataVersion,
        /// By delay level.
        "offsetTable" offset_table: BTreeMap<i32, i64>,
    }
}

json_object! {
    pub struct ResetOffsetTable {
        "offsetTable" offset_table: BTreeMap<MessageQueue, i64>,
    }
}

json_object! {
    /// What C++ clients read in place of the table.
    pub struct ResetOffsetList {
        "offsetTable" offset_table: Vec<QueueOffset>,
    }
}

json_object! {
    pub struct QueueOffset {
        "brokerName" broker_name: String,
        "offset" offset: i64,
        "queueId" queue_id: i32,
        "topic" topic: String,
    }
}

json_object! {
    /// Where consumers stand by their own account.
    pub struct ConsumerStatus {
        /// By client id: the answer to tools.
        "consumerTable" consumer_table: BTreeMap<String, BTreeMap<MessageQueue, i64>>,
        /// Of one client: its answer to the broker.
        "messageQueueTable" message_queue_table: BTreeMap<MessageQueue, i64>,
    }
}

json_object! {
    pub struct CorrectionOffsets {
        "correctionOffsets" correction_offsets: QueueOffsets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Form, FromJson, ToJson};

    #[test]
    fn a_file_of_java_is_read_and_written() {
        let file = "{\n\t\"dataVersion\":{\n\t\t\"counter\":1,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":5\n\t},\n\t\"offsetTable\":{\n\t\t\"T@G\":{\n\t\t\t0:3,\n\t\t\t1:1\n\t\t}\n\t}\n}";
        let table = ConsumerOffsetTable::from_json_bytes(file.as_bytes()).expect("a table");
        assert_eq!(table.offset_table["T@G"], QueueOffsets::from([(0, 3), (1, 1)]));
        assert_eq!(String::from_utf8(table.to_json_in(Form::Pretty)).expect("UTF-8"), file);
    }

    #[test]
    fn queues_are_bare_keys() {
        let offset_table = BTreeMap::from([(MessageQueue::new("T", "b", 0), 9)]);
        let text = r#"{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:9}}"#;
        assert_eq!(ResetOffsetTable { offset_table }.to_json_text(), text);
    }
}
