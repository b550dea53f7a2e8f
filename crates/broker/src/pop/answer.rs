//! The answers to pops.

use super::PopRequest;
use super::look::Found;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::response::PopAnswer;
use roxmq_remoting::Output;

/// The messages that were found.
pub(super) fn found(request: &PopRequest, found: &Found, output: &mut Output) {
    if request.oneway {
        return;
    }
    let answer = PopAnswer {
        pop_time: found.pop_time.0,
        invisible_time: request.invisible_ms,
        revive_queue: found.revive_queue,
        rest: found.rest,
        start_offset_info: &found.start_offsets,
        message_offset_info: &found.message_offsets,
        order_count_info: request.order.then_some(&found.order_counts),
    };
    let (encoding, opaque) = (request.wait.encoding, request.wait.opaque);
    let bytes = found.records.len();
    answer.encode_head(output.buffer(), encoding, response::SUCCESS, opaque, "FOUND", bytes);
    output.buffer().extend_from_slice(&found.records);
}

/// There was nothing: the time is up (210), or too many wait already (209).
pub(super) fn nothing(broker: &Broker, request: &PopRequest, code: i32, output: &mut Output) {
    broker.stats.get_missed();
    if request.oneway {
        return;
    }
    let answer = PopAnswer {
        pop_time: broker.clock.now().0,
        invisible_time: request.invisible_ms,
        order_count_info: request.order.then_some(b""),
        ..PopAnswer::default()
    };
    let (encoding, opaque) = (request.wait.encoding, request.wait.opaque);
    answer.encode_head(output.buffer(), encoding, code, opaque, "NO_MESSAGE_IN_QUEUE", 0);
}

pub(super) fn refused(request: &PopRequest, refusal: Refusal, output: &mut Output) {
    if !request.oneway {
        output.respond(request.wait.opaque, request.wait.encoding, refusal.into_response());
    }
}
