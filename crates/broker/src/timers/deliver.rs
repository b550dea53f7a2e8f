//! Delivers messages that are due.

use super::QUEUE;
use super::engine::{Engine, TimerError};
use super::progress::{TimerNote, TimerProgress};
use crate::Broker;
use crate::delay::redelivery::{self, Undeliverable};
use crate::lmq;
use crate::state::{Change, StateError, push_change};
use crate::topics::Topic;
use roxmq_protocol::names;
use roxmq_protocol::properties::{PROPERTIES_BYTES_MAX, name, rewrite};
use roxmq_protocol::record::{Record, RecordError, TooLong};
use roxmq_store::timer::TimerEntry;
use roxmq_store::{AppendBatch, AppendError, Millis, PhyOffset, QueueId};
use std::sync::Arc;

/// How many messages are delivered with one append.
const BATCH_MAX: usize = 512;
/// And how many bytes, of which the last message may be beyond.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// What the Java server says of a message that was never in the wheel.
const NEVER_ENTERED: i64 = i64::MAX;

/// A message on its way to where it was meant to go, or to the timer topic again.
struct Outgoing {
    /// The record that waited.
    raw: Vec<u8>,
    topic: Arc<Topic>,
    queue_id: QueueId,
    properties: Vec<u8>,
}

impl Engine<'_> {
    /// Delivers what the open slot has due, as much as one append takes.
    pub(super) fn deliver_due(&mut self, now: Millis) -> Result<(), TimerError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while entries.len() < BATCH_MAX && bytes < BATCH_BYTES_MAX {
            let Some(entry) = open.pop(now) else { break };
            bytes += entry.record_bytes.max(0) as usize;
            entries.push(entry);
        }
        let Some(last) = entries.last() else { return Ok(()) };
        let read = (last.due, PhyOffset(last.phy_offset.0 + 1));
        let progress = TimerProgress { due: read.0, phy_offset: read.1, queue_offset: self.next };
        if let Err(error) = self.deliver(&entries, progress, false, now) {
            if let Some(open) = &mut self.open {
                entries.into_iter().for_each(|entry| open.push(entry));
            }
            return Err(error);
        }
        self.timers.metrics.leave(entries.iter().map(|entry| (entry.topic_hash, entry.weight())), now);
        self.read = read;
        Ok(())
    }

    /// Delivers messages that came when their slots were over.
    pub(super) fn deliver_late(
        &mut self,
        entries: &[TimerEntry],
        progress: TimerProgress,
        now: Millis,
    ) -> Result<(), TimerError> {
        self.deliver(entries, progress, true, now)
    }

    /// Delivers messages with one append. Those that can't be delivered, or were taken back, are left out.
    pub(super) fn deliver(
        &mut self,
        entries: &[TimerEntry],
        progress: TimerProgress,
        late: bool,
        now: Millis,
    ) -> Result<(), TimerError> {
        let mut outgoing = Vec::new();
        let mut undeliverable = 0;
        for entry in entries {
            let raw = self.broker.store.record(entry.phy_offset)?;
            match self.outgoing(entry, raw, late, now) {
                Ok(Some(message)) => outgoing.push(message),
                Ok(None) => {}
                Err(reason) => {
                    tracing::debug!(phy_offset = entry.phy_offset.0, %reason, "a timer message is not delivered");
                    undeliverable += 1;
                    if undeliverable == 1 {
                        let messages = entries.len();
                        tracing::warn!(messages, %reason, "at least one of these timer messages is not delivered");
                    }
                }
            }
        }
        self.append(outgoing, progress, now)
    }

    /// Where a message goes, with what properties; nothing if it was taken back.
    fn outgoing(
        &self,
        entry: &TimerEntry,
        raw: Option<Vec<u8>>,
        late: bool,
        now: Millis,
    ) -> Result<Option<Outgoing>, Undeliverable> {
        let raw = raw.ok_or(Undeliverable::Gone)?;
        let record = Record::decode(&raw)?;
        let slot = slot_of(&record).filter(|slot| entry.rolls || *slot < now);
        // An entry of another record, which the log had before it was cut.
        slot.filter(|_| record.topic == names::TIMER_TOPIC).ok_or(Undeliverable::Gone)?;
        let (topic, queue_id) =
            if entry.rolls { (names::TIMER_TOPIC, QUEUE) } else { redelivery::target(&record)? };
        let recalled = || self.open.as_ref().is_some_and(|open| open.is_recalled(topic, record.properties));
        if !entry.rolls && (entry.recalls || recalled()) {
            return Ok(None);
        }
        let known = self.broker.topics.get(topic);
        let topic = known.ok_or_else(|| Undeliverable::Deleted(topic.to_owned()))?;
        let enqueued = if late { NEVER_ENTERED } else { entry.written.0 };
        let properties = properties_of(&record, entry.rolls, enqueued, now);
        Ok(Some(Outgoing { raw, topic, queue_id, properties }))
    }

    /// Appends messages behind a note of them. One that has no room in the log is left out, so that it can't hold up
    /// the others for ever.
    fn append(
        &mut self,
        mut messages: Vec<Outgoing>,
        progress: TimerProgress,
        now: Millis,
    ) -> Result<(), TimerError> {
        loop {
            if messages.is_empty() {
                return Ok(());
            }
            let unfit = match self.encode(&messages, progress, now)? {
                Some(unfit) => unfit,
                None => match self.broker.store.append(&mut self.batch) {
                    Err(AppendError::TooLarge { .. }) => largest(&messages),
                    appended => {
                        appended?;
                        break;
                    }
                },
            };
            let topic = &messages.remove(unfit).topic.topic_name;
            tracing::warn!(topic, "a timer message has no room in the log and is not delivered");
        }
        self.has_rolled |= messages.iter().any(|message| message.topic.topic_name == names::TIMER_TOPIC);
        self.noted = progress;
        self.broker.timer_table.set(progress);
        self.unsaved = true;
        for message in &messages {
            self.broker.stats.put(&message.topic.stats, 1, message.raw.len() as u64);
        }
        self.timers.metrics.delivered(messages.len() as u64, now);
        Ok(())
    }

    /// Puts note and messages into the batch. Gives the place of a message that doesn't fit in a record.
    fn encode(
        &mut self,
        messages: &[Outgoing],
        progress: TimerProgress,
        now: Millis,
    ) -> Result<Option<usize>, TimerError> {
        let Broker { store, advertised, .. } = self.broker;
        self.batch.clear();
        let delivered = messages.iter().filter_map(|message| phy_offset_of(&message.raw)).collect();
        let note = Change::TimerProgress(TimerNote { progress, delivered });
        push_change(&note, store, now, *advertised, &mut self.batch).map_err(StateError::TooLong)?;
        let batch = &mut self.batch;
        Ok(messages.iter().position(|message| message.push(self.broker, batch).is_err()))
    }
}

impl Outgoing {
    fn push(&self, broker: &Broker, batch: &mut AppendBatch) -> Result<(), UnfitError> {
        let record = Record::decode(&self.raw)?;
        let topic = &self.topic.topic_name;
        let lmqs = lmq::list_of(broker, &self.topic, record.properties);
        let pushed = redelivery::with_message(&record, topic, self.queue_id, &self.properties, |message| {
            batch.push_dispatched(&broker.store, message, lmqs)
        });
        Ok(pushed?)
    }
}

/// Why a message that waited can't be stored again.
#[derive(Debug, thiserror::Error)]
enum UnfitError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// The moment that a message of the timer topic waits for.
pub(super) fn slot_of(record: &Record<'_>) -> Option<Millis> {
    record.properties.get(name::TIMER_OUT_MS)?.parse().ok().map(Millis)
}

fn phy_offset_of(raw: &[u8]) -> Option<i64> {
    Record::decode(raw).ok().map(|record| record.phy_offset)
}

fn largest(messages: &[Outgoing]) -> usize {
    let sizes = messages.iter().map(|message| message.raw.len());
    sizes.enumerate().max_by_key(|(_, size)| *size).map_or(0, |(at, _)| at)
}

/// The message's own properties, with what the Java server adds when it has waited; without that if there is no room.
fn properties_of(record: &Record<'_>, rolls: bool, enqueued: i64, now: Millis) -> Vec<u8> {
    let own = record.properties.raw();
    let rolled: i64 =
        record.properties.get(name::TIMER_ROLL_TIMES).and_then(|times| times.parse().ok()).unwrap_or(0);
    let times = rolled.saturating_add(1).to_string();
    let (enqueued, now) = (enqueued.to_string(), now.to_string());
    let changes = [
        (name::TIMER_ENQUEUE_MS, Some(enqueued.as_str())),
        (name::TIMER_DEQUEUE_MS, Some(now.as_str())),
        (name::TIMER_ROLL_TIMES, Some(times.as_str())),
    ];
    let mut properties = Vec::with_capacity(own.len() + 96);
    rewrite(own, &mut properties, if rolls { &changes } else { &changes[..2] });
    if properties.len() > PROPERTIES_BYTES_MAX { own.to_vec() } else { properties }
}
