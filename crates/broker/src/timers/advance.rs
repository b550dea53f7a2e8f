//! Goes from slot to slot as their times come.

use super::engine::{Engine, TimerError};
use super::open_slot::{OpenSlot, recall_key};
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::record::Record;
use roxmq_store::timer::slot_before;
use roxmq_store::{Millis, PhyOffset};

impl Engine<'_> {
    /// Delivers some of what is due, or moves on to the next slot. When there is nothing to do now it gives the time
    /// when to look again, if anything waits.
    pub(super) fn deliver_some(&mut self, now: Millis) -> Result<Option<Option<Millis>>, TimerError> {
        let Some(open) = &self.open else {
            if self.has_rolled && self.broker.store.acknowledges_late() {
                // What has rolled is in the next slot, or takes one of its messages back; to be entered it has to be
                // visible.
                self.broker.store.flush()?;
                self.has_rolled = false;
                return Ok(None);
            }
            return match self.next_slot() {
                Some(slot) if slot <= now => self.open_slot(slot).map(|()| None),
                later => Ok(Some(later)),
            };
        };
        let end = Millis(open.slot.0 + self.precision_ms);
        match open.next_due() {
            Some(due) if due <= now => self.deliver_due(now).map(|()| None),
            Some(due) => Ok(Some(Some(due))),
            None if end <= now => {
                self.close_slot(end, now);
                Ok(None)
            }
            // Whoever counts on the counts doesn't have to wait for the next slot.
            None if !open.recalling().is_empty() => Ok(Some(Some(end))),
            None => Ok(Some(self.with_files(|files| Ok(files.next_slot(end)))?)),
        }
    }

    /// Delivers everything up to and with a slot.
    pub(super) fn deliver_until(&mut self, slot: Millis, now: Millis) -> Result<(), TimerError> {
        while self.open.as_ref().is_some_and(|open| open.slot <= slot)
            || self.next_slot().is_some_and(|next| next <= slot)
        {
            if self.deliver_some(now)?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// The first slot that is not over and has messages.
    pub(super) fn next_slot(&self) -> Option<Millis> {
        let from = slot_before(self.read.0, self.precision_ms);
        self.timers.files.lock().as_ref().and_then(|files| files.next_slot(from))
    }

    /// When the next message is due, as exactly as is known without opening its slot.
    pub(super) fn next_due(&self) -> Option<Millis> {
        self.open.as_ref().and_then(OpenSlot::next_due).or_else(|| self.next_slot())
    }

    fn open_slot(&mut self, slot: Millis) -> Result<(), TimerError> {
        let entries = self.with_files(|files| files.entries(slot))?;
        self.read = self.read.max((Millis(slot.0 + 1), PhyOffset(0)));
        let (recalling, others): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.recalls && !entry.rolls);
        let read = self.read;
        let waiting = others.into_iter().filter(|entry| (entry.due, entry.phy_offset) >= read);
        let mut open = OpenSlot::new(slot, waiting);
        for entry in recalling {
            let raw = self.broker.store.record(entry.phy_offset)?.unwrap_or_default();
            let properties = Record::decode(&raw).map_or(Properties::default(), |record| record.properties);
            let topic = properties.get(name::REAL_TOPIC).unwrap_or_default();
            let key = recall_key(topic, properties).unwrap_or_default();
            open.recall(key, entry.topic_hash);
        }
        self.open = Some(open);
        Ok(())
    }

    /// A slot stays open until somebody has something to do, which may be long after its end.
    pub(super) fn close_if_over(&mut self, now: Millis) {
        if let Some(open) = &self.open
            && open.next_due().is_none()
            && open.slot.0 + self.precision_ms <= now.0
        {
            self.close_slot(Millis(open.slot.0 + self.precision_ms), now);
        }
    }

    fn close_slot(&mut self, end: Millis, now: Millis) {
        let Some(open) = self.open.take() else { return };
        self.timers.metrics.leave(open.recalling().iter().map(|hash| (*hash, -1)), now);
        if let Some(files) = self.timers.files.lock().as_mut() {
            files.close_slot(open.slot);
        }
        self.read = self.read.max((Millis(end.0 + 1), PhyOffset(0)));
        self.unsaved = true;
    }
}
