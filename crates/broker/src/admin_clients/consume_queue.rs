//! The raw entries of a consume queue (321).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::consume_queue::{ConsumeQueueData, QueryConsumeQueueAnswer};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::request::query::QueryConsumeQueue;
use roxmq_protocol::subscription::SubscriptionData;
use roxmq_store::{QueueEntry, QueueId, QueueOffset};
use std::sync::Arc;

/// Entries in one answer at most.
const ENTRIES_MAX: usize = 4096;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let header = QueryConsumeQueue::decode(&fields)?;
    let name = format!("{}@{}", header.queue_id, header.topic);
    let Some(queue) = broker.store.queue(&header.topic, QueueId(header.queue_id)) else {
        return Err(Refusal::failed(format!("{name} is not exist!")));
    };
    let (min, max) = (queue.min_offset().0, queue.max_offset().0);
    if !(min..max).contains(&header.index) {
        // Tools expect this to be no error but an answer with nothing in it.
        let remark = format!("Index {} of {name} is not exist! It has {min} to {max}", header.index);
        return Ok(Command::response(response::SUCCESS).remark(remark));
    }
    let count = usize::try_from(header.count).unwrap_or(0).min(ENTRIES_MAX);
    let entries = broker.store.entries(&queue, QueueOffset(header.index), count)?;
    let group = header.consumer_group.as_deref();
    let subscription = group.and_then(|group| broker.clients.subscription(group, &header.topic));
    let offline = group.filter(|_| subscription.is_none());
    Ok(answer(&QueryConsumeQueueAnswer {
        filter_data: offline.map(|group| format!("{group}@{} is not online!", header.topic)),
        max_queue_index: max,
        min_queue_index: min,
        queue_data: entries.iter().map(|entry| shown(entry, subscription.as_ref())).collect(),
        subscription_data: subscription.map(|subscription| (*subscription).clone()),
    }))
}

fn shown(entry: &QueueEntry, subscription: Option<&Arc<SubscriptionData>>) -> ConsumeQueueData {
    ConsumeQueueData {
        eval: subscription.is_some_and(|subscription| subscription.matches_tags_code(entry.tags_code)),
        physic_offset: entry.phy_offset.0,
        physic_size: entry.bytes,
        tags_code: entry.tags_code,
        ..ConsumeQueueData::default()
    }
}
