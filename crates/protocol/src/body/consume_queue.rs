//! Entries of a consume queue (code 321).

use crate::subscription::SubscriptionData;

json_object! {
    pub struct QueryConsumeQueueAnswer {
        "filterData" filter_data: Option<String>,
        "maxQueueIndex" max_queue_index: i64,
        "minQueueIndex" min_queue_index: i64,
        "queueData" queue_data: Vec<ConsumeQueueData>,
        "subscriptionData" subscription_data: Option<SubscriptionData>,
    }
}

json_object! {
    pub struct ConsumeQueueData {
        "bitMap" bit_map: Option<String>,
        /// Whether the group's filter passes the entry.
        "eval" eval: bool,
        "extendDataJson" extend_data_json: Option<String>,
        /// What went wrong with the entry.
        "msg" msg: Option<String>,
        "physicOffset" physic_offset: i64,
        "physicSize" physic_size: i32,
        "tagsCode" tags_code: i64,
    }
}
