//! POP: messages are handed out one consumer at a time, each to come back by itself unless it is acknowledged.
//!
//! A pop takes messages from any queue of a topic (or from its retry topic) out of the sight of the other consumers of
//! the group for an invisible time. What is not acknowledged by then goes to the group's retry topic.

mod admit;
mod answer;
mod availability;
mod deferred;
pub(crate) mod notification;
pub(crate) mod peek;
pub(crate) mod polling_info;
mod try_pop;
mod waiting;

use crate::Broker;
use crate::group_waits::Looked;
use crate::refusal::Refusal;
pub(crate) use admit::PopRequest;
use roxmq_protocol::code::response;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output};
use roxmq_store::files::ReadMode;
use std::cell::RefCell;
use std::sync::Arc;
pub(crate) use try_pop::{Found, Popped};
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
    match admit::admit(broker, connection, frame) {
        Ok(request) => {
            if let Looked::Nothing(request) = serve(broker, Box::new(request), output) {
                if request.deadline <= broker.clock.now() {
                    answer::nothing(broker, &request, response::POLLING_TIMEOUT, output);
                } else {
                    broker.pop_waits.park(broker, request);
                }
            }
        }
        Err(refusal) => output.reply(&frame.header, refusal.into_response()),
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
        Popped::Found { rest } => Looked::Answered { more: rest > 0 },
        Popped::Nothing => Looked::Nothing(request),
        Popped::Cold => {
            serve_from_disk(broker, request);
            Looked::Elsewhere
        }
    }
}

fn serve_from_disk(broker: &Arc<Broker>, request: Box<PopRequest>) {
    let broker = Arc::clone(broker);
    let runtime = broker.holds.runtime().clone();
    runtime.spawn(async move {
        let connection = Arc::clone(&request.connection);
        let (opaque, encoding) = (request.opaque, request.encoding);
        let promise = connection.promise_answer();
        let work = {
            let broker = Arc::clone(&broker);
            move || {
                let mut output = Output::default();
                match look(&broker, &request, ReadMode::Blocking, &mut output) {
                    Popped::Nothing => Some(request),
                    Popped::Found { .. } | Popped::Cold => {
                        request.connection.send(output);
                        None
                    }
                }
            }
        };
        match broker.disk_work.run(work).await {
            Ok(None) => {}
            Ok(Some(waiting)) => broker.pop_waits.park(&broker, waiting),
            Err(refusal) => connection.respond(opaque, encoding, refusal.into_response()),
        }
        drop(promise);
    });
}

/// Looks once and writes the answer if there is one to give.
fn look(broker: &Arc<Broker>, request: &PopRequest, mode: ReadMode, output: &mut Output) -> Popped {
    // Taken, not borrowed: what is written to the log meanwhile may bring another pop on this thread its message.
    let mut found = FOUND.take();
    let looked = deferred::busy(broker, || try_pop::try_pop(broker, request, mode, &mut found));
    match &looked {
        Ok(Popped::Found { .. }) => answer::found(request, &found, output),
        Ok(Popped::Nothing | Popped::Cold) => {}
        Err(error) => {
            let refusal = Refusal::failed(format!("reading the log failed: {error}"));
            answer::refused(request, refusal, output);
        }
    }
    if found.records.capacity() <= KEPT_BYTES_MAX {
        FOUND.set(found);
    }
    looked.unwrap_or(Popped::Found { rest: 0 })
}
