//! The names that the system keeps for itself.

use super::{DLQ_PREFIX, RETRY_PREFIX};

/// The model after which unknown topics are made.
pub const AUTO_CREATE_TOPIC: &str = "TBW102";
pub const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
pub const BENCHMARK_TOPIC: &str = "BenchmarkTest";
pub const TRANS_HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
pub const TRANS_OP_HALF_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
pub const TRANS_CHECK_MAX_TIME_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
pub const ROCKSDB_TRANS_HALF_TOPIC: &str = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC";
pub const ROCKSDB_TRANS_OP_HALF_TOPIC: &str = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC";
pub const TRACE_TOPIC: &str = "RMQ_SYS_TRACE_TOPIC";
pub const SELF_TEST_TOPIC: &str = "SELF_TEST_TOPIC";
pub const OFFSET_MOVED_EVENT: &str = "OFFSET_MOVED_EVENT";
pub const CHECKPOINT_TOPIC: &str = "CHECKPOINT_TOPIC";
pub const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
/// Every topic that starts so is the system's.
pub const SYSTEM_TOPIC_PREFIX: &str = "rmq_sys_";
pub const SYNC_BROKER_MEMBER_PREFIX: &str = "rmq_sys_SYNC_BROKER_MEMBER_";
pub const REVIVE_TOPIC_PREFIX: &str = "rmq_sys_REVIVE_LOG_";
/// The queues of light topics inside one topic.
pub const LMQ_PREFIX: &str = "%LMQ%";

const SYSTEM_TOPICS: [&str; 12] = [
    AUTO_CREATE_TOPIC,
    SCHEDULE_TOPIC,
    BENCHMARK_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    TRACE_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_EVENT,
    CHECKPOINT_TOPIC,
];

/// Topics that only the broker itself writes to.
const NOT_FOR_SENDS: [&str; 8] = [
    SCHEDULE_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_EVENT,
];

pub const TOOLS_CONSUMER_GROUP: &str = "TOOLS_CONSUMER";
pub const FILTERSRV_CONSUMER_GROUP: &str = "FILTERSRV_CONSUMER";
pub const SELF_TEST_CONSUMER_GROUP: &str = "SELF_TEST_C_GROUP";
pub const ONS_HTTP_PROXY_GROUP: &str = "CID_ONS-HTTP-PROXY";
pub const ONSAPI_PULL_GROUP: &str = "CID_ONSAPI_PULL";
pub const ONSAPI_PERMISSION_GROUP: &str = "CID_ONSAPI_PERMISSION";
pub const ONSAPI_OWNER_GROUP: &str = "CID_ONSAPI_OWNER";
pub const TRANS_CONSUMER_GROUP: &str = "CID_RMQ_SYS_TRANS";
/// Every group that starts so is the system's.
pub const SYSTEM_GROUP_PREFIX: &str = "CID_RMQ_SYS_";

/// The groups that a fresh broker has.
pub const INITIAL_GROUPS: [&str; 8] = [
    TOOLS_CONSUMER_GROUP,
    FILTERSRV_CONSUMER_GROUP,
    SELF_TEST_CONSUMER_GROUP,
    ONS_HTTP_PROXY_GROUP,
    ONSAPI_PULL_GROUP,
    ONSAPI_PERMISSION_GROUP,
    ONSAPI_OWNER_GROUP,
    TRANS_CONSUMER_GROUP,
];

const SYSTEM_GROUPS: [&str; 13] = [
    "DEFAULT_CONSUMER",
    "DEFAULT_PRODUCER",
    TOOLS_CONSUMER_GROUP,
    "SCHEDULE_CONSUMER",
    FILTERSRV_CONSUMER_GROUP,
    "__MONITOR_CONSUMER",
    "CLIENT_INNER_PRODUCER",
    "SELF_TEST_P_GROUP",
    SELF_TEST_CONSUMER_GROUP,
    ONS_HTTP_PROXY_GROUP,
    ONSAPI_PERMISSION_GROUP,
    ONSAPI_OWNER_GROUP,
    ONSAPI_PULL_GROUP,
];

/// Whether the topic is one of the system's. Those named after the broker and its cluster are not known here.
pub fn is_system_topic(topic: &str) -> bool {
    topic.starts_with(SYSTEM_TOPIC_PREFIX) || SYSTEM_TOPICS.contains(&topic)
}

/// Whether the name is the model's with a client's namespace in front (`ns%TBW102`): clients with a namespace put it
/// before every topic that they ask for, this one too.
pub fn is_auto_create_topic_of_namespace(topic: &str) -> bool {
    let namespace = topic.strip_suffix(AUTO_CREATE_TOPIC).and_then(|rest| rest.strip_suffix('%'));
    namespace.is_some_and(|namespace| !namespace.is_empty() && !namespace.contains('%'))
}

/// Whether clients may not send to the topic.
pub fn is_not_for_sends(topic: &str) -> bool {
    NOT_FOR_SENDS.contains(&topic)
}

/// Whether the group is one of the system's.
pub fn is_system_group(group: &str) -> bool {
    group.starts_with(SYSTEM_GROUP_PREFIX) || SYSTEM_GROUPS.contains(&group)
}

pub fn is_retry_topic(topic: &str) -> bool {
    topic.starts_with(RETRY_PREFIX)
}

pub fn is_dlq_topic(topic: &str) -> bool {
    topic.starts_with(DLQ_PREFIX)
}

pub fn is_lmq(topic: &str) -> bool {
    topic.starts_with(LMQ_PREFIX)
}

/// Where the replies of a cluster's request-reply messages go.
pub fn reply_topic(cluster: &str) -> String {
    format!("{cluster}_REPLY_TOPIC")
}

/// Where POP's check points of a cluster come due.
pub fn revive_topic(cluster: &str) -> String {
    format!("{REVIVE_TOPIC_PREFIX}{cluster}")
}

/// The retry topic of a group and a topic for POP; `v2` where the broker has `enableRetryTopicV2`.
pub fn pop_retry_topic(topic: &str, group: &str, v2: bool) -> String {
    let separator = if v2 { '+' } else { '_' };
    format!("{RETRY_PREFIX}{group}{separator}{topic}")
}

/// The topic behind a retry topic of a group for POP, in both forms.
pub fn topic_of_pop_retry<'a>(retry_topic: &'a str, group: &str) -> Option<&'a str> {
    let rest = retry_topic.strip_prefix(RETRY_PREFIX)?.strip_prefix(group)?;
    rest.strip_prefix(['+', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_names_are_known() {
        for topic in ["TBW102", "rmq_sys_wheel_timer", "rmq_sys_anything", "SELF_TEST_TOPIC"] {
            assert!(is_system_topic(topic), "{topic}");
        }
        assert!(!is_system_topic("Orders") && !is_system_topic("RMQ_SYS_mine"));
        assert!(is_not_for_sends(TRANS_HALF_TOPIC) && !is_not_for_sends(AUTO_CREATE_TOPIC));
        assert!(is_system_group("CID_RMQ_SYS_x") && is_system_group("TOOLS_CONSUMER"));
        assert!(!is_system_group("mine"));
        assert!(INITIAL_GROUPS.iter().all(|group| is_system_group(group)));
    }

    #[test]
    fn a_namespace_may_stand_before_the_model() {
        let check = |topic, expected| {
            assert_eq!(is_auto_create_topic_of_namespace(topic), expected, "{topic}");
        };
        check("ns%TBW102", true);
        check("TBW102", false);
        check("%TBW102", false);
        check("nsTBW102", false);
        check("%RETRY%TBW102", false);
        check("ns%TBW102x", false);
    }

    #[test]
    fn derived_names() {
        assert_eq!(pop_retry_topic("T", "G", false), "%RETRY%G_T");
        assert_eq!(pop_retry_topic("T", "G", true), "%RETRY%G+T");
        for v2 in [false, true] {
            assert_eq!(topic_of_pop_retry(&pop_retry_topic("T", "G", v2), "G"), Some("T"));
        }
        for other in ["T", "%RETRY%G", "%RETRY%GT", "%RETRY%H_T"] {
            assert_eq!(topic_of_pop_retry(other, "G"), None, "{other}");
        }
        assert_eq!(reply_topic("C"), "C_REPLY_TOPIC");
        assert_eq!(revive_topic("C"), "rmq_sys_REVIVE_LOG_C");
    }
}
