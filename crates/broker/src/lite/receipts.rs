//! What becomes of messages of lite topics that are out: acknowledged (200051) or wanted back later (200053).

use super::bound_group;
use super::order::Acked;
use crate::Broker;
use crate::lmq;
use crate::pop::rules::check_invisible_time;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::ext::ExtFields;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::receipt::Receipt;
use roxmq_protocol::request::lite::lite_topic;
use roxmq_protocol::request::pop::{AckHeader, ChangeInvisibleTime};
use roxmq_store::Millis;
use roxmq_store::multi_dispatch::LMQ_QUEUE;

/// A message that a receipt is for.
struct Message<'a> {
    group: &'a str,
    queue: String,
    offset: i64,
    pop_time: i64,
}

pub(crate) fn ack(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = AckHeader::decode(&frame.header.ext)?;
    let message = message(broker, &header, &frame.header.ext)?;
    let done = Command::response(response::SUCCESS);
    if is_done(broker, &message) {
        return Ok(done);
    }
    let acked = broker.lite.with_order(message.group, &message.queue, broker.clock.now(), |order| {
        let acked = order.ack(message.offset, message.pop_time);
        if let Acked::Next(next) = acked {
            // Before the next pop looks where to go on.
            broker.offsets.commit(message.group, &message.queue, LMQ_QUEUE, next);
        }
        acked
    });
    if !matches!(acked, Some(Acked::Next(_))) {
        tracing::debug!(topic = message.queue, offset = message.offset, "an acknowledgement came too late");
    }
    Ok(done)
}

pub(crate) fn change_invisible_time(
    broker: &Broker,
    _: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let ext = &frame.header.ext;
    let header = ChangeInvisibleTime::decode(ext)?;
    check_invisible_time(header.invisible_time.max(1))?;
    let message = message(broker, &header.message, ext)?;
    let receipt =
        Receipt::parse(&header.message.extra_info).map_err(|error| Refusal::invalid(error.to_string()))?;
    let now = broker.clock.now();
    let visible = Millis(now.0.saturating_add(header.invisible_time));
    let suspend = ext.bool("suspend").unwrap_or(false);
    if !is_done(broker, &message) {
        broker.lite.with_order(message.group, &message.queue, now, |order| {
            if suspend {
                order.suspend(message.pop_time, visible)
            } else {
                order.change(message.offset, message.pop_time, visible)
            }
        });
    }
    // The receipt stays good: it names the pop, whose messages are out together.
    Ok(Command::response(response::SUCCESS)
        .with("popTime", message.pop_time)
        .with("invisibleTime", visible.0.saturating_sub(message.pop_time))
        .with("reviveQid", receipt.revive_queue))
}

fn message<'a>(
    broker: &Broker,
    header: &'a AckHeader<'_>,
    ext: &ExtFields<'_>,
) -> Result<Message<'a>, Refusal> {
    let lite_topic = lite_topic(ext).unwrap_or_default();
    bound_group(broker, &header.consumer_group, &header.topic)
        .map_err(|_| Refusal::invalid("group type or bind topic not match."))?;
    let queue = lmq::of_lite_topic(&header.topic, &lite_topic);
    let max = broker.store.queue(&queue, LMQ_QUEUE).map_or(0, |queue| queue.max_offset().0);
    if !(0..max.max(1)).contains(&header.offset) {
        return Err(Refusal::new(
            response::NO_MESSAGE,
            format!(
                "ack offset illegal. offset {} of {lite_topic} is not before its end, {max}",
                header.offset
            ),
        ));
    }
    let receipt = Receipt::parse(&header.extra_info).map_err(|error| Refusal::invalid(error.to_string()))?;
    if header.queue_id != LMQ_QUEUE.0 || !receipt.is_ordered() {
        return Err(Refusal::invalid("ack queue illegal."));
    }
    Ok(Message { group: &header.consumer_group, queue, offset: header.offset, pop_time: receipt.pop_time })
}

/// Whether the group has gone on behind the message.
fn is_done(broker: &Broker, message: &Message<'_>) -> bool {
    broker.offsets.get(message.group, &message.queue, LMQ_QUEUE).is_some_and(|next| message.offset < next)
}
