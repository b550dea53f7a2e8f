//! The topics that every broker has, before its files are read.

use super::{TopicConfig, topic_config as topic};
use crate::config::BrokerConfig;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;

const READ_WRITE: i32 = perm::READ | perm::WRITE;
const BENCHMARK_QUEUES: i32 = 1024;
const CLUSTER_QUEUES: i32 = 16;
/// One for each of the Java server's delay levels.
const SCHEDULE_QUEUES: i32 = 18;

pub(super) fn topics(config: &BrokerConfig) -> Vec<TopicConfig> {
    let cluster = &config.broker_cluster_name;
    let routed = |enabled: bool| if enabled { READ_WRITE | perm::INHERIT } else { perm::INHERIT };
    let mut topics = vec![
        topic(names::SELF_TEST_TOPIC, 1, READ_WRITE),
        topic(names::BENCHMARK_TOPIC, BENCHMARK_QUEUES, READ_WRITE),
        topic(cluster, CLUSTER_QUEUES, routed(config.cluster_topic_enable)),
        topic(&config.broker_name, 1, routed(config.broker_topic_enable)),
        topic(names::OFFSET_MOVED_EVENT, 1, READ_WRITE),
        topic(names::SCHEDULE_TOPIC, SCHEDULE_QUEUES, READ_WRITE),
        topic(&names::reply_topic(cluster), 1, READ_WRITE),
        topic(&format!("{}{cluster}", names::REVIVE_TOPIC_PREFIX), config.revive_queue_num, READ_WRITE),
        topic(&format!("{}{}", names::SYNC_BROKER_MEMBER_PREFIX, config.broker_name), 1, perm::INHERIT),
        topic(names::TRANS_HALF_TOPIC, 1, READ_WRITE),
        topic(names::TRANS_OP_HALF_TOPIC, 1, READ_WRITE),
        topic(names::ROCKSDB_TRANS_HALF_TOPIC, 1, READ_WRITE),
        topic(names::ROCKSDB_TRANS_OP_HALF_TOPIC, 1, READ_WRITE),
    ];
    if config.auto_create_topic_enable {
        topics.push(topic(
            names::AUTO_CREATE_TOPIC,
            config.default_topic_queue_nums,
            READ_WRITE | perm::INHERIT,
        ));
    }
    if config.trace_topic_enable {
        topics.push(topic(&config.msg_trace_topic_name, 1, READ_WRITE));
    }
    if config.timer_wheel_enable {
        topics.push(topic(names::TIMER_TOPIC, 1, READ_WRITE));
    }
    topics
}
