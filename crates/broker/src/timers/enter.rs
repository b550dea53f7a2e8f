//! Enters the messages of the timer queue in the wheel, in the order of the queue.

use super::deliver::slot_of;
use super::engine::{Engine, TimerError};
use super::open_slot::recall_key;
use super::progress::TimerProgress;
use super::timing::Asked;
use crate::config::BrokerConfig;
use roxmq_protocol::java_hash;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::{Record, Records};
use roxmq_store::files::ReadMode;
use roxmq_store::read::{NoFilter, ReadLimits};
use roxmq_store::timer::{SLOTS_AHEAD_MAX, TimerEntry, slot_at, slot_before};
use roxmq_store::{Millis, PhyOffset, QueueOffset};
use std::sync::atomic::Ordering;

/// Messages entered in one go. The first comes whatever its size.
const LIMITS: ReadLimits = ReadLimits { count_max: 1_024, bytes_max: 1 << 20, scan_max: 1_024 };

/// What becomes of a message of the queue.
enum Entry {
    Waits(TimerEntry),
    /// Its slot is over.
    Late(TimerEntry),
    /// It is delivered already.
    Done,
    /// It says nothing of where it goes or when.
    Unreadable,
}

impl Engine<'_> {
    /// Enters the next messages of the queue.
    pub(super) fn enter_some(&mut self, now: Millis) -> Result<(), TimerError> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.clear();
        let read =
            self.broker.store.read(&self.queue, self.next, LIMITS, &NoFilter, ReadMode::Blocking, &mut raw);
        // What can't be read is passed over, so that it doesn't hold up all others.
        let behind = read?.next_offset.max(QueueOffset(self.next.0 + 1));
        self.move_on(&raw, now);
        let entered = self.enter(&raw, behind, now);
        self.raw = raw;
        entered?;
        self.set_next(behind);
        self.unsaved = true;
        Ok(())
    }

    /// Times without messages need no looking at any more. Otherwise the wheel would have to tell the moments of today
    /// from those of a fortnight ago. But what was due between the time when the next messages were stored and now, or
    /// has rolled for too long, goes through the wheel, where what takes it back finds it.
    fn move_on(&mut self, next_messages: &[u8], now: Millis) {
        self.close_if_over(now);
        if self.open.is_none() && self.next_slot().is_none_or(|slot| slot > now) {
            let records = Records::new(next_messages).map_while(Result::ok);
            let times = records.flat_map(|record| [Some(Millis(record.store_timestamp)), slot_of(&record)]);
            let until = times.flatten().fold(now, Millis::min);
            let on = slot_at(until, self.precision_ms);
            self.read = self.read.max((Millis(on.0 + 1), PhyOffset(0)));
        }
    }

    fn set_next(&mut self, next: QueueOffset) {
        self.next = next;
        self.timers.entered.store(next.0, Ordering::Relaxed);
    }

    fn enter(&mut self, raw: &[u8], behind: QueueOffset, now: Millis) -> Result<(), TimerError> {
        let mut waiting = Vec::new();
        let mut late = Vec::new();
        for record in Records::new(raw) {
            let Ok(record) = record else { break };
            match self.entry(&record, now) {
                Entry::Waits(entry) => waiting.push((record, entry)),
                Entry::Late(entry) => late.push(entry),
                Entry::Done => {}
                Entry::Unreadable => {
                    let phy_offset = record.phy_offset;
                    tracing::warn!(
                        phy_offset,
                        "a message of the timer topic has no time or no topic to go to"
                    );
                }
            }
        }
        if !late.is_empty() {
            // Before the others are entered: the last unit of the log says that all before it is done.
            let (due, phy_offset) = self.read;
            let progress = TimerProgress { due, phy_offset, queue_offset: behind };
            self.deliver_late(&late, progress, now)?;
            for entry in &late {
                self.with_files(|files| files.add(entry, false))?;
            }
        }
        for (record, entry) in waiting {
            self.enter_one(&record, entry, now)?;
        }
        Ok(self.with_files(|files| files.write())?)
    }

    fn enter_one(&mut self, record: &Record<'_>, entry: TimerEntry, now: Millis) -> Result<(), TimerError> {
        while let Some(other) = self.with_files(|files| files.conflict(entry.slot))? {
            // Of a fortnight ago: its messages have been due for long.
            self.deliver_until(other, now)?;
        }
        self.with_files(|files| files.add(&entry, true))?;
        let topic = record.properties.get(name::REAL_TOPIC).unwrap_or_default();
        self.timers.metrics.enter(topic, entry.topic_hash, entry.weight(), now);
        if let Some(open) = self.open.as_mut().filter(|open| open.slot == entry.slot) {
            match recall_key(topic, record.properties) {
                Some(key) if !entry.rolls => open.recall(key, entry.topic_hash),
                _ => open.push(entry),
            }
        }
        self.next = QueueOffset(record.queue_offset + 1);
        Ok(())
    }

    fn entry(&self, record: &Record<'_>, now: Millis) -> Entry {
        let [out, topic] = record.properties.get_all([name::TIMER_OUT_MS, name::REAL_TOPIC]);
        let (Some(slot), Some(topic)) = (out.and_then(|out| out.parse().ok()), topic) else {
            return Entry::Unreadable;
        };
        let asked = Asked::of(record.properties);
        let slot = slot_at(Millis(slot), self.precision_ms);
        let entry = TimerEntry {
            slot,
            due: asked.due_in_slot(Millis(record.store_timestamp), slot, self.precision_ms),
            written: slot_at(now, self.precision_ms),
            phy_offset: PhyOffset(record.phy_offset),
            record_bytes: record.total_size() as i32,
            topic_hash: java_hash::hash(topic),
            rolls: false,
            recalls: asked.is_recall,
        };
        self.place(entry, QueueOffset(record.queue_offset), now)
    }

    /// Where a message goes that is meant for this slot.
    fn place(&self, entry: TimerEntry, queue_offset: QueueOffset, now: Millis) -> Entry {
        if self.noted.is_behind(queue_offset, entry.due, entry.phy_offset) {
            return Entry::Done;
        }
        if (entry.due, entry.phy_offset) < self.read {
            if entry.due <= now {
                return Entry::Late(entry);
            }
            // The clock was set back. What it says is still to come is over for the wheel: the next slot takes it.
            let slot = slot_before(self.read.0, self.precision_ms);
            return Entry::Waits(TimerEntry { slot, due: Millis(slot.0 + self.precision_ms), ..entry });
        }
        let window = window_slots(&self.broker.config());
        match roll_slot(entry.slot, entry.written, window, self.precision_ms) {
            Some(slot) => {
                let due = Millis(slot.0 + self.precision_ms);
                Entry::Waits(TimerEntry { slot, due, rolls: true, ..entry })
            }
            None => Entry::Waits(entry),
        }
    }
}

/// How many slots ahead a message may wait: no more than asked for (`timerRollWindowSlot`), no more than the wheel
/// has, and not for so long that the log no longer has the message.
fn window_slots(config: &BrokerConfig) -> i64 {
    let asked = config.timer_roll_window_slot;
    let asked = if (2..=SLOTS_AHEAD_MAX).contains(&asked) { asked } else { SLOTS_AHEAD_MAX };
    let kept_ms = (config.file_reserved_time as i64).saturating_mul(3_600_000);
    asked.min(kept_ms / 3 * 2 / config.timer_precision_ms).max(2)
}

/// The slot until which a message waits that is to be stored anew then; none for a message that can wait for its own. The
/// last wait is never a short one.
fn roll_slot(slot: Millis, written: Millis, window: i64, precision_ms: i64) -> Option<Millis> {
    let beyond_ms = slot.0.saturating_sub(written.0) - window * precision_ms;
    let slots = match beyond_ms {
        ..0 => return None,
        beyond_ms if beyond_ms < window / 3 * precision_ms => window / 2,
        _ => window,
    };
    Some(Millis(written.0 + slots * precision_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_too_long_rolls_as_with_the_java_server() {
        let check = |wait_slots: i64, expected: Option<i64>| {
            let (slot, written) = (Millis(1_000_000 + wait_slots * 1_000), Millis(1_000_000));
            let expected = expected.map(|slots| Millis(1_000_000 + slots * 1_000));
            assert_eq!(roll_slot(slot, written, 300, 1_000), expected, "{wait_slots}");
        };
        check(-5, None);
        check(299, None);
        check(300, Some(150));
        check(399, Some(150));
        check(400, Some(300));
        check(100_000, Some(300));
    }

    #[test]
    fn the_window_is_no_longer_than_the_log_keeps_messages() {
        let check = |slots, hours, expected| {
            let config = BrokerConfig {
                timer_roll_window_slot: slots,
                file_reserved_time: hours,
                ..BrokerConfig::default()
            };
            assert_eq!(window_slots(&config), expected, "{slots} {hours}");
        };
        check(172_800, 72, 172_800);
        check(172_800, 3, 7_200);
        check(0, 1_000, SLOTS_AHEAD_MAX);
        check(10_000_000, 1_000, SLOTS_AHEAD_MAX);
        check(2, 72, 2);
    }
}
