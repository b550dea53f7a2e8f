//! What operators and other brokers are told of timer messages: requests 60 and 61, and their part of 28.

use super::{NEVER, QUEUE};
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::names;
use roxmq_store::QueueOffset;
use roxmq_store::timer::{TimerCheckpoint, checkpoint_path};
use std::sync::atomic::Ordering;

/// The checkpoint as it is on the disk, but for the field that tells another broker how far this one is.
pub(crate) fn checkpoint(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let path = checkpoint_path(&broker.config().store_root());
    let checkpoint = TimerCheckpoint::read(&*broker.files, &path)?;
    let mut checkpoint =
        checkpoint.ok_or_else(|| Refusal::failed("The checkpoint is null (timerWheelEnable)"))?;
    checkpoint.master_queue_offset = checkpoint.queue_offset;
    Ok(Command::response(response::SUCCESS).body(checkpoint.encode_shared().to_vec()))
}

pub(crate) fn metrics(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    if !broker.config().timer_wheel_enable {
        return Err(Refusal::failed("The timer message store is null (timerWheelEnable is false)"));
    }
    Ok(Command::response(response::SUCCESS).body(broker.timers.metrics.to_json()))
}

/// `timerReadBehind` and its like.
pub(crate) fn runtime(broker: &Broker) -> Vec<(&'static str, String)> {
    let now = broker.clock.now();
    let timers = &broker.timers;
    let end =
        broker.store.queue(names::TIMER_TOPIC, QUEUE).map_or(QueueOffset(0), |queue| queue.max_offset());
    let due = timers.first_due.load(Ordering::Relaxed);
    let behind_ms = if due == NEVER { 0 } else { (now.0 - due).max(0) };
    let (entered, delivered) = timers.metrics.rates(now);
    vec![
        ("timerReadBehind", (behind_ms / 1_000).to_string()),
        ("timerOffsetBehind", timers.behind(end).to_string()),
        ("timerCongestNum", timers.waiting().to_string()),
        ("timerEnqueueTps", format!("{entered}.0")),
        ("timerDequeueTps", format!("{delivered}.0")),
    ]
}
