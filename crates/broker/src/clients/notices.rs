//! Tells consumers that their group has changed, so that they share its queues out anew (40): at once, or together with
//! what else changes within a while (`realTimeNotifyConsumerChange`).

use super::ConsumerGroup;
use crate::Broker;
use parking_lot::Mutex;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Changes within this time are told together.
const BATCH_INTERVAL: Duration = Duration::from_secs(15);

/// Groups whose members haven't been told yet.
#[derive(Default)]
pub(crate) struct LateNotices {
    groups: Mutex<BTreeSet<Arc<str>>>,
    wake: Notify,
}

/// To every member, the new one included. Consumers that all get everything have nothing to share out.
pub(crate) fn members_changed(broker: &Broker, group: &ConsumerGroup) {
    if broker.config().real_time_notify_consumer_change {
        return tell(broker, group);
    }
    broker.late_notices.groups.lock().insert(Arc::clone(&group.name));
    broker.late_notices.wake.notify_one();
}

/// Sends the notices that are not sent at once. Runs until its task is dropped.
pub(crate) async fn run(broker: Arc<Broker>) {
    loop {
        broker.late_notices.wake.notified().await;
        tokio::time::sleep(BATCH_INTERVAL).await;
        let groups = std::mem::take(&mut *broker.late_notices.groups.lock());
        let online = groups.iter().filter_map(|group| broker.clients.consumer_group(group));
        online.for_each(|group| tell(&broker, &group));
    }
}

fn tell(broker: &Broker, group: &ConsumerGroup) {
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
