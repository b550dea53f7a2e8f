//! Timer messages that wait: the wheel of moments and the log of their units, in the Java server's files.
//!
//! Both are derived from the timer queue of the log, and say which message waits for which moment. What a message asks
//! for, when it is delivered and what becomes of it then is the broker's. `docs/formats/timer.md` has the picture.
//!
//! What always holds: a slot in the wheel's file never names a unit that isn't on the disk; a unit is written once, and
//! units are in the order of the timer queue. So a start reads the wheel, enters the units behind the last checkpoint
//! again, and knows which message of the queue comes next.

mod checkpoint;
mod log;
mod occupied;
mod recovery;
mod slot;
mod unit;
mod wheel;

pub use checkpoint::{AS_THE_LOG_SAYS, CHECKPOINT_BYTES, OwnCheckpoint, TimerCheckpoint, checkpoint_path};
pub use recovery::{Known, TimerRecovery};
pub use slot::{slot_at, slot_before};
pub use wheel::WHEEL_SLOTS;

use crate::files::FileSystem;
use crate::open::OpenError;
use crate::position::{Millis, PhyOffset};
use log::{Block, TimerLog};
use slot::{NO_UNIT, Slot};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use unit::Unit;
use wheel::Wheel;

/// How many slots ahead a message may wait at most, so that it never shares a place with one that is late.
pub const SLOTS_AHEAD_MAX: i64 = WHEEL_SLOTS as i64 / 2 - 60;

#[derive(Clone, Debug)]
pub struct TimerOptions {
    /// `storePathRootDir`
    pub root: PathBuf,
    /// `mappedFileSizeTimerLog`
    pub log_file_bytes: u64,
    /// `timerPrecisionMs`
    pub precision_ms: i64,
    /// [`WHEEL_SLOTS`], as the Java server has it.
    pub wheel_slots: u32,
}

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerEntry {
    /// The moment whose slot it waits in.
    pub slot: Millis,
    /// When it is due: within the slot or at its end.
    pub due: Millis,
    /// When it was entered.
    pub written: Millis,
    pub phy_offset: PhyOffset,
    pub record_bytes: i32,
    /// Of the topic that it is meant for.
    pub topic_hash: i32,
    /// It is to be stored anew then, as its time is further ahead than the wheel reaches.
    pub rolls: bool,
    /// It takes another message of its slot back.
    pub recalls: bool,
}

impl TimerEntry {
    /// What it adds to the count of its slot and topic.
    pub fn weight(&self) -> i32 {
        if self.recalls { -1 } else { 1 }
    }
}

#[derive(Debug)]
pub struct TimerFiles {
    log: TimerLog,
    wheel: Wheel,
    precision_ms: i64,
    /// A sync failed: what the disk has of the files is not known any more.
    failed: bool,
}

impl TimerFiles {
    /// Opens or makes the files, and brings them into agreement with each other and with the commit log.
    pub fn open(
        files: Arc<dyn FileSystem>,
        options: &TimerOptions,
        known: &Known,
    ) -> Result<(TimerFiles, TimerRecovery), OpenError> {
        recovery::open(files, options, known)
    }

    /// Enters a message. `waits` says whether it is to be found again; one that is delivered already is entered only
    /// so that the log tells how far the queue was read.
    pub fn add(&mut self, entry: &TimerEntry, waits: bool) -> io::Result<()> {
        let mut slot = if waits || self.wheel.conflict(entry.slot)?.is_none() {
            self.wheel.slot(entry.slot)?
        } else {
            // Its place is another moment's by now.
            return Ok(());
        };
        let at = self.log.push(&Unit::of(entry, self.precision_ms, slot.last))?;
        if slot.first == NO_UNIT {
            slot.first = at;
        }
        slot.last = at;
        if waits {
            slot.count = slot.count.saturating_add(entry.weight());
            self.wheel.occupy(entry.slot);
        }
        self.wheel.put(&slot)
    }

    /// Another moment whose messages must be delivered before one waits in this slot.
    pub fn conflict(&self, slot: Millis) -> io::Result<Option<Millis>> {
        self.wheel.conflict(slot)
    }

    /// The first slot from a moment on in which messages wait.
    pub fn next_slot(&self, from: Millis) -> Option<Millis> {
        self.wheel.next(from)
    }

    /// How many messages wait in a slot.
    pub fn waiting_in(&self, slot: Millis) -> io::Result<i32> {
        Ok(self.wheel.slot(slot)?.count)
    }

    /// The messages of a slot, the newest first. Those whose log file is gone are not among them.
    pub fn entries(&self, slot: Millis) -> io::Result<Vec<TimerEntry>> {
        let mut entries = Vec::new();
        self.chain(&self.wheel.slot(slot)?, |_, unit| {
            let entry = unit.entry(self.precision_ms);
            if entry.slot == slot {
                entries.push(entry);
            }
        })?;
        Ok(entries)
    }

    /// Follows the units of a slot from the last to the first. Each lies before the one that leads to it.
    fn chain(&self, slot: &Slot, mut visit: impl FnMut(i64, &Unit)) -> io::Result<()> {
        let mut block = Block::default();
        let mut at = slot.last;
        while at != NO_UNIT {
            let Some(unit) = self.log.unit(at, &mut block)? else { break };
            visit(at, &unit);
            if unit.previous >= at {
                break;
            }
            at = unit.previous;
        }
        Ok(())
    }

    /// Everything in this slot is done with.
    pub fn close_slot(&mut self, slot: Millis) {
        self.wheel.clear(slot);
    }

    /// Leaves in a slot only what `stays` says, for a server that takes the files over in the middle of the slot and
    /// delivers all of it. Whoever is stopped meanwhile leaves a chain that holds at least these.
    pub fn keep_only(&mut self, slot: Millis, stays: impl Fn(&TimerEntry) -> bool) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut weight = 0_i32;
        let found = self.wheel.slot(slot)?;
        self.chain(&found, |at, unit| {
            let entry = unit.entry(self.precision_ms);
            if entry.slot == slot && stays(&entry) {
                kept.push(at);
                weight = weight.saturating_add(entry.weight());
            }
        })?;
        let (Some(&last), Some(&first)) = (kept.first(), kept.last()) else {
            return self.wheel.blank(slot);
        };
        self.log.relink(first, NO_UNIT)?;
        for pair in kept.windows(2).rev() {
            self.log.relink(pair[0], pair[1])?;
        }
        self.wheel.put(&Slot { first, last, count: weight, ..found })
    }

    /// Whether so much has changed in memory that it should be flushed.
    pub fn is_crowded(&self) -> bool {
        self.wheel.is_crowded()
    }

    /// Brings new units to the log's file, where a start finds them unless the power fails.
    pub fn write(&mut self) -> io::Result<()> {
        self.log.write()
    }

    /// Makes log and wheel durable, in this order, and gives the end of the log. Once that has failed it always fails:
    /// the next start makes anew what may be missing.
    pub fn flush(&mut self) -> io::Result<i64> {
        if self.failed {
            return Err(io::Error::other(
                "an earlier sync of the timer files failed; a restart makes them anew",
            ));
        }
        let end = self.log.end();
        self.log.write()?;
        self.log.sync().inspect_err(|_| self.failed = true)?;
        self.wheel.write()?;
        self.wheel.sync().inspect_err(|_| self.failed = true)?;
        Ok(end)
    }

    /// Removes the log files whose messages are gone from the commit log.
    pub fn remove_before(&mut self, phy_offset: PhyOffset) -> io::Result<()> {
        self.log.remove_before(phy_offset.0)
    }
}
