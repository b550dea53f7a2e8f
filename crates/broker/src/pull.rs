//! Pulls: requests 11 and 361.
//!
//! A pull that finds messages is answered at once. One that doesn't may wait: it is then held, and answered by the
//! append that brings a message it wants, at its deadline, or not at all if its connection closes first. What isn't
//! in memory is read on a thread where waiting for the disk hurts nobody.

mod admit;
mod answer;
mod holds;
mod outcome;
mod subscription;

use crate::Broker;
use admit::{Admission, Pull};
use answer::ReplyTo;
use bytes::Bytes;
pub(crate) use holds::{Holds, run_deadlines};
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output};
use roxmq_store::files::ReadMode;
use roxmq_store::read::{ReadResult, ReadStatus};
use roxmq_store::{ConsumeQueue, Millis};
use std::sync::Arc;
use std::time::Instant;

/// A queue, by the address of its object; the holds keep that object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueKey(pub(crate) usize);

impl QueueKey {
    pub(crate) fn of(queue: &Arc<ConsumeQueue>) -> Self {
        QueueKey(Arc::as_ptr(queue) as usize)
    }
}

/// A pull and whom to answer.
pub(crate) struct Hold {
    pull: Pull,
    reply_to: ReplyTo,
    connection: Arc<Connection>,
}

pub(crate) fn request(
    broker: &Arc<Broker>,
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
    output: &mut Output,
) {
    let reply_to = ReplyTo { opaque: frame.header.opaque, encoding: frame.header.encoding };
    let mut pull = match admit::admit(broker, connection, frame) {
        Ok(Admission::Pull(pull)) => pull,
        Ok(Admission::GoTo(pull, offset)) => return reply_to.go_to(&pull, offset, output),
        Err(refused) => return output.reply(&frame.header, refused.into_response()),
    };
    if frame.header.is_oneway() {
        return;
    }
    let read = read(broker, &pull, ReadMode::Cached, |result, records| {
        if result.status == ReadStatus::Found {
            reply_to.found(broker, &pull, result, records, output);
        }
    });
    match read {
        Ok(result) if result.status == ReadStatus::Found => {}
        Ok(result) if result.status == ReadStatus::Cold => {
            read_from_disk(broker, Hold { pull, reply_to, connection: Arc::clone(connection) });
        }
        Ok(result) => match pull.suspend_ms {
            Some(suspend_ms) if outcome::may_wait(result.status, pull.asked) => {
                pull.position = result.next_offset.max(pull.asked);
                let deadline = Millis(broker.clock.now().0.saturating_add(suspend_ms));
                broker.holds.park(
                    broker,
                    Hold { pull, reply_to, connection: Arc::clone(connection) },
                    deadline,
                );
            }
            _ => reply_to.nothing(broker, &pull, &result, output),
        },
        Err(error) => output.reply(&frame.header, outcome::disk_error(&error).into_response()),
    }
}

/// Reads at the pull's position; `with` gets the records.
fn read(
    broker: &Broker,
    pull: &Pull,
    mode: ReadMode,
    with: impl FnOnce(&ReadResult, Bytes),
) -> std::io::Result<ReadResult> {
    let mut records = Vec::new();
    let before = Instant::now();
    let result =
        broker.store.read(&pull.queue, pull.position, pull.limits, &pull.filter, mode, &mut records)?;
    let elapsed = before.elapsed();
    broker.stats.get_took(elapsed);
    if result.status == ReadStatus::Found {
        broker.stats.group_get_took(&pull.stats, elapsed);
    }
    with(&result, Bytes::from(records));
    Ok(result)
}

/// Answers a pull whose messages aren't in memory, when they have been read.
fn read_from_disk(broker: &Arc<Broker>, hold: Hold) {
    let broker = Arc::clone(broker);
    let runtime = broker.disk_work.runtime().clone();
    runtime.spawn(async move {
        let Hold { pull, reply_to, connection } = hold;
        let promise = connection.promise_answer();
        let work = {
            let (broker, connection) = (Arc::clone(&broker), Arc::clone(&connection));
            move || answer_from_disk(&broker, pull, reply_to, &connection)
        };
        if let Err(refusal) = broker.disk_work.run(work).await {
            connection.respond(reply_to.opaque, reply_to.encoding, refusal.into_response());
        }
        drop(promise);
    });
}

fn answer_from_disk(broker: &Broker, mut pull: Pull, reply_to: ReplyTo, connection: &Connection) {
    pull.limits = pull.disk_limits;
    let mut output = Output::default();
    let read = read(broker, &pull, ReadMode::Blocking, |result, records| match result.status {
        ReadStatus::Found => reply_to.found(broker, &pull, result, records, &mut output),
        _ => reply_to.nothing(broker, &pull, result, &mut output),
    });
    match read {
        Ok(_) => connection.send_now(output),
        Err(error) => {
            let refusal = outcome::disk_error(&error);
            tracing::error!(topic = pull.queue.topic(), queue_id = pull.queue.id().0, %error, "a pull could not read the log");
            connection.respond(reply_to.opaque, reply_to.encoding, refusal.into_response());
        }
    }
}
