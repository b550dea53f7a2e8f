//! Brings wheel and log into agreement at a start.

use super::log::{Block, TimerLog};
use super::slot::{NO_UNIT, Slot, slot_before};
use super::unit::{UNIT_BYTES, Unit};
use super::wheel::Wheel;
use super::{TimerFiles, TimerOptions};
use crate::files::FileSystem;
use crate::open::OpenError;
use crate::position::{Millis, PhyOffset};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What the log and the checkpoint say.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Where delivery goes on: every message before is done with.
    pub read: (Millis, PhyOffset),
    /// Up to where the wheel knew the log's units.
    pub log_flushed: i64,
    /// The Java server wrote the files last: its wheel may be behind by as much as a file.
    pub by_java: bool,
    /// One past the end of the commit log.
    pub commit_log_end: PhyOffset,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerRecovery {
    /// Where delivery goes on: as was known, or later, if that is so long ago that the wheel can't tell its moments from
    /// those that messages wait for. Nothing waits before it.
    pub read: (Millis, PhyOffset),
    /// Files were missing: the messages of the whole queue are to be entered again.
    pub lost: bool,
    /// The last message that was entered.
    pub last: Option<PhyOffset>,
    /// How many messages wait, by the hash of their topic.
    pub counts: HashMap<i32, i64>,
    /// Units of messages that the commit log doesn't have.
    pub dropped: u64,
}

pub(super) fn open(
    files: Arc<dyn FileSystem>,
    options: &TimerOptions,
    known: &Known,
) -> Result<(TimerFiles, TimerRecovery), OpenError> {
    let wheel_path = options.root.join("timerwheel");
    let dir = options.root.join("timerlog");
    let log = TimerLog::load(Arc::clone(&files), &dir, options.log_file_bytes)?;
    // A crashed process may have made files whose names are not on the disk.
    files.sync_dir(&dir).and_then(|()| files.sync_dir(&options.root)).map_err(at(&options.root))?;
    let wheel = Wheel::load(files, &wheel_path, options.wheel_slots, options.precision_ms);
    let wheel = wheel.map_err(at(&wheel_path))?;
    let mut timers = TimerFiles { log, wheel, precision_ms: options.precision_ms, failed: false };
    let report = timers.recover(known).map_err(at(&dir))?;
    Ok((timers, report))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OpenError + '_ {
    move |source| OpenError::Io { path: path.to_path_buf(), source }
}

impl TimerFiles {
    fn recover(&mut self, known: &Known) -> io::Result<TimerRecovery> {
        let read_slot = slot_before(known.read.0, self.precision_ms);
        let mut report = TimerRecovery { read: known.read, ..TimerRecovery::default() };
        let last_named = self.wheel.scan(read_slot)?;
        let lacks_log = self.log.end() == self.log.first() && last_named != NO_UNIT;
        if known.log_flushed > self.log.end() || lacks_log {
            self.wheel.reset()?;
            self.log.truncate(self.log.first())?;
            report.lost = true;
            return Ok(report);
        }
        let from = self.replay_start(known)?;
        let end = self.replay(from, read_slot, known, &mut report)?;
        report.dropped +=
            self.log.scan(end, |_, _| Ok(true)).map(|stale| (stale - end) as u64 / UNIT_BYTES as u64)?;
        self.log.truncate(end)?;
        self.log.doubt(from);
        if last_named >= end {
            report.dropped += self.shorten_chains(read_slot)?;
        }
        let waiting = self.wheel.waiting(read_slot)?;
        if let Some(first) = waiting.iter().map(|slot| slot.number).min() {
            // The messages that are not entered yet came later, and wait for no time before those did.
            let half_a_turn_before = Millis((first - self.wheel.turn() / 2) * self.precision_ms);
            report.read = known.read.max((half_a_turn_before, PhyOffset(0)));
        }
        self.count_waiting(&waiting, read_slot, known, &mut report)?;
        Ok(report)
    }

    /// The position from which on the wheel may lack units, or has some of messages that are gone.
    fn replay_start(&self, known: &Known) -> io::Result<i64> {
        let first = self.log.first();
        if !self.wheel.exists() {
            return Ok(first);
        }
        let margin = if known.by_java { self.log.file_bytes() } else { 0 };
        let mut from = self.log.align((known.log_flushed - margin).max(first));
        let mut block = Block::default();
        while from > first {
            let before = self.log.align(from - 1);
            match self.log.unit(before, &mut block)? {
                Some(unit) if unit.phy_offset < known.commit_log_end.0 => break,
                // The rest of a file that has no room for a unit isn't one.
                _ => from = before,
            }
        }
        Ok(from)
    }

    /// Enters the units from a position on in the wheel. Gives where they end.
    fn replay(
        &mut self,
        from: i64,
        read_slot: Millis,
        known: &Known,
        report: &mut TimerRecovery,
    ) -> io::Result<i64> {
        let TimerFiles { log, wheel, precision_ms, .. } = self;
        let end = log.scan(from, |at, unit| {
            if unit.phy_offset >= known.commit_log_end.0 {
                return Ok(false);
            }
            if unit.slot(*precision_ms) >= read_slot {
                enter(wheel, at, unit, *precision_ms)?;
            }
            Ok(true)
        })?;
        let mut block = Block::default();
        let mut at = end;
        while report.last.is_none() && at > log.first() {
            at = log.align(at - 1);
            report.last = log.unit(at, &mut block)?.map(|unit| PhyOffset(unit.phy_offset));
        }
        Ok(end)
    }

    /// Makes the slots that name units behind the log's end name those before it.
    fn shorten_chains(&mut self, read_slot: Millis) -> io::Result<u64> {
        let mut dropped = 0;
        let end = self.log.end();
        for slot in self.wheel.waiting(read_slot)? {
            if slot.last < end {
                continue;
            }
            // The links of what is cut are gone with it: the last unit that is left is found among those of the log.
            let time = Millis(slot.number * self.precision_ms);
            dropped += 1;
            match self.last_of(time, slot.first)? {
                Some((last, count)) => self.wheel.put(&Slot { last, count, ..slot })?,
                None => self.wheel.blank(time)?,
            }
        }
        Ok(dropped)
    }

    /// The last unit of a slot, and how many messages its units are.
    fn last_of(&self, slot: Millis, first: i64) -> io::Result<Option<(i64, i32)>> {
        if first < self.log.first() || first >= self.log.end() {
            return Ok(None);
        }
        let mut found = None;
        let mut count = 0_i32;
        self.log.scan(first, |at, unit| {
            if unit.slot(self.precision_ms) == slot {
                count = count.saturating_add(unit.entry(self.precision_ms).weight());
                found = Some(at);
            }
            Ok(true)
        })?;
        Ok(found.map(|last| (last, count)))
    }

    fn count_waiting(
        &self,
        waiting: &[Slot],
        read_slot: Millis,
        known: &Known,
        report: &mut TimerRecovery,
    ) -> io::Result<()> {
        let Some(first) = waiting.iter().map(|slot| slot.first).min() else { return Ok(()) };
        let from = self.log.align(first.clamp(self.log.first(), self.log.end()));
        self.log.scan(from, |_, unit| {
            let entry = unit.entry(self.precision_ms);
            // What takes others back counts until its slot is over.
            let counts = if entry.recalls {
                entry.slot >= read_slot
            } else {
                (entry.due, entry.phy_offset) >= known.read
            };
            if counts {
                *report.counts.entry(entry.topic_hash).or_default() += i64::from(entry.weight());
            }
            Ok(true)
        })?;
        Ok(())
    }
}

/// Enters a unit that the slot doesn't know yet.
fn enter(wheel: &mut Wheel, at: i64, unit: &Unit, precision_ms: i64) -> io::Result<()> {
    let time = unit.slot(precision_ms);
    let mut slot = wheel.slot(time)?;
    if at > slot.last {
        if slot.first == NO_UNIT {
            slot.first = at;
        }
        slot.last = at;
        slot.count = slot.count.saturating_add(unit.entry(precision_ms).weight());
        wheel.put(&slot)?;
    }
    wheel.occupy(time);
    Ok(())
}
