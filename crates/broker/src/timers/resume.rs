//! Finds out at a start which messages of the last batch the log has, and delivers the others.

use super::deliver::slot_of;
use super::engine::{Engine, TimerError};
use roxmq_protocol::names;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::Record;
use roxmq_store::timer::{TimerEntry, slot_at};
use roxmq_store::{Millis, PhyOffset};

impl Engine<'_> {
    /// Delivers what the process was delivering when it was killed and the log didn't take.
    pub(super) fn finish_batch(&mut self) -> Result<(), TimerError> {
        let Some((mut at, note)) = self.broker.timer_table.found().last_note else { return Ok(()) };
        let mut missing = &note.delivered[..];
        while let [first, rest @ ..] = missing {
            let origin = self.broker.store.record(PhyOffset(*first))?;
            match self.broker.store.record_after(at)? {
                Some((next, raw)) if is_delivery_of(origin.as_deref(), &raw) => (at, missing) = (next, rest),
                _ => break,
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let now = self.broker.clock.now();
        let entries: Vec<_> = missing.iter().map(|phy_offset| PhyOffset(*phy_offset)).collect();
        let entries = entries.into_iter().map(|phy_offset| self.entry_again(phy_offset, now));
        let entries = entries.collect::<std::io::Result<Vec<_>>>()?;
        tracing::info!(
            messages = entries.len(),
            "timer messages are delivered whose delivery a crash cut short"
        );
        self.deliver(&entries, note.progress, false, now)
    }

    /// The entry of a message that was about to be delivered.
    fn entry_again(&self, phy_offset: PhyOffset, now: Millis) -> std::io::Result<TimerEntry> {
        let raw = self.broker.store.record(phy_offset)?.unwrap_or_default();
        let record = Record::decode(&raw).ok();
        let slot = record.as_ref().and_then(slot_of).unwrap_or_default();
        let stored = record.map_or(now, |record| Millis(record.store_timestamp));
        Ok(TimerEntry {
            slot,
            due: slot,
            written: slot_at(stored, self.precision_ms),
            phy_offset,
            record_bytes: raw.len() as i32,
            topic_hash: 0,
            // Whatever was on its way before its time was on its way to the wheel again.
            rolls: slot >= now,
            recalls: false,
        })
    }
}

/// Whether a record is what became of a message that waited.
fn is_delivery_of(origin: Option<&[u8]>, raw: &[u8]) -> bool {
    let (Some(Ok(origin)), Ok(record)) = (origin.map(Record::decode), Record::decode(raw)) else {
        return false;
    };
    let key = |record: &Record<'_>| record.properties.get(name::UNIQ_KEY).map(str::to_owned);
    let goes_to = |topic| record.topic == names::TIMER_TOPIC || Some(record.topic) == topic;
    goes_to(origin.properties.get(name::REAL_TOPIC))
        && key(&record) == key(&origin)
        && record.born_timestamp == origin.born_timestamp
        && record.body == origin.body
}
