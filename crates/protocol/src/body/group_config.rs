//! The settings of a consumer group.

use super::attributes::Attributes;

json_object! {
    pub struct SubscriptionGroupConfig {
        "attributes" attributes: Attributes,
        "brokerId" broker_id: i64,
        "consumeBroadcastEnable" consume_broadcast_enable: bool = true,
        "consumeEnable" consume_enable: bool = true,
        "consumeFromMinEnable" consume_from_min_enable: bool = true,
        "consumeMessageOrderly" consume_message_orderly: bool,
        "consumeTimeoutMinute" consume_timeout_minute: i32 = 15,
        "groupName" group_name: String,
        "groupRetryPolicy" group_retry_policy: GroupRetryPolicy,
        "groupSysFlag" group_sys_flag: i32,
        "notifyConsumerIdsChangedEnable" notify_consumer_ids_changed_enable: bool = true,
        "retryMaxTimes" retry_max_times: i32 = 16,
        "retryQueueNums" retry_queue_nums: i32 = 1,
        "subscriptionDataSet" subscription_data_set: Option<Vec<SimpleSubscriptionData>>,
        "whichBrokerWhenConsumeSlowly" which_broker_when_consume_slowly: i64 = 1,
        .. extra
    }
}

json_enum! {
    pub enum RetryPolicyType {
        Customized "CUSTOMIZED",
        Exponential "EXPONENTIAL",
    }
}

json_object! {
    /// When a message that failed comes again.
    pub struct GroupRetryPolicy {
        "customizedRetryPolicy" customized_retry_policy: Option<CustomizedRetryPolicy>,
        "exponentialRetryPolicy" exponential_retry_policy: Option<ExponentialRetryPolicy>,
        "type" policy_type: RetryPolicyType = RetryPolicyType::Customized,
    }
}

json_object! {
    pub struct CustomizedRetryPolicy {
        /// The delays in turn, in milliseconds.
        "next" next_ms: Vec<i64>,
    }
}

json_object! {
    pub struct ExponentialRetryPolicy {
        "initial" initial_ms: i64 = 5_000,
        "max" max_ms: i64 = 7_200_000,
        "multiplier" multiplier: i64 = 2,
    }
}

json_object! {
    /// What a group has been seen to want of a topic.
    pub struct SimpleSubscriptionData {
        "expression" expression: String,
        "expressionType" expression_type: String,
        "topic" topic: String,
        "version" version: i64,
    }
}

json_object! {
    /// The body of code 225.
    pub struct SubscriptionGroupList {
        "groupConfigList" group_config_list: Vec<SubscriptionGroupConfig>,
    }
}

impl SubscriptionGroupConfig {
    /// A group with nothing but defaults.
    pub fn new(group_name: impl Into<String>) -> Self {
        SubscriptionGroupConfig { group_name: group_name.into(), ..SubscriptionGroupConfig::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    const DEFAULTS: &str = r#"{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"G","groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}"#;

    #[test]
    fn a_group_of_defaults_has_the_json_of_java() {
        assert_eq!(SubscriptionGroupConfig::new("G").to_json_text(), DEFAULTS);
    }

    #[test]
    fn missing_fields_have_their_defaults() {
        let read = SubscriptionGroupConfig::from_json_bytes(br#"{"groupName":"G"}"#);
        assert_eq!(read, Ok(SubscriptionGroupConfig::new("G")));
        assert_eq!(SubscriptionGroupConfig::from_json_bytes(DEFAULTS.as_bytes()), read);
    }

    #[test]
    fn unknown_fields_and_policies_come_back() {
        let text = br#"{"groupName":"G","groupRetryPolicy":{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1}},"z":{"a":1}}"#;
        let read = SubscriptionGroupConfig::from_json_bytes(text).expect("a group");
        let policy = read.group_retry_policy.exponential_retry_policy.clone().expect("a policy");
        assert_eq!((policy.initial_ms, policy.max_ms, policy.multiplier), (1, 7_200_000, 2));
        assert_eq!(SubscriptionGroupConfig::from_json_bytes(&read.to_json()), Ok(read));
    }
}
