//! Sends batches to several queues, makes checkpoints, deletes a topic and sends to it again, until it is done or the
//! store fails. The same seed does the same.

use crate::ledger::{Event, Ledger, QUEUES, TOPICS, lmqs_of};
use roxmq_protocol::java_hash::index_hash;
use roxmq_store::{AppendBatch, Millis, NewMessage, QueueId, Store};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;

const BATCHES: u64 = 40;
const BATCH_MESSAGES_MAX: u64 = 5;
const CHECKPOINT_EVERY: u64 = 7;
const DELETE_EVERY: u64 = 11;

/// Bodies are up to so long: a log file holds some ten messages.
const BODY_BYTES_MAX: usize = 900;

/// Sends to a store until it fails, and enters into the ledger what was sent and acknowledged.
pub fn run(store: &Store, ledger: &mut Ledger, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    for batch in 1..=BATCHES {
        if send(store, ledger, &mut rng).is_err() {
            return;
        }
        if batch % DELETE_EVERY == 0 && delete(store, ledger, TOPICS[2]).is_err() {
            return;
        }
        // A checkpoint that fails fails no send, but one that succeeds is a promise.
        if batch % CHECKPOINT_EVERY == 0 && store.flush().is_ok() {
            ledger.acknowledge(true);
        }
    }
}

/// Sends one batch, and waits until it is acknowledged.
pub fn send(store: &Store, ledger: &mut Ledger, rng: &mut fastrand::Rng) -> Result<(), Failed> {
    let mut batch = AppendBatch::new();
    for _ in 0..rng.u64(1..=BATCH_MESSAGES_MAX) {
        let number = ledger.events.len() as u64;
        let topic = TOPICS[rng.usize(0..TOPICS.len())];
        let queue = QueueId(rng.i32(0..QUEUES));
        push(store, &mut batch, number, topic, queue, rng.usize(20..BODY_BYTES_MAX));
        ledger.events.push(Event::Sent { number, topic, queue });
    }
    let end = store.append(&mut batch).map_err(|_| Failed)?;
    let (tell, told) = mpsc::channel();
    store.when_durable(end, Box::new(move |result| tell.send(result).expect("the sender waits")));
    told.recv().expect("every append is answered").map_err(|_| Failed)?;
    ledger.acknowledge(store.acknowledges_late());
    Ok(())
}

fn push(store: &Store, batch: &mut AppendBatch, number: u64, topic: &str, queue: QueueId, body_bytes: usize) {
    let body = format!("{number:body_bytes$}");
    let lmqs = lmqs_of(number).join(",");
    let dispatch =
        if lmqs.is_empty() { String::new() } else { format!("INNER_MULTI_DISPATCH\u{1}{lmqs}\u{2}") };
    let properties = format!("KEYS\u{1}{number}\u{2}{dispatch}");
    let host = SocketAddr::from((Ipv4Addr::LOCALHOST, 10911));
    let message = NewMessage {
        topic,
        queue_id: queue,
        flag: 0,
        sys_flag: 0,
        born: Millis(1_795_000_000_000),
        born_host: host,
        store_host: host,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: body.as_bytes(),
        properties: properties.as_bytes(),
        tags_code: 0,
        key_hashes: &[index_hash(topic, &number.to_string())],
    };
    batch.push_dispatched(store, &message, &lmqs).expect("it isn't long");
}

/// The record of a deletion is on the disk before anything is removed, with either mode of flush.
fn delete(store: &Store, ledger: &mut Ledger, topic: &'static str) -> Result<(), Failed> {
    ledger.events.push(Event::Deleted { topic });
    store.delete_topic(topic).map_err(|_| Failed)?;
    ledger.acknowledge(true);
    Ok(())
}

/// The store took no more.
#[derive(Debug)]
pub struct Failed;
