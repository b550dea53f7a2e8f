//! An operator wants a producer to be asked again: request 323.
//!
//! The id is that of a message in `TRANS_CHECK_MAX_TIME_TOPIC`, which becomes a half message again, or of a half
//! message that is pending, whose count starts anew.

use super::counts::{self, Count};
use super::half::AskAfter;
use super::{HALF_QUEUE, NewHalf, commit, pending::Waiting};
use crate::Broker;
use crate::refusal::Refusal;
use crate::send;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::java_hash::IndexHasher;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::names;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::Record;
use roxmq_store::{AppendBatch, IndexKeys, Millis, PhyOffset};

/// Index entries that are looked at to see whether a message was brought back before.
const PLACES_MAX: usize = 64;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let ext = request.ext_fields();
    let id = ext.need_str("msgId")?;
    let id: OffsetMessageId = id
        .parse()
        .map_err(|error: roxmq_protocol::message_id::InvalidMessageId| Refusal::failed(error.to_string()))?;
    let missing = || Refusal::failed(format!("there is no message {id} (any more)"));
    let bytes = broker.store.record(PhyOffset(id.phy_offset))?.ok_or_else(missing)?;
    let record = Record::decode(&bytes).map_err(|_| missing())?;
    match record.topic {
        names::TRANS_HALF_TOPIC => ask_again(broker, &record)?,
        names::TRANS_CHECK_MAX_TIME_TOPIC => bring_back(broker, &record)?,
        topic => {
            return Err(Refusal::failed(format!(
                "message {id} is of topic {topic} and no part of a transaction"
            )));
        }
    }
    Ok(Command::response(response::SUCCESS))
}

/// Its count starts anew, and it is asked about at once.
fn ask_again(broker: &Broker, record: &Record<'_>) -> Result<(), Refusal> {
    let offset = record.queue_offset;
    let transactions = &broker.transactions;
    let pending = transactions.table.page(offset, 1);
    let is_it = |waiting: &&Waiting| waiting.offset == offset && waiting.phy_offset.0 == record.phy_offset;
    if pending.first().filter(is_it).is_none() {
        return Err(Refusal::failed(format!(
            "the transaction of half message {offset} is not pending: it was decided before"
        )));
    }
    let mut batch = AppendBatch::new();
    counts::push(broker, &mut batch, &[Count { offset, checks: 0 }])
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let end = broker.store.append(&mut batch).map_err(|error| send::refusal_of_append(&error))?;
    let now = broker.clock.now();
    transactions.table.put_off(offset, now, 0);
    transactions.alarm.set_for(now);
    broker.store.wait_durable(end).map_err(|error| Refusal::failed(error.to_string()))
}

fn bring_back(broker: &Broker, record: &Record<'_>) -> Result<(), Refusal> {
    if let Some(offset) = brought_back_before(broker, record)? {
        return Err(Refusal::failed(format!(
            "the message was brought back before, as half message {offset}"
        )));
    }
    broker.transactions.check_room()?;
    let mut batch = AppendBatch::new();
    commit::push_half_again(broker, &mut batch, record)
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let pending = broker.transactions.appending(&broker.store);
    let end = broker.store.append(&mut batch).map_err(|error| send::refusal_of_append(&error))?;
    let immunity = record.properties.get(name::CHECK_IMMUNITY_TIME_IN_SECONDS);
    let half = NewHalf { index: 0, ask_after: AskAfter::of(immunity) };
    broker.transactions.prepared(&broker.config(), &[half], batch.stored());
    drop(pending);
    // Whoever brings it back once more finds this one when it is visible.
    broker.store.wait_durable(end).map_err(|error| Refusal::failed(error.to_string()))
}

/// The half message that was made of this one, as far as the index knows.
fn brought_back_before(broker: &Broker, given_up: &Record<'_>) -> Result<Option<i64>, Refusal> {
    let Some(uniq_key) = IndexKeys::of(given_up.properties).uniq_key else { return Ok(None) };
    let hash = IndexHasher::new(names::TRANS_HALF_TOPIC).key(uniq_key);
    let (begin, end) = (Millis(given_up.store_timestamp), Millis(i64::MAX));
    let places = broker.store.query_key(hash, begin, end, PLACES_MAX)?.places;
    for place in places.into_iter().filter(|place| place.0 > given_up.phy_offset) {
        let Some(bytes) = broker.store.record(place)? else { continue };
        let same = Record::decode(&bytes).ok().filter(|record| {
            record.topic == names::TRANS_HALF_TOPIC
                && record.queue_id == HALF_QUEUE.0
                && record.properties.get(name::UNIQ_KEY) == Some(uniq_key)
        });
        if let Some(half) = same {
            return Ok(Some(half.queue_offset));
        }
    }
    Ok(None)
}
