//! Checks: producers are asked about what they left undecided, and what stays undecided is given up in the end.
//!
//! One thread, which sleeps until the next check is due. It works in rounds of a bounded size: look at what is due,
//! write the counts and the ends of those given up with one append, and only then ask.

use super::ask::{self, Whom};
use super::counts::{self, Count};
use super::half::HalfMessage;
use super::pending::{Decision, Waiting};
use super::{commit, later, op};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::state::StateError;
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
/// When those are looked at again whose producers had too much to read: so many of them, then after as long again the
/// next. A slow producer must not make the broker read all of its half messages again and again.
const BUSY_MS: u64 = 200;
const BUSY_MAX: u64 = 2_048;
/// How long to wait after a failure before the same half messages are tried again.
const RETRY_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600_000;

#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("the topic TRANS_CHECK_MAX_TIME_TOPIC can't be made: {0}")]
    Topic(#[from] StateError),
}

/// The life of the thread.
pub(super) fn run(broker: &Broker) {
    let transactions = &broker.transactions;
    let mut failing = false;
    let mut checker = Checker::new(broker);
    loop {
        transactions.alarm.look();
        checker.busy = 0;
        while !transactions.alarm.is_stopping() {
            let due = transactions.table.take_due(broker.clock.now(), ROUND_MAX);
            if due.is_empty() {
                break;
            }
            let outcome = checker.round(&due);
            if let Err(error) = &outcome
                && !failing
            {
                tracing::error!(%error, "transactions can't be checked; trying again");
            }
            failing = outcome.is_err();
        }
        let next = transactions.table.next_due();
        let has_news = |until| transactions.table.next_due().is_some_and(|due| due < until);
        if !transactions.alarm.sleep(broker.clock.now(), next, has_news) {
            return;
        }
    }
}

/// A round's work, until it is written.
struct Checker<'a> {
    broker: &'a Broker,
    config: Arc<BrokerConfig>,
    now: Millis,
    batch: AppendBatch,
    counts: Vec<Count>,
    questions: Vec<(i64, Arc<Connection>, Command)>,
    /// Claimed half messages whose end the round writes; released if it doesn't come to that.
    ended: Vec<i64>,
    /// How many were put off since the last sleep because their producers had too much to read.
    busy: u64,
}

impl<'a> Checker<'a> {
    fn new(broker: &'a Broker) -> Self {
        Checker {
            broker,
            config: broker.config(),
            now: broker.clock.now(),
            batch: AppendBatch::new(),
            counts: Vec::new(),
            questions: Vec::new(),
            ended: Vec::new(),
            busy: 0,
        }
    }

    fn round(&mut self, due: &[Waiting]) -> Result<(), CheckError> {
        let table = &self.broker.transactions.table;
        (self.config, self.now) = (self.broker.config(), self.broker.clock.now());
        self.batch.clear();
        self.counts.clear();
        self.questions.clear();
        self.ended.clear();
        let looked = self.look_at_all(due).and_then(|looked| self.write().map(|()| looked));
        let looked = match looked {
            Ok(looked) => looked,
            Err(error) => {
                self.ended.iter().for_each(|offset| table.release(*offset));
                due.iter().for_each(|waiting| self.put_off(waiting, RETRY_MS));
                return Err(error);
            }
        };
        self.ended.iter().for_each(|offset| table.settle(*offset, Decision::GiveUp));
        let next = later(self.now, self.config.transaction_check_interval_ms);
        for Count { offset, checks } in &self.counts {
            table.put_off(*offset, next, *checks);
        }
        due[looked..].iter().for_each(|waiting| self.put_off(waiting, 0));
        for (offset, connection, question) in self.questions.drain(..) {
            // It may have been decided since the round began.
            if table.is_undecided(offset) {
                connection.oneway(question);
            }
        }
        Ok(())
    }

    fn put_off(&self, waiting: &Waiting, by_ms: u64) {
        self.broker.transactions.table.put_off(waiting.offset, later(self.now, by_ms), waiting.checks);
    }

    /// Looks at as many as make up a round; gives how many that were.
    fn look_at_all(&mut self, due: &[Waiting]) -> Result<usize, CheckError> {
        let mut bytes = 0;
        for (index, waiting) in due.iter().enumerate() {
            if bytes >= ROUND_BYTES_MAX {
                return Ok(index);
            }
            match self.broker.store.record(waiting.phy_offset) {
                Ok(record) => {
                    bytes += record.as_ref().map_or(0, Vec::len);
                    self.look_at(waiting, record.as_deref())?;
                }
                Err(error) => {
                    // The others needn't wait for it.
                    tracing::error!(offset = waiting.offset, %error, "a half message can't be read; trying again");
                    self.put_off(waiting, self.config.transaction_check_interval_ms);
                }
            }
        }
        Ok(due.len())
    }

    fn look_at(&mut self, waiting: &Waiting, record: Option<&[u8]>) -> Result<(), CheckError> {
        let Some(record) = record else {
            return self.give_up(waiting, None, "the log no longer has it");
        };
        let half = match HalfMessage::read(record) {
            Ok(half) => half,
            // One that is damaged holds up nobody else.
            Err(broken) => {
                return self.give_up(waiting, Record::decode(record).ok().as_ref(), &broken.to_string());
            }
        };
        if waiting.checks >= self.config.transaction_check_max {
            return self.give_up(waiting, Some(&half.record), "transactionCheckMax checks were in vain");
        }
        let stored = Millis(half.record.store_timestamp);
        if self.now > later(stored, self.config.file_reserved_time.saturating_mul(HOUR_MS)) {
            return self.give_up(waiting, Some(&half.record), "it is older than fileReservedTime");
        }
        self.ask(waiting, &half);
        Ok(())
    }

    /// Prepares the question. Having nobody to ask counts like an answer that doesn't come.
    fn ask(&mut self, waiting: &Waiting, half: &HalfMessage<'_>) {
        let checks = waiting.checks + 1;
        let offset = waiting.offset;
        match ask::whom(self.broker, half.producer_group) {
            Whom::AllBusy => {
                self.put_off(waiting, BUSY_MS * (1 + self.busy / BUSY_MAX));
                self.busy += 1;
                return;
            }
            Whom::Nobody => {
                let group = half.producer_group.unwrap_or_default();
                tracing::debug!(group, offset, "no producer is there to be asked about a transaction");
            }
            Whom::Connection(connection) => match ask::question(self.broker, half, waiting, checks) {
                Ok(question) => self.questions.push((offset, connection, question)),
                Err(error) => {
                    tracing::warn!(offset, %error, "a producer can't be asked about a transaction");
                }
            },
        }
        self.counts.push(Count { offset, checks });
    }

    /// Puts the end of a half message that nobody decided on into the round, with a copy for the topic of those.
    fn give_up(
        &mut self,
        waiting: &Waiting,
        record: Option<&Record<'_>>,
        reason: &str,
    ) -> Result<(), CheckError> {
        // Who decides at this moment is in time.
        if self.broker.transactions.table.claim(waiting.offset, waiting.phy_offset).is_err() {
            return Ok(());
        }
        self.ended.push(waiting.offset);
        if let Some(record) = record {
            const TOPIC: &str = names::TRANS_CHECK_MAX_TIME_TOPIC;
            self.broker.topics.create_internal(TOPIC, 1, perm::READ | perm::WRITE, 0)?;
            commit::push_given_up(self.broker, &mut self.batch, record, waiting.checks)?;
        }
        let properties = record.map_or(Properties::default(), |record| record.properties);
        let [topic, uniq_key] = properties.get_all([name::REAL_TOPIC, name::UNIQ_KEY]);
        let (offset, checks) = (waiting.offset, waiting.checks);
        tracing::warn!(
            topic,
            uniq_key,
            offset,
            checks,
            reason,
            "a transaction was given up; its message, if there is one, is in TRANS_CHECK_MAX_TIME_TOPIC"
        );
        Ok(())
    }

    fn write(&mut self) -> Result<(), CheckError> {
        if !self.ended.is_empty() {
            op::push(self.broker, &mut self.batch, &self.ended)?;
        }
        if !self.counts.is_empty() {
            counts::push(self.broker, &mut self.batch, &self.counts)?;
        }
        self.broker.store.append(&mut self.batch)?;
        Ok(())
    }
}
