//! What happens to messages that an ordered pop has out.

use super::order::{self, OrderAck};
use super::queue::PopQueue;
use super::record::{PopChange, PopRecord};
use crate::Broker;
use crate::refusal::Refusal;
use crate::state::{StateError, Turn};
use roxmq_protocol::code::response;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

/// A message is done; the group goes on from the first that isn't. What is before that is done already, what an earlier
/// pop gave doesn't count any more, and neither does a receipt where nothing is out: they succeed and change nothing.
pub(super) fn acknowledge(
    broker: &Arc<Broker>,
    group: &str,
    topic: &str,
    id: QueueId,
    offset: i64,
    pop_time: i64,
) -> Result<(), Refusal> {
    let Some(queue) = broker.pops.table.get(group, topic, id) else { return Ok(()) };
    let mut turn = broker.state_log.turn();
    let committed = broker.offsets.get(group, topic, id).unwrap_or(0);
    if offset < committed {
        return Ok(());
    }
    let out = queue.state().order.clone();
    // The Java server would go on behind the message: over others that nobody has got.
    let Some(mut info) = out else { return Ok(()) };
    match order::acknowledge(&mut info, offset, pop_time) {
        OrderAck::Outdated => return Ok(()),
        OrderAck::Unknown => {
            let remark = format!(
                "offset is illegal, key:{topic}@{group}@{id}, old:{committed}, commit:{offset}, next:-1"
            );
            return Err(Refusal::new(response::MESSAGE_ILLEGAL, remark));
        }
        OrderAck::Next(next) => {
            // Where an operator has set the group to is where it goes on.
            let next = broker.resets.get(group, topic, id).map_or(next, |_| committed);
            record(broker, &mut turn, &queue, PopChange::Ordered { info, next })?;
            broker.stats.acknowledged(&broker.stats.group(topic, group), 1);
        }
    }
    drop(turn);
    let free =
        !queue.state().order.as_ref().is_some_and(|out| order::is_blocked(out, None, broker.clock.now()));
    if free {
        broker.pop_waits.wake(broker, group, topic, Some(id));
    }
    Ok(())
}

/// A message comes again at another time. False if it isn't out under this pop any more.
pub(super) fn hide_until(
    broker: &Broker,
    group: &str,
    topic: &str,
    id: QueueId,
    offset: i64,
    pop_time: i64,
    visible_at: Millis,
) -> Result<bool, StateError> {
    let Some(queue) = broker.pops.table.get(group, topic, id) else { return Ok(false) };
    let mut turn = broker.state_log.turn();
    let out = queue.state().order.clone();
    let Some(mut info) = out else { return Ok(false) };
    if !order::hide_until(&mut info, offset, pop_time, visible_at) {
        return Ok(false);
    }
    let next = broker.offsets.get(group, topic, id).unwrap_or(0);
    record(broker, &mut turn, &queue, PopChange::Ordered { info, next })?;
    Ok(true)
}

/// The group was set to another offset: nothing that is out holds it up.
pub(super) fn forget(broker: &Broker, queue: &Arc<PopQueue>) -> Result<(), StateError> {
    let mut turn = broker.state_log.turn();
    if queue.state().order.is_none() {
        return Ok(());
    }
    record(broker, &mut turn, queue, PopChange::OrderForgotten)
}

fn record(
    broker: &Broker,
    turn: &mut Turn<'_>,
    queue: &Arc<PopQueue>,
    change: PopChange,
) -> Result<(), StateError> {
    let mut record = PopRecord::default();
    record.queue(queue.name());
    record.push(&change);
    turn.record_pop(record.bytes(), None)?;
    broker.pops.apply(broker, turn, queue, change);
    Ok(())
}
