//! The requests to name servers: 103 and 104.

use crate::broker::Broker;
use crate::topics::{Topic, TopicConfig};
use roxmq_protocol::body::register_broker::RegisterBrokerBody;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::sys_flag::perm;
use std::sync::Arc;

/// CRC sums are positive numbers in Java.
const CRC_MASK: u32 = 0x7FFF_FFFF;

pub(super) fn register(broker: &Broker, topics: &[Arc<Topic>]) -> Command {
    let config = broker.config();
    let mut body =
        RegisterBrokerBody { filter_server_list: Some(Vec::new()), ..RegisterBrokerBody::default() };
    body.topic_table.data_version = broker.topics.data_version();
    body.topic_table.topic_config_table = topics
        .iter()
        .map(|topic| (topic.topic_name.clone(), as_allowed(&topic.config, config.broker_permission)))
        .collect();
    let body = body.to_json();
    let body_crc = crc32fast::hash(&body) & CRC_MASK;
    with_broker(broker, Command::request(request::REGISTER_BROKER))
        .with("haServerAddr", broker.ha_address())
        .with("enableActingMaster", false)
        .with("compressed", false)
        .with("bodyCrc32", body_crc)
        .body(body)
}

pub(super) fn unregister(broker: &Broker) -> Command {
    with_broker(broker, Command::request(request::UNREGISTER_BROKER))
}

fn with_broker(broker: &Broker, request: Command) -> Command {
    let config = broker.config();
    request
        .with("brokerName", &config.broker_name)
        .with("brokerAddr", broker.advertised)
        .with("clusterName", &config.broker_cluster_name)
        .with("brokerId", config.broker_id)
}

/// The topic with no more permissions than the whole broker has.
fn as_allowed(topic: &TopicConfig, broker_permission: i32) -> TopicConfig {
    let mut topic = topic.clone();
    if broker_permission & (perm::READ | perm::WRITE) != perm::READ | perm::WRITE {
        topic.perm &= broker_permission;
    }
    topic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::topic_config;

    #[test]
    fn the_brokers_permission_limits_that_of_topics() {
        let check = |topic, broker, expected| {
            assert_eq!(as_allowed(&topic_config("T", 1, topic), broker).perm, expected, "{topic} {broker}");
        };
        check(7, 6, 7);
        check(7, 4, 4);
        check(6, 2, 2);
        check(4, 2, 0);
    }
}
