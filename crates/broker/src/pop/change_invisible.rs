//! A message is to be invisible for another time: request 200053.
//!
//! It gets a receipt of its own, and the old one is good for nothing any more. In an ordered queue the receipt stays.

use super::ack::{check_queue, extent, moved};
use super::batch::BatchKey;
use super::in_flight::Holding;
use super::ordered;
use super::queue::PopQueue;
use super::record::{PopChange, PopRecord};
use super::rules::INVISIBLE_MS_MAX;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use crate::state::StateError;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::receipt::Receipt;
use roxmq_protocol::request::pop::ChangeInvisibleTime;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let ChangeInvisibleTime { message, invisible_time } = ChangeInvisibleTime::decode(&frame.header.ext)?;
    let (group, topic, id) = (&*message.consumer_group, &*message.topic, QueueId(message.queue_id));
    check_queue(broker, topic, message.queue_id)?;
    let (min, max) = extent(broker, topic, id);
    if !(min..max).contains(&message.offset) {
        let offset = message.offset;
        let remark = format!("there is no message {offset} in {topic}@{id}, which has {min} to {max}");
        return Err(Refusal::new(response::NO_MESSAGE, remark));
    }
    let receipt = Receipt::parse(&message.extra_info)?;
    if !(0..=INVISIBLE_MS_MAX).contains(&invisible_time) {
        return Err(Refusal::invalid(format!(
            "invisibleTime[{invisible_time}] is illegal, it must be from 0 to {INVISIBLE_MS_MAX} ms"
        )));
    }
    let failed = |error: StateError| Refusal::failed(format!("the time can't be changed: {error}"));
    let now = broker.clock.now();
    if receipt.is_ordered() {
        if broker.offsets.get(group, topic, id).is_some_and(|committed| message.offset < committed) {
            return Ok(answer(0, 0, 0));
        }
        let visible_at = Millis(now.0.saturating_add(invisible_time));
        let hidden =
            ordered::hide_until(broker, group, topic, id, message.offset, receipt.pop_time, visible_at);
        return match hidden.map_err(failed)? {
            true => Ok(answer(receipt.pop_time, visible_at.0 - receipt.pop_time, receipt.revive_queue)),
            false => Err(gone()),
        };
    }
    let queue = broker.pops.table.get(group, topic, id).ok_or_else(gone)?;
    let from = BatchKey { start: receipt.start_offset, pop_time: receipt.pop_time };
    let to = move_message(broker, &queue, from, message.offset, invisible_time, now)?;
    Ok(answer(to.pop_time, invisible_time, receipt.revive_queue))
}

/// Gives the message a batch of its own, and the key of that.
fn move_message(
    broker: &Broker,
    queue: &Arc<PopQueue>,
    from: BatchKey,
    offset: i64,
    invisible_ms: i64,
    now: Millis,
) -> Result<BatchKey, Refusal> {
    let mut turn = broker.state_log.turn();
    let state = queue.state();
    let index = match state.flight.holding(from, offset) {
        Holding::Held(index) => index,
        Holding::Moved => return Err(moved()),
        Holding::Gone => return Err(gone()),
    };
    let revive_queue = state.flight.revive_queue(from).unwrap_or_default();
    // Two receipts of one message are never the same, however fast they follow each other.
    let mut to = BatchKey { start: offset, pop_time: now.0.max(from.pop_time.saturating_add(1)) };
    while state.flight.is_taken(to) {
        to.pop_time = to.pop_time.saturating_add(1);
    }
    drop(state);
    let visible_at = Millis(to.pop_time.saturating_add(invisible_ms));
    let change = PopChange::Moved { from, index, to, visible_at, revive_queue };
    let mut record = PopRecord::default();
    record.queue(queue.name());
    record.push(&change);
    turn.record_pop(record.bytes(), None)
        .map_err(|error| Refusal::failed(format!("the time can't be changed: {error}")))?;
    broker.pops.apply(broker, &mut turn, queue, change);
    drop(turn);
    // As with the Java server, one batch more and an acknowledgement in the old one.
    let stats = broker.stats.group(&queue.topic, &queue.group);
    broker.stats.popped(&stats);
    broker.stats.acknowledged(&stats, 1);
    Ok(to)
}

fn gone() -> Refusal {
    Refusal::new(
        response::NO_MESSAGE,
        "the message isn't in flight under this receipt: it was acknowledged, or its invisible time is over",
    )
}

fn answer(pop_time: i64, invisible_ms: i64, revive_queue: i32) -> Command {
    Command::response(response::SUCCESS)
        .with("popTime", pop_time)
        .with("invisibleTime", invisible_ms)
        .with("reviveQid", revive_queue)
}
