//! The end of a transaction: request 37.
//!
//! Clients send it one-way and never learn of a refusal; tools and the gRPC side do. Of "don't know yet" nobody is
//! told anything, as with the Java server: the next check asks again.

use super::half::HalfMessage;
use super::pending::{Decision, Unclaimed, Waiting};
use super::{HALF_QUEUE, commit, op};
use crate::Broker;
use crate::config::BrokerRole;
use crate::refusal::Refusal;
use crate::send;
use crate::service::ReplyTo;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::names;
use roxmq_protocol::record::Record;
use roxmq_protocol::request::transaction::EndTransaction;
use roxmq_protocol::sys_flag;
use roxmq_remoting::{Connection, LateAnswer, Output};
use roxmq_store::FlushError;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{NoFilter, ReadLimits, ReadStatus};
use roxmq_store::{AppendBatch, PhyOffset, QueueOffset};
use std::sync::Arc;

/// Room to read and write in, kept with its connection.
#[derive(Debug, Default)]
pub(crate) struct EndRoom {
    record: Vec<u8>,
    batch: AppendBatch,
}

/// What is kept of a large half message's room is given back.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Ends the transaction at once if its half message is in memory, else on a thread that may wait for the disk.
pub(crate) fn request(
    broker: &Arc<Broker>,
    room: &mut EndRoom,
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
    output: &mut Output,
) {
    let header = match EndTransaction::decode(&frame.header.ext) {
        Ok(header) => header,
        Err(error) => return output.reply(&frame.header, Refusal::from(error).into_response()),
    };
    let Some(decision) = decision(header.commit_or_rollback) else {
        tracing::debug!(
            group = %header.producer_group, offset = header.tran_state_table_offset, peer = %connection.remote(),
            "a producer doesn't know yet how its transaction ends"
        );
        return;
    };
    let found = read_cached(broker, &header, room);
    let outcome = match found {
        Ok(true) => end(broker, &header, decision, &room.record, &mut room.batch),
        Ok(false) => return end_on_thread(broker, connection, frame, decision),
        Err(refusal) => Err(refusal),
    };
    room.tidy();
    if outcome.is_ok() && broker.store.acknowledges_late() && !frame.header.is_oneway() {
        let promise = connection.promise_answer();
        return answer_when_durable(broker, connection, ReplyTo::of(frame), promise);
    }
    output.reply(&frame.header, answer(outcome));
}

fn decision(commit_or_rollback: i32) -> Option<Decision> {
    match commit_or_rollback {
        sys_flag::TRANSACTION_COMMIT => Some(Decision::Commit),
        sys_flag::TRANSACTION_ROLLBACK => Some(Decision::Rollback),
        _ => None,
    }
}

fn answer(outcome: Result<(), Refusal>) -> Command {
    match outcome {
        Ok(()) => Command::response(response::SUCCESS),
        Err(refusal) => refusal.into_response(),
    }
}

fn end_on_thread(broker: &Arc<Broker>, connection: &Arc<Connection>, frame: &Frame<'_>, decision: Decision) {
    let promise = connection.promise_answer();
    let (broker, connection) = (Arc::clone(broker), Arc::clone(connection));
    let reply_to = ReplyTo::of(frame);
    let request = Command::from_frame(&frame.header, frame.body);
    tokio::spawn(async move {
        let work = {
            let broker = Arc::clone(&broker);
            move || {
                let ext = request.ext_fields();
                let header = EndTransaction::decode(&ext)?;
                let record = broker.store.record(PhyOffset(header.commit_log_offset))?;
                let record = record.ok_or_else(not_found)?;
                end(&broker, &header, decision, &record, &mut AppendBatch::new())
            }
        };
        match broker.disk_work.run(work).await.flatten() {
            Ok(()) => answer_when_durable(&broker, &connection, reply_to, promise),
            Err(refusal) => reply_to.respond(&connection, Err(refusal)),
        }
    });
}

/// The decision stands and its message can be read when this is answered: with synchronous flush that is when the disk
/// has both.
fn answer_when_durable(
    broker: &Broker,
    connection: &Arc<Connection>,
    reply_to: ReplyTo,
    promise: LateAnswer,
) {
    let connection = Arc::clone(connection);
    let then = move |flushed: Result<(), FlushError>| {
        let outcome = FlushError::unless_late(flushed)
            .map_err(|error| Refusal::new(response::SERVICE_NOT_AVAILABLE, error.to_string()));
        reply_to.respond(&connection, Ok(answer(outcome)));
        drop(promise);
    };
    broker.store.when_durable(broker.store.max_phy_offset(), Box::new(then));
}

/// Reads the half message where the request says it is; false if it has to be looked for on the disk.
fn read_cached(broker: &Broker, header: &EndTransaction<'_>, room: &mut EndRoom) -> Result<bool, Refusal> {
    const ONE: ReadLimits = ReadLimits { count_max: 1, bytes_max: 0, scan_max: 1 };
    let Some(queue) = broker.store.queue(names::TRANS_HALF_TOPIC, HALF_QUEUE) else {
        return Err(not_found());
    };
    room.record.clear();
    let at = QueueOffset(header.tran_state_table_offset);
    let read = broker.store.read(&queue, at, ONE, &NoFilter, ReadMode::Cached, &mut room.record)?;
    let found = read.status == ReadStatus::Found;
    Ok(found
        && Record::decode(&room.record).is_ok_and(|record| record.phy_offset == header.commit_log_offset))
}

/// Decides on the half message of this record, if the request means it.
fn end(
    broker: &Broker,
    header: &EndTransaction<'_>,
    decision: Decision,
    record: &[u8],
    batch: &mut AppendBatch,
) -> Result<(), Refusal> {
    let config = broker.config();
    if config.broker_role == BrokerRole::Slave {
        return Err(Refusal::new(
            response::SLAVE_NOT_AVAILABLE,
            "a slave ends no transactions (brokerRole is SLAVE)",
        ));
    }
    let half = HalfMessage::read(record)
        .map_err(|reason| Refusal::failed(format!("Find prepared transaction message failed: {reason}")))?;
    if !header.from_transaction_check && half.waits_for_check(broker.clock.now(), &config) {
        return Err(Refusal::new(
            response::ILLEGAL_OPERATION,
            "the time of CHECK_IMMUNITY_TIME_IN_SECONDS is over: the transaction waits for its check",
        ));
    }
    check_is_meant(header, &half)?;
    let table = &broker.transactions.table;
    let offset = header.tran_state_table_offset;
    let waiting = match table.claim(offset, PhyOffset(header.commit_log_offset)) {
        Ok(waiting) => waiting,
        Err(unclaimed) => return repeated(offset, unclaimed, decision),
    };
    match write(broker, &half, decision, &waiting, batch) {
        Ok(()) => {
            table.settle(waiting.offset, decision);
            Ok(())
        }
        Err(refusal) => {
            table.release(waiting.offset);
            broker.transactions.alarm.set_for(waiting.due);
            Err(refusal)
        }
    }
}

/// The request names the half message by its group and both its places.
fn check_is_meant(header: &EndTransaction<'_>, half: &HalfMessage<'_>) -> Result<(), Refusal> {
    if half.producer_group != Some(&*header.producer_group) {
        return Err(Refusal::failed("The producer group wrong"));
    }
    if half.record.queue_offset != header.tran_state_table_offset {
        return Err(Refusal::failed("The transaction state table offset wrong"));
    }
    if half.record.phy_offset != header.commit_log_offset {
        return Err(Refusal::failed("The commit log offset wrong"));
    }
    Ok(())
}

/// The message, if it is a commit, and the record that the half message is done: together or not at all.
fn write(
    broker: &Broker,
    half: &HalfMessage<'_>,
    decision: Decision,
    waiting: &Waiting,
    batch: &mut AppendBatch,
) -> Result<(), Refusal> {
    let too_long = |error: roxmq_store::TooLong| Refusal::new(response::MESSAGE_ILLEGAL, error.to_string());
    batch.clear();
    let mut put = None;
    if decision == Decision::Commit {
        let topic = broker.topics.get(half.topic).ok_or_else(|| Refusal::topic_missing(half.topic))?;
        commit::push(broker, batch, half, &topic, waiting).map_err(too_long)?;
        put = Some((topic, batch.bytes() as u64));
    }
    op::push(broker, batch, &[waiting.offset]).map_err(too_long)?;
    broker.store.append(batch).map_err(|error| send::refusal_of_append(&error))?;
    if let Some((topic, bytes)) = put {
        broker.stats.put(&topic.stats, 1, bytes);
    }
    Ok(())
}

/// The answer to a decision that comes too late: the one made before stands.
fn repeated(offset: i64, unclaimed: Unclaimed, decision: Decision) -> Result<(), Refusal> {
    let reason = match unclaimed {
        Unclaimed::Decided(before) if before == decision => return Ok(()),
        Unclaimed::Decided(Decision::Commit) => "it was committed before, which is final",
        Unclaimed::Decided(Decision::Rollback) => "it was rolled back before, which is final",
        Unclaimed::Decided(Decision::GiveUp) => {
            "it was given up and lies in TRANS_CHECK_MAX_TIME_TOPIC, from where resumeCheckHalfMessage brings it back"
        }
        Unclaimed::Claimed => "it is being decided at this moment",
        Unclaimed::Unknown => "it was committed, rolled back or given up before, which is final",
        Unclaimed::Elsewhere => "its half message lies elsewhere in the log",
    };
    Err(Refusal::failed(format!("the transaction of half message {offset} is not pending: {reason}")))
}

fn not_found() -> Refusal {
    Refusal::failed("Find prepared transaction message failed")
}

impl EndRoom {
    fn tidy(&mut self) {
        if self.record.capacity() > KEPT_BYTES_MAX {
            self.record = Vec::new();
        }
    }
}
