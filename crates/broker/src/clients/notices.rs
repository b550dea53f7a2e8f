//! Tells consumers that their group has changed, so that they share its queues out anew at once (40).

use super::ConsumerGroup;
use crate::Broker;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;

/// To every member, the new one included. Consumers that all get everything have nothing to share out.
pub(crate) fn members_changed(broker: &Broker, group: &ConsumerGroup) {
    if group.info.is_broadcasting() || !is_wanted(broker, &group.name) {
        return;
    }
    let notice = Command::request(request::NOTIFY_CONSUMER_IDS_CHANGED).with("consumerGroup", &group.name);
    for member in group.members.iter() {
        member.client.channel.oneway(notice.clone());
    }
}

fn is_wanted(broker: &Broker, group: &str) -> bool {
    broker.config().notify_consumer_ids_changed_enable
        && broker.groups.get(group).is_none_or(|config| config.notify_consumer_ids_changed_enable)
}
