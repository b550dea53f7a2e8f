//! What becomes of messages whose invisible time ended: they go to the group's retry topic for another attempt, or to
//! its dead-letter topic when they have had all of theirs.
//!
//! The copies and the record that the messages are no longer in flight are one append. So a crash in between can't
//! lose a message; it comes twice at worst.

use super::batch::{Batch, BatchKey, Messages};
use super::queue::PopQueue;
use super::record::{PopChange, PopRecord};
use super::revival::Revival;
use crate::Broker;
use crate::state::StateError;
use roxmq_store::{AppendBatch, Millis, QueueOffset};
use std::io;
use std::sync::Arc;

/// Messages that are read for one append; the last batch may bring some more.
const MESSAGES_MAX: usize = 64;
/// How long to wait after a failure before the same messages are tried again.
const RETRY_MS: i64 = 1_000;

/// Room that is used again from one look to the next.
#[derive(Default)]
pub(super) struct Expiry {
    messages: AppendBatch,
    record: PopRecord,
    /// The last look failed, which the log has been told.
    failing: bool,
}

/// A batch whose time has come, with what becomes of its messages.
struct Due {
    key: BatchKey,
    pending: Messages,
    revivals: Vec<(usize, Revival)>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ExpiryError {
    #[error("reading the log failed: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
}

impl Expiry {
    /// Brings back what is due in the queue, and lists it anew for what is left.
    pub(super) fn look(&mut self, broker: &Arc<Broker>, queue: &Arc<PopQueue>) {
        let outcome = self.bring_back(broker, queue);
        let now = broker.clock.now();
        let mut state = queue.state();
        let at = match &outcome {
            Ok(()) => state.next_time(now),
            Err(_) => Some(Millis(now.0.saturating_add(RETRY_MS))),
        };
        broker.pops.timer.look_at(queue, &mut state, at);
        let is_ordered = state.order.is_some();
        drop(state);
        let was_failing = std::mem::replace(&mut self.failing, outcome.is_err());
        if let Err(error) = outcome
            && !was_failing
        {
            let (group, topic, queue_id) = (&*queue.group, &*queue.topic, queue.id.0);
            tracing::error!(group, topic, queue_id, %error, "popped messages can't be brought back; trying again");
        }
        if is_ordered {
            // It may be free now; whoever waits finds out.
            broker.pop_waits.wake(broker, &queue.group, &queue.topic, Some(queue.id));
        }
    }

    fn bring_back(&mut self, broker: &Arc<Broker>, queue: &Arc<PopQueue>) -> Result<(), ExpiryError> {
        loop {
            let batches = queue.state().flight.due(broker.clock.now(), MESSAGES_MAX);
            if batches.is_empty() || broker.pops.timer.is_stopping() {
                return Ok(());
            }
            let due = batches.into_iter().map(|(key, batch)| read(broker, queue, key, &batch));
            let due = due.collect::<Result<Vec<_>, _>>()?;
            self.put_back(broker, queue, &due)?;
        }
    }

    fn put_back(
        &mut self,
        broker: &Arc<Broker>,
        queue: &Arc<PopQueue>,
        due: &[Due],
    ) -> Result<(), ExpiryError> {
        self.messages.clear();
        self.record.clear();
        self.record.queue(queue.name());
        let mut finished = Vec::with_capacity(due.len());
        let mut stored = Vec::new();
        let mut turn = broker.state_log.turn();
        for Due { key, pending, revivals } in due {
            // Nobody acknowledges anything while this turn lasts; what was acknowledged before stays away.
            let pending = queue.state().flight.still_pending(*key, *pending);
            for (index, revival) in revivals {
                if !pending.and(Messages::one(*index)).is_empty() {
                    let bytes = revival.push(broker, &queue.group, key.pop_time, &mut self.messages);
                    stored.push((revival, bytes));
                }
            }
            let change = PopChange::Finished { key: *key, messages: pending };
            self.record.push(&change);
            finished.push(change);
        }
        turn.record_pop(self.record.bytes(), Some(&mut self.messages))?;
        for change in finished {
            broker.pops.apply(broker, &mut turn, queue, change);
        }
        drop(turn);
        broker.store.announce(&self.messages);
        for (revival, bytes) in &stored {
            revival.stored(broker, *bytes);
        }
        if !stored.is_empty() {
            // A retry topic that has just been made is watched by nobody yet.
            broker.pop_waits.wake(broker, &queue.group, queue.normal_topic(), None);
        }
        Ok(())
    }
}

/// Reads the messages of a batch, and makes the topics that they go to.
fn read(broker: &Arc<Broker>, queue: &PopQueue, key: BatchKey, batch: &Batch) -> Result<Due, ExpiryError> {
    let mut due = Due { key, pending: batch.pending, revivals: Vec::new() };
    let (Some(group), Some(_)) = (broker.groups.get(&queue.group), broker.topics.get(queue.normal_topic()))
    else {
        // The group or the topic was deleted: nobody wants them.
        return Ok(due);
    };
    let Some(consume_queue) = broker.store.queue(&queue.topic, queue.id) else { return Ok(due) };
    for (index, offset) in batch.offsets(key.start, batch.pending) {
        // What retention has taken is gone for everybody.
        if let Some(entry) = broker.store.entries(&consume_queue, QueueOffset(offset), 1)?.first()
            && let Some(bytes) = broker.store.record(entry.phy_offset)?
            && let Some(revival) = Revival::of(broker, queue, &group, bytes)?
        {
            due.revivals.push((index, revival));
        }
    }
    Ok(due)
}
