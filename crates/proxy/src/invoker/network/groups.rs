//! A consumer group as a cluster has it: as the first of its brokers says that has it.

use super::Network;
use crate::invoker::unreadable;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;

pub async fn ask(network: &Network, group: &str) -> Result<SubscriptionGroupConfig> {
    let mut refused = Refusal::new(
        Code::InternalServerError,
        format!("no broker is known that could be asked for group {group}"),
    );
    let mut is_unsure = false;
    for broker in network.members.of_cluster(&network.cluster) {
        let asked = Command::request(request::GET_SUBSCRIPTIONGROUP_CONFIG).with("group", group);
        match network.ask(&broker, asked).await {
            Ok(answer) => return SubscriptionGroupConfig::from_json_bytes(&answer.body).map_err(unreadable),
            Err(refusal) if refusal.code == Code::ConsumerGroupNotFound => {
                if !is_unsure {
                    refused = refusal;
                }
            }
            // Those that don't have it don't count as long as one hasn't said so.
            Err(refusal) => (refused, is_unsure) = (refusal, true),
        }
    }
    Err(refused)
}
