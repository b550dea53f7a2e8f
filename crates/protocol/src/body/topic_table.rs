//! All topics of a broker (code 21, `topics.json`).

use super::data_version::DataVersion;
use super::static_topic::{TopicQueueMappingDetail, TopicQueueMappingInfo};
use super::topic_config::TopicConfig;
use std::collections::BTreeMap;

json_object! {
    /// The topics alone, as the broker's file has them.
    pub struct TopicTable {
        "dataVersion" data_version: DataVersion,
        "topicConfigTable" topic_config_table: BTreeMap<String, TopicConfig>,
    }
}

json_object! {
    /// The topics with their static queues, as registrations and slaves have them.
    pub struct TopicTableAndMapping {
        "dataVersion" data_version: DataVersion,
        "mappingDataVersion" mapping_data_version: DataVersion,
        "topicConfigTable" topic_config_table: BTreeMap<String, TopicConfig>,
        "topicQueueMappingDetailMap" topic_queue_mapping_detail_map: BTreeMap<String, TopicQueueMappingDetail>,
        "topicQueueMappingInfoMap" topic_queue_mapping_info_map: BTreeMap<String, TopicQueueMappingInfo>,
    }
}
