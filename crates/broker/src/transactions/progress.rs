//! The offsets of `CID_RMQ_SYS_TRANS`: from where on a start, or a Java server that takes the store over, has to look
//! for pending half messages and for the records of those that are done.
//!
//! Offsets that lag behind cost a longer look, nothing else. Offsets ahead would lose transactions: they never are.

use super::HALF_QUEUE;
use crate::Broker;
use crate::state::first_at_or_after;
use roxmq_protocol::names;
use roxmq_store::PhyOffset;
use std::io;

/// Commits the offsets, if they have moved. May wait for the disk.
pub(crate) fn note(broker: &Broker) -> io::Result<()> {
    const GROUP: &str = names::TRANS_CONSUMER_GROUP;
    let Some(half_queue) = broker.store.queue(names::TRANS_HALF_TOPIC, HALF_QUEUE) else { return Ok(()) };
    let op_queue = broker.store.queue(names::TRANS_OP_HALF_TOPIC, HALF_QUEUE);
    // Read before the table is: each record up to here is about a half message that the table knew before the look.
    let op_next = op_queue.as_ref().map_or(0, |queue| queue.next_offset().0);
    let next = || half_queue.next_offset().0;
    let first = broker.transactions.table.first(next);
    let committed = broker.offsets.get(GROUP, names::TRANS_HALF_TOPIC, HALF_QUEUE).unwrap_or(0);
    if first.offset == committed {
        return Ok(());
    }
    let op_offset = match (first.place, op_queue) {
        (_, None) => None,
        (Some(PhyOffset(place)), Some(queue)) => {
            Some(first_at_or_after(&broker.store, &queue, PhyOffset(place + 1))?.0)
        }
        (None, Some(_)) => first.is_all.then_some(op_next),
    };
    broker.offsets.commit(GROUP, names::TRANS_HALF_TOPIC, HALF_QUEUE, first.offset);
    if let Some(op_offset) = op_offset {
        broker.offsets.commit(GROUP, names::TRANS_OP_HALF_TOPIC, HALF_QUEUE, op_offset);
    }
    Ok(())
}
