//! POP: messages are handed out one consumer at a time, each to come back by itself unless it is acknowledged.
//!
//! A pop takes messages from any queue of a topic (or from its retry topic) out of the sight of the other consumers of
//! the group for an invisible time. What is not acknowledged by then goes to the group's retry topic.
//!
//! What is in flight is kept in one table, by batches: the messages that one pop took from one queue. Pops,
//! acknowledgements and changes of invisible times are records of the state log before they are made in the table, so
//! that receipts stay good over a restart.

mod ack;
mod admit;
mod answer;
mod availability;
mod batch;
pub(crate) mod change_invisible;
mod claim;
mod deferred;
mod expiry;
mod handover;
mod in_flight;
mod look;
pub(crate) mod notification;
mod order;
mod ordered;
pub(crate) mod peek;
pub(crate) mod polling_info;
mod pops;
mod queue;
mod record;
mod revival;
mod rewritten;
pub(crate) mod rules;
mod table;
mod take;
mod timer;
mod waiting;

use crate::Broker;
use crate::group_waits::Looked;
pub(crate) use ack::AckBurst;
pub(crate) use admit::PopRequest;
use look::{Found, Popped};
pub(crate) use pops::Pops;
pub(crate) use record::{PopChange, PopRecordError};
use roxmq_protocol::code::response;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output};
use roxmq_store::files::ReadMode;
use std::cell::RefCell;
use std::sync::Arc;
pub(crate) use table::PopTable;
pub(crate) use waiting::{PopWaits, run_deadlines};

/// A buffer that large messages have blown up is not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

thread_local! {
    /// Where messages are read to before the head of their answer can be written.
    static FOUND: RefCell<Found> = RefCell::default();
}

/// Request 200050.
pub(crate) fn request(
    broker: &Arc<Broker>,
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
    output: &mut Output,
) {
    let request = match admit::admit(broker, connection, frame) {
        Ok(request) => Box::new(request),
        Err(refusal) => return output.reply(&frame.header, refusal.into_response()),
    };
    let waits_for = (Arc::clone(&request.wait.group), Arc::clone(&request.wait.topic), request.wait.queue_id);
    match serve(broker, request, output) {
        Looked::Answered { more: true } => {
            let (group, topic, queue_id) = waits_for;
            broker.pop_waits.wake(broker, &group.group_name, &topic.topic_name, queue_id);
        }
        Looked::Answered { more: false } | Looked::Elsewhere => {}
        Looked::Nothing(request) if request.wait.deadline <= broker.clock.now() => {
            answer::nothing(broker, &request, response::POLLING_TIMEOUT, output);
        }
        Looked::Nothing(request) => broker.pop_waits.park(broker, request),
    }
}

/// Answers the pop if there is something for it now, or if it fails; else gives it back to wait. What isn't in memory
/// is read on another thread and answered from there; then nothing is given back either.
pub(crate) fn serve(
    broker: &Arc<Broker>,
    request: Box<PopRequest>,
    output: &mut Output,
) -> Looked<PopRequest> {
    match look(broker, &request, ReadMode::Cached, output) {
        (Popped::Found, more) => Looked::Answered { more },
        (Popped::Nothing, _) => Looked::Nothing(request),
        (Popped::Cold, _) => {
            serve_from_disk(broker, request);
            Looked::Elsewhere
        }
    }
}

fn serve_from_disk(broker: &Arc<Broker>, request: Box<PopRequest>) {
    let broker = Arc::clone(broker);
    let runtime = broker.disk_work.runtime().clone();
    let promise = request.wait.connection.promise_answer();
    runtime.spawn(async move {
        let connection = Arc::clone(&request.wait.connection);
        let (opaque, encoding) = (request.wait.opaque, request.wait.encoding);
        let work = {
            let broker = Arc::clone(&broker);
            move || look_on_disk(&broker, request)
        };
        match broker.disk_work.run(work).await {
            Ok(None) => {}
            Ok(Some(waiting)) => broker.pop_waits.park(&broker, waiting),
            Err(refusal) => connection.respond(opaque, encoding, refusal.into_response()),
        }
        drop(promise);
    });
}

/// Looks until there is an answer or nothing more to look at; gives back what may wait.
fn look_on_disk(broker: &Arc<Broker>, request: Box<PopRequest>) -> Option<Box<PopRequest>> {
    loop {
        if request.wait.is_given_up() {
            return Some(request);
        }
        let mut output = Output::default();
        match look(broker, &request, ReadMode::Blocking, &mut output) {
            (Popped::Found, _) => {
                request.wait.connection.send_now(output);
                return None;
            }
            (Popped::Nothing, _) => return Some(request),
            (Popped::Cold, _) if request.wait.deadline <= broker.clock.now() => return Some(request),
            (Popped::Cold, _) => {}
        }
    }
}

/// Looks once and writes the answer, if there is one to give; says whether there is more than it holds.
fn look(broker: &Arc<Broker>, request: &PopRequest, mode: ReadMode, output: &mut Output) -> (Popped, bool) {
    // Taken, not borrowed: a pop that ends may wake another one on this thread.
    let mut found = FOUND.take();
    let looked = deferred::busy(broker, || look::look(broker, request, mode, &mut found));
    let outcome = match looked {
        Ok(looked) => {
            if looked == Popped::Found {
                answer::found(request, &found, output);
            }
            (looked, found.rest > 0)
        }
        Err(error) => {
            tracing::error!(topic = request.wait.topic_name(), %error, "a pop failed");
            answer::refused(request, error.into(), output);
            (Popped::Found, false)
        }
    };
    for bytes in [&mut found.records, &mut found.scratch] {
        if bytes.capacity() > KEPT_BYTES_MAX {
            *bytes = Vec::new();
        }
    }
    FOUND.set(found);
    outcome
}
