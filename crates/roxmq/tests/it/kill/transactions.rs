//! Transactions under kills: each half message ends as its producer decided, and its message comes once or never.
//!
//! What is held against the server after each kill:
//! - An acknowledged commit: the message is there, once.
//! - A commit without an answer: the message is there once or not yet; it is when the producer commits again.
//! - A rollback, and a half message without an answer: the message is never there.
//! - An acknowledged half message that nobody has decided on: it can still be committed at the end.
//! - An acknowledged decision: its record is where it was written, together with the message if it is a commit. A start
//!   would write the record of a commit that has none; a Java server that takes the store over would ask again.

use super::delivered::{delivered, each_record};
use super::kill_under_load;
use crate::client::{Peer, create_topic, number, properties, send};
use crate::server::{Server, check_store};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::names::TRANS_OP_HALF_TOPIC;
use roxmq_protocol::sys_flag::{TRANSACTION_COMMIT, TRANSACTION_ROLLBACK};
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tempfile::TempDir;

const ROUNDS: u32 = 20;
const PRODUCERS: u32 = 4;
const TOPIC: &str = "Decided";
/// Of the log's files, as the servers of tests have them.
const LOG_FILE_BYTES: i64 = 1 << 20;
/// More than the record of a decision has.
const RECORD_BYTES_MAX: i64 = 300;
/// Nobody is asked, so that what is undecided stays so.
const NO_CHECKS: &str = "transactionTimeOut=86400000";

#[test]
fn transactions_end_as_decided_with_asynchronous_flush() {
    kill_again_and_again("ASYNC_FLUSH");
}

#[test]
fn transactions_end_as_decided_with_synchronous_flush() {
    kill_again_and_again("SYNC_FLUSH");
}

fn kill_again_and_again(flush: &str) {
    let seed = std::env::var("KILL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("the same kills again: KILL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let store = TempDir::new().unwrap();
    let flush = format!("flushDiskType={flush}");
    let settings =
        [&flush, NO_CHECKS, "maxTransferCountOnMessageInMemory=512", "maxTransferCountOnMessageInDisk=512"];
    let mut producers: Vec<_> = (0..PRODUCERS).map(|number| Producer::new(number, rng.fork())).collect();

    let mut server = Server::start(store.path(), &settings);
    let mut peer = server.connect();
    assert_eq!(peer.call(create_topic(TOPIC)).code, 0);
    for _ in 0..ROUNDS {
        let moment = Duration::from_micros(rng.u64(5_000..80_000));
        kill_under_load(server, &mut producers, moment, Producer::run);
        server = Server::start(store.path(), &settings);
        peer = server.connect();
        verify(&producers, &mut peer);
    }
    verify_records(&producers, &mut peer);
    for producer in &mut producers {
        producer.decide_the_rest(&mut peer);
    }
    let delivered = verify(&producers, &mut peer);
    println!("{delivered} messages of transactions, each once");

    assert!(server.terminate().status.success());
    let checked = check_store(store.path(), &[]);
    assert!(checked.status.success(), "{checked:#?}");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Commit,
    Rollback,
    /// For the end of the test.
    Later,
}

#[derive(Clone, Copy, Debug)]
struct Transaction {
    wanted: Wanted,
    /// Where its half message is; none without an answer.
    half: Option<(i64, i64)>,
    /// The decision was asked for, and answered.
    asked: bool,
    answered: bool,
}

struct Producer {
    number: u32,
    rng: fastrand::Rng,
    transactions: Vec<Transaction>,
}

impl Producer {
    fn new(number: u32, rng: fastrand::Rng) -> Producer {
        Producer { number, rng, transactions: Vec::new() }
    }

    fn run(&mut self, port: u16, first_answer: Sender<()>) -> io::Result<()> {
        let mut peer = Peer::connect(port)?;
        let mut first_answer = Some(first_answer);
        loop {
            let wanted = match self.rng.u8(0..8) {
                0..4 => Wanted::Commit,
                4..6 => Wanted::Rollback,
                _ => Wanted::Later,
            };
            self.transactions.push(Transaction { wanted, half: None, asked: false, answered: false });
            let sequence = self.transactions.len() - 1;
            let answer = peer.try_call(self.half(sequence))?;
            assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
            let id: OffsetMessageId = answer.field("msgId").unwrap().parse().unwrap();
            self.transactions[sequence].half = Some((number(&answer, "queueOffset"), id.phy_offset));
            if let Some(first_answer) = first_answer.take() {
                first_answer.send(()).expect("the load is not on yet");
            }
            if wanted != Wanted::Later {
                self.transactions[sequence].asked = true;
                let answer = peer.try_call(end(&self.transactions[sequence]))?;
                assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
                self.transactions[sequence].answered = true;
            }
        }
    }

    fn half(&self, sequence: usize) -> Command {
        let body = self.body(sequence);
        let key = format!("U{body}");
        let pairs = [("TRAN_MSG", "true"), ("PGROUP", "deciders"), ("UNIQ_KEY", &key)];
        send(TOPIC, 0, &properties(&pairs), body)
    }

    fn body(&self, sequence: usize) -> String {
        format!("{}/{sequence}", self.number)
    }

    /// Decides on everything that is or may be undecided. What was left for now must still be there for it, and what
    /// was rolled back must not.
    #[track_caller]
    fn decide_the_rest(&mut self, peer: &mut Peer) {
        for transaction in &mut self.transactions {
            if transaction.half.is_none() {
                continue;
            }
            if transaction.answered {
                if transaction.wanted == Wanted::Rollback {
                    let answer = peer.call(end(&Transaction { wanted: Wanted::Commit, ..*transaction }));
                    assert_ne!(answer.code, response::SUCCESS, "{transaction:?}");
                }
                continue;
            }
            let answer = peer.call(end(transaction));
            let is_done = answer.code == response::SUCCESS
                || (transaction.asked
                    && answer.remark.as_deref().is_some_and(|why| why.contains("not pending")));
            assert!(is_done, "{transaction:?}: {answer:?}");
            (transaction.asked, transaction.answered) = (true, true);
        }
    }
}

fn end(transaction: &Transaction) -> Command {
    let (offset, place) = transaction.half.expect("an answered half message");
    let decision =
        if transaction.wanted == Wanted::Rollback { TRANSACTION_ROLLBACK } else { TRANSACTION_COMMIT };
    Command::request(request::END_TRANSACTION)
        .with("producerGroup", "deciders")
        .with("tranStateTableOffset", offset)
        .with("commitLogOffset", place)
        .with("commitOrRollback", decision)
        .with("msgId", "")
}

/// Holds every transaction against what is delivered; gives how many messages that are.
#[track_caller]
fn verify(producers: &[Producer], peer: &mut Peer) -> usize {
    let delivered = delivered(TOPIC, peer);
    for producer in producers {
        for (sequence, transaction) in producer.transactions.iter().enumerate() {
            let body = producer.body(sequence);
            let may =
                transaction.wanted != Wanted::Rollback && transaction.half.is_some() && transaction.asked;
            let must = may && transaction.answered;
            let is = delivered.contains_key(&body);
            assert!(may || !is, "{body} was delivered: {transaction:?}");
            assert!(is || !must, "{body} is lost: {transaction:?}");
        }
    }
    delivered.len()
}

/// Each answered decision has its record: that of a commit right behind its message, as only one append leaves the two.
#[track_caller]
fn verify_records(producers: &[Producer], peer: &mut Peer) {
    let mut ends_of_messages = HashMap::new();
    each_record(TOPIC, peer, |record| {
        let end = record.phy_offset + record.total_size() as i64;
        ends_of_messages.insert(record.prepared_transaction_offset, end);
    });
    let mut noted = HashMap::new();
    each_record(TRANS_OP_HALF_TOPIC, peer, |record| {
        for offset in std::str::from_utf8(record.body).unwrap().split_terminator(',') {
            noted.insert(offset.parse::<i64>().unwrap(), record.phy_offset);
        }
    });
    for transaction in producers.iter().flat_map(|producer| &producer.transactions) {
        let Some((offset, place)) = transaction.half.filter(|_| transaction.answered) else { continue };
        let note = noted.get(&offset).unwrap_or_else(|| panic!("no record says so: {transaction:?}"));
        if transaction.wanted == Wanted::Commit {
            let end = ends_of_messages[&place];
            // A record that doesn't fit behind its message begins the next file.
            let begins_file = note % LOG_FILE_BYTES == 0 && note - end < RECORD_BYTES_MAX;
            let is_behind = *note == end || (*note > end && begins_file);
            assert!(is_behind, "at {note}, not with its message at {end}: {transaction:?}");
        }
    }
}
