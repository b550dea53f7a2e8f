//! Checks: producers are asked about what they left undecided, and what stays undecided is given up in the end.
//!
//! One thread, which sleeps until the next check is due. It works in rounds of a bounded size: look at what is due,
//! write the counts and the ends of those given up with one append, and only then ask.

use super::ask::{self, Whom};
use super::counts::{self, Count};
use super::half::{Broken, HalfMessage};
use super::pending::{Decision, Waiting};
use super::{commit, later, op};
use crate::Broker;
use crate::config::BrokerConfig;
use roxmq_protocol::command::Command;
use roxmq_protocol::names;
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::record::Record;
use roxmq_protocol::sys_flag::perm;
use roxmq_remoting::Connection;
use roxmq_store::{AppendBatch, AppendError, Millis, TooLong};
use std::sync::Arc;

/// Half messages in one round.
const ROUND_MAX: usize = 512;
/// Bytes of half messages in one round, of which the last may be beyond.
const ROUND_BYTES_MAX: usize = 4 << 20;
/// When those are looked at again whose producers had too much to read.
const BUSY_MS: u64 = 200;
/// How long to wait after a failure before the same half messages are tried again.
const RETRY_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600_000;

#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("the topic {0} can't be made: {1}")]
    Topic(&'static str, crate::state::StateError),
}

/// The life of the thread.
pub(super) fn run(broker: &Broker) {
    let transactions = &broker.transactions;
    let mut batch = AppendBatch::new();
    let mut failing = false;
    loop {
        transactions.alarm.look();
        while !transactions.alarm.is_stopping() {
            let due = transactions.table.take_due(broker.clock.now(), ROUND_MAX);
            if due.is_empty() {
                break;
            }
            match round(broker, &due, &mut batch) {
                Ok(()) => failing = false,
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::error!(%error, "transactions can't be checked; trying again");
                    }
                    put_off(broker, &due, RETRY_MS);
                }
            }
        }
        let next = transactions.table.next_due();
        let has_news = |until| transactions.table.next_due().is_some_and(|due| due < until);
        if !transactions.alarm.sleep(broker.clock.now(), next, has_news) {
            return;
        }
    }
}

fn put_off(broker: &Broker, waiting: &[Waiting], by_ms: u64) {
    let due = later(broker.clock.now(), by_ms);
    for waiting in waiting {
        broker.transactions.table.put_off(waiting.offset, due, waiting.checks);
    }
}

/// What a round has found, until it is written.
#[derive(Default)]
struct Round {
    counts: Vec<Count>,
    questions: Vec<(i64, Arc<Connection>, Command)>,
    ended: Ended,
}

/// Claimed half messages whose end the round writes; released if it doesn't come to that.
#[derive(Default)]
struct Ended(Vec<i64>);

fn round(broker: &Broker, due: &[Waiting], batch: &mut AppendBatch) -> Result<(), CheckError> {
    let table = &broker.transactions.table;
    let mut round = Round::default();
    batch.clear();
    let looked = look_at_all(broker, due, batch, &mut round).and_then(|done| {
        write(broker, batch, &round)?;
        Ok(done)
    });
    let done = match looked {
        Ok(done) => done,
        Err(error) => {
            round.ended.0.iter().for_each(|offset| table.release(*offset));
            return Err(error);
        }
    };
    round.ended.0.iter().for_each(|offset| table.settle(*offset, Decision::GiveUp));
    let next = later(broker.clock.now(), broker.config().transaction_check_interval_ms);
    for Count { offset, checks } in round.counts {
        table.put_off(offset, next, checks);
    }
    put_off(broker, &due[done..], 0);
    for (offset, connection, question) in round.questions {
        // It may have been decided since the round began.
        if table.is_undecided(offset) {
            connection.oneway(question);
        }
    }
    Ok(())
}

/// Looks at as many as make up a round; gives how many that were.
fn look_at_all(
    broker: &Broker,
    due: &[Waiting],
    batch: &mut AppendBatch,
    round: &mut Round,
) -> Result<usize, CheckError> {
    let config = broker.config();
    let mut bytes = 0;
    for (index, waiting) in due.iter().enumerate() {
        if bytes >= ROUND_BYTES_MAX {
            return Ok(index);
        }
        match broker.store.record(waiting.phy_offset) {
            Ok(record) => {
                bytes += record.as_ref().map_or(0, Vec::len);
                look_at(broker, &config, waiting, record.as_deref(), batch, round)?;
            }
            Err(error) => {
                // The others needn't wait for it.
                tracing::error!(offset = waiting.offset, %error, "a half message can't be read; trying again");
                let due = later(broker.clock.now(), config.transaction_check_interval_ms);
                broker.transactions.table.put_off(waiting.offset, due, waiting.checks);
            }
        }
    }
    Ok(due.len())
}

fn look_at(
    broker: &Broker,
    config: &BrokerConfig,
    waiting: &Waiting,
    record: Option<&[u8]>,
    batch: &mut AppendBatch,
    round: &mut Round,
) -> Result<(), CheckError> {
    let Some(record) = record else {
        return end(broker, waiting, None, "the log no longer has it", batch, round);
    };
    let half = match HalfMessage::read(record) {
        Ok(half) => half,
        Err(broken) => return give_up_broken(broker, waiting, record, &broken, batch, round),
    };
    if waiting.checks >= config.transaction_check_max {
        return end(
            broker,
            waiting,
            Some(&half.record),
            "transactionCheckMax checks were in vain",
            batch,
            round,
        );
    }
    if is_past_retention(broker.clock.now(), &half.record, config) {
        return end(broker, waiting, Some(&half.record), "it is older than fileReservedTime", batch, round);
    }
    let checks = waiting.checks + 1;
    match ask::whom(broker, half.producer_group) {
        Whom::AllBusy => {
            let due = later(broker.clock.now(), BUSY_MS);
            broker.transactions.table.put_off(waiting.offset, due, waiting.checks);
            return Ok(());
        }
        Whom::Nobody => {
            let group = half.producer_group.unwrap_or_default();
            tracing::debug!(
                group,
                offset = waiting.offset,
                "no producer is there to be asked about a transaction"
            );
        }
        Whom::Connection(connection) => match ask::question(broker, &half, waiting, checks) {
            Ok(question) => round.questions.push((waiting.offset, connection, question)),
            Err(error) => {
                tracing::warn!(offset = waiting.offset, %error, "a producer can't be asked about a transaction")
            }
        },
    }
    round.counts.push(Count { offset: waiting.offset, checks });
    Ok(())
}

fn is_past_retention(now: Millis, record: &Record<'_>, config: &BrokerConfig) -> bool {
    now > later(Millis(record.store_timestamp), config.file_reserved_time.saturating_mul(HOUR_MS))
}

/// One that is damaged holds up nobody else.
fn give_up_broken(
    broker: &Broker,
    waiting: &Waiting,
    record: &[u8],
    broken: &Broken,
    batch: &mut AppendBatch,
    round: &mut Round,
) -> Result<(), CheckError> {
    let reason = broken.to_string();
    end(broker, waiting, Record::decode(record).ok().as_ref(), &reason, batch, round)
}

/// Puts the end of a half message that nobody decided on into the round, with a copy for the topic of those.
fn end(
    broker: &Broker,
    waiting: &Waiting,
    record: Option<&Record<'_>>,
    reason: &str,
    batch: &mut AppendBatch,
    round: &mut Round,
) -> Result<(), CheckError> {
    // Who decides at this moment is in time.
    if broker.transactions.table.claim(waiting.offset, waiting.phy_offset).is_err() {
        return Ok(());
    }
    round.ended.0.push(waiting.offset);
    if let Some(record) = record {
        const TOPIC: &str = names::TRANS_CHECK_MAX_TIME_TOPIC;
        let created = broker.topics.create_internal(TOPIC, 1, perm::READ | perm::WRITE, 0);
        created.map_err(|error| CheckError::Topic(TOPIC, error))?;
        commit::push_given_up(broker, batch, record, waiting.checks)?;
    }
    let properties = record.map_or(Properties::default(), |record| record.properties);
    let [topic, uniq_key] = properties.get_all([name::REAL_TOPIC, name::UNIQ_KEY]);
    tracing::warn!(
        topic,
        uniq_key,
        offset = waiting.offset,
        checks = waiting.checks,
        reason,
        "a transaction was given up; its message, if there is one, is in TRANS_CHECK_MAX_TIME_TOPIC"
    );
    Ok(())
}

fn write(broker: &Broker, batch: &mut AppendBatch, round: &Round) -> Result<(), CheckError> {
    if !round.ended.0.is_empty() {
        op::push(broker, batch, &round.ended.0)?;
    }
    if !round.counts.is_empty() {
        counts::push(broker, batch, &round.counts)?;
    }
    broker.store.append(batch)?;
    Ok(())
}
