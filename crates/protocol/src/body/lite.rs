//! Lite topics: subscriptions (200071) and what tools are shown (200074 to 200078).

use super::consume_stats::OffsetWrapper;
use super::topic_stats::TopicOffset;
use std::collections::{BTreeMap, BTreeSet};

json_enum! {
    pub enum LiteAction {
        /// These lite topics, too.
        PartialAdd "PARTIAL_ADD",
        PartialRemove "PARTIAL_REMOVE",
        /// These lite topics and no others.
        CompleteAdd "COMPLETE_ADD",
        CompleteRemove "COMPLETE_REMOVE",
    }
}

json_enum! {
    pub enum OffsetOptionType {
        Policy "POLICY",
        Offset "OFFSET",
        TailN "TAIL_N",
        Timestamp "TIMESTAMP",
    }
}

json_object! {
    /// Where a group begins to read a lite topic.
    pub struct OffsetOption {
        "type" kind: OffsetOptionType,
        "value" value: i64,
    }
}

impl OffsetOption {
    /// Values of [`OffsetOptionType::Policy`]; 0 changes nothing.
    pub const POLICY_MIN: i64 = 1;
    pub const POLICY_MAX: i64 = 2;
}

json_object! {
    /// A change of a client's subscription.
    pub struct LiteSubscription {
        "action" action: LiteAction,
        "clientId" client_id: String,
        "group" group: String,
        "liteTopicSet" lite_topics: BTreeSet<String>,
        "offsetOption" offset_option: Option<OffsetOption>,
        "topic" topic: String,
        "version" version: i64,
    }
}

json_object! {
    pub struct LiteSubscriptions {
        "subscriptionSet" subscriptions: Vec<LiteSubscription>,
    }
}

json_object! {
    pub struct BrokerLiteInfo {
        "cqTableSize" queues: i32,
        "currentLmqNum" light_queues: i32,
        "eventMapSize" clients: i32,
        /// Parent topic to groups.
        "groupMeta" groups: BTreeMap<String, BTreeSet<String>>,
        "liteSubscriptionCount" subscriptions: i32,
        "maxLmqNum" light_queues_max: i32,
        "offsetTableSize" offsets: i32,
        "orderInfoCount" orders: i32,
        "storeType" store_type: Option<String>,
        /// Parent topic to the minutes after which its unused lite topics go.
        "topicMeta" topics: BTreeMap<String, i32>,
    }
}

json_object! {
    pub struct ParentTopicInfo {
        "groups" groups: BTreeSet<String>,
        "liteTopicCount" lite_topics: i32,
        "lmqNum" light_queues: i32,
        "topic" topic: String,
        "ttl" ttl_minutes: i32,
    }
}

json_object! {
    pub struct ClientGroup {
        "clientId" client_id: String,
        "group" group: String,
    }
}

json_object! {
    pub struct LiteTopicInfo {
        "liteTopic" lite_topic: String,
        "parentTopic" parent_topic: String,
        "shardingToBroker" is_here: bool,
        "subscriber" subscribers: Vec<ClientGroup>,
        "topicOffset" offset: TopicOffset,
    }
}

json_object! {
    pub struct LiteClientInfo {
        "clientId" client_id: String,
        "group" group: String,
        "lastAccessTime" last_access: i64,
        "lastConsumeTime" last_consume: i64,
        "liteTopicCount" lite_topic_count: i32,
        "liteTopicSet" lite_topics: BTreeSet<String>,
        "parentTopic" parent_topic: String,
    }
}

json_object! {
    pub struct LiteLagInfo {
        "earliestUnconsumedTimestamp" earliest_unconsumed: i64,
        "lagCount" lag: i64,
        "liteTopic" lite_topic: String,
    }
}

json_object! {
    pub struct LiteGroupInfo {
        "earliestUnconsumedTimestamp" earliest_unconsumed: i64,
        "group" group: String,
        "lagCountTopK" most_behind: Vec<LiteLagInfo>,
        "lagTimestampTopK" longest_behind: Vec<LiteLagInfo>,
        "liteTopic" lite_topic: Option<String>,
        "liteTopicOffsetWrapper" offsets: Option<OffsetWrapper>,
        "parentTopic" parent_topic: String,
        "totalLagCount" total_lag: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn a_subscription_has_the_json_of_java() {
        let golden = r#"{"subscriptionSet":[{"action":"PARTIAL_ADD","clientId":"c","group":"g","liteTopicSet":["a","b"],"offsetOption":{"type":"TAIL_N","value":3},"topic":"T","version":7}]}"#;
        let read = LiteSubscriptions::from_json_bytes(golden.as_bytes()).expect("JSON");
        let subscription = &read.subscriptions[0];
        assert_eq!(subscription.action, LiteAction::PartialAdd);
        assert_eq!(
            subscription.offset_option,
            Some(OffsetOption { kind: OffsetOptionType::TailN, value: 3 })
        );
        assert_eq!(read.to_json_text(), golden);
    }
}
