//! Sets where a group goes on consuming (222).
//!
//! The offset is set here, whether the group's consumers are online or not: it goes into the offset table, and is
//! kept as a pending reset until the next pull takes it up. With `useServerSideResetOffset=false` the consumers are
//! asked to do it themselves, as before 5.0.

use super::queue_view::QueueView;
use super::{answer, reset_by_push};
use crate::Broker;
use crate::admin_rights;
use crate::dispatch::Answer;
use crate::refusal::Refusal;
use roxmq_protocol::body::offset_table::ResetOffsetTable;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_protocol::request::offset::ResetOffset;
use roxmq_remoting::Connection;
use roxmq_store::QueueId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// In the field `offset`: go by the time.
const NO_OFFSET: i64 = -1;

pub(crate) fn handle(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    Box::pin(async move {
        admin_rights::check(&broker, &connection, request.code, &request.ext_fields())?;
        let resetting = Arc::clone(&broker);
        broker.disk_work.run(move || reset(&resetting, &request)).await?
    })
}

fn reset(broker: &Arc<Broker>, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let header = ResetOffset::decode(&fields)?;
    let topic = broker.topics.get(&header.topic).ok_or_else(|| Refusal::topic_missing(&header.topic))?;
    if !broker.config().use_server_side_reset_offset {
        return reset_by_push::reset(broker, &header, topic.write_queue_nums, request.language);
    }
    if broker.groups.get(&header.group).is_none() {
        return Err(Refusal::group_missing(&header.group));
    }
    let targets = targets(broker, &header, topic.read_queue_nums)?;
    let mut offset_table = BTreeMap::new();
    for (queue, offset) in targets {
        // In this order, so that no commit of a running consumer comes in between.
        broker.resets.set(&header.group, &header.topic, QueueId(queue.queue_id), offset);
        broker.offsets.commit(&header.group, &header.topic, QueueId(queue.queue_id), offset);
        // A consumer at the end of the queue waits there; its next pull is what takes the reset up.
        if let Some(waited_on) = broker.store.queue(&header.topic, QueueId(queue.queue_id)) {
            broker.holds.finish_queue(broker, &waited_on);
        }
        offset_table.insert(queue, offset);
    }
    // So do consumers over POP.
    broker.pop_waits.wake(broker, &header.group, &header.topic, None);
    tracing::info!(group = %header.group, topic = %header.topic, queues = offset_table.len(), "offsets were reset");
    Ok(answer(&ResetOffsetTable { offset_table }))
}

/// Where each queue that is meant goes. All are known before the first is set.
fn targets(
    broker: &Broker,
    header: &ResetOffset<'_>,
    queues: i32,
) -> Result<Vec<(MessageQueue, i64)>, Refusal> {
    let view = |id| QueueView::of(broker, &header.topic, id);
    if header.queue_id < 0 {
        return (0..queues).map(|id| Ok((view(id).name(), view(id).offset_at(header.timestamp)?))).collect();
    }
    if header.queue_id >= queues {
        let topic = &header.topic;
        return Err(Refusal::failed(format!(
            "queue {} is none of the {queues} queues of topic {topic} that can be read",
            header.queue_id
        )));
    }
    let queue = view(header.queue_id);
    let offset = match header.offset.filter(|offset| *offset != NO_OFFSET) {
        Some(offset) => explicit(offset, queue.min(), queue.max())?,
        None => queue.offset_at(header.timestamp)?,
    };
    Ok(vec![(queue.name(), offset)])
}

/// An offset that was named. One past the end is taken, as the Java server does, and means the end.
fn explicit(offset: i64, min: i64, max: i64) -> Result<i64, Refusal> {
    if !(min..=max.saturating_add(1)).contains(&offset) {
        let remark = format!("Target offset {offset} not in consume queue range [{min}-{max}]");
        return Err(Refusal::failed(remark));
    }
    Ok(offset.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_offset_lies_in_the_queue() {
        let check = |offset, min, max, expected: Option<i64>| {
            assert_eq!(explicit(offset, min, max).ok(), expected, "{offset} in {min} to {max}");
        };
        check(5, 5, 9, Some(5));
        check(9, 5, 9, Some(9));
        check(10, 5, 9, Some(9));
        check(11, 5, 9, None);
        check(4, 5, 9, None);
        check(-2, 0, 0, None);
        check(0, 0, 0, Some(0));
    }
}
