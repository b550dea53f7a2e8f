//! The files of `timerlog/`: a unit for each message that waits, in the order of the timer queue.
//!
//! A unit is never changed but for the link to the one before it in its slot, see [`relink`](TimerLog::relink).

use super::unit::{FILLER_BYTES, Found, PREVIOUS_AT, UNIT_BYTES, Unit, filler};
use crate::commit_log::segments::Segments;
use crate::files::{File, FileSystem, ReadMode};
use crate::open::OpenError;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

const FILE_BYTES_KEY: &str = "mappedFileSizeTimerLog";
/// Units are small and those of a slot often lie near each other: so much is read at once.
const BLOCK_BYTES: usize = 8 << 10;
const SCAN_BYTES: usize = 5_000 * UNIT_BYTES;

#[derive(Debug)]
pub(super) struct TimerLog {
    segments: Segments,
    /// One past the last unit, written or not.
    end: i64,
    /// Units that are not in the file yet; the first goes to `end - buffer.len()`.
    buffer: Vec<u8>,
    writer: Option<(i64, Arc<dyn File>)>,
    /// Files with units that may not be on the disk.
    unsynced: BTreeSet<i64>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Block {
    start: i64,
    bytes: Vec<u8>,
}

impl TimerLog {
    /// Where the units end is for [`scan`](Self::scan) to find out.
    pub fn load(files: Arc<dyn FileSystem>, dir: &Path, file_bytes: u64) -> Result<TimerLog, OpenError> {
        let segments = Segments::load(files, dir, file_bytes, FILE_BYTES_KEY)?;
        let end = segments.end();
        Ok(TimerLog { segments, end, buffer: Vec::new(), writer: None, unsynced: BTreeSet::new() })
    }

    pub fn first(&self) -> i64 {
        self.segments.first()
    }

    pub fn end(&self) -> i64 {
        self.end
    }

    pub fn file_bytes(&self) -> i64 {
        self.segments.file_bytes()
    }

    /// The place of a unit at or before the position, in the same file.
    pub fn align(&self, position: i64) -> i64 {
        let start = self.segments.start_of(position);
        start + (position - start) / UNIT_BYTES as i64 * UNIT_BYTES as i64
    }

    /// Puts a unit behind the last one and gives its position. It is in the file after the next
    /// [`write`](Self::write).
    pub fn push(&mut self, unit: &Unit) -> io::Result<i64> {
        let start = self.segments.start_of(self.end);
        let rest = start + self.file_bytes() - self.end;
        // A position at the end of a file already is the start of the next one.
        if rest < (UNIT_BYTES + FILLER_BYTES) as i64 && self.end > start {
            self.write()?;
            let file = self.writer(start)?;
            file.write_all_at(&[&filler(rest)], (self.end - start) as u64)?;
            self.unsynced.insert(start);
            self.end = start + self.file_bytes();
        }
        let at = self.end;
        self.buffer.extend_from_slice(&unit.encode());
        self.end += UNIT_BYTES as i64;
        Ok(at)
    }

    /// Brings the units to the file. After a failure they are kept for the next attempt.
    pub fn write(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let at = self.end - self.buffer.len() as i64;
        let start = self.segments.start_of(at);
        let file = self.writer(start)?;
        file.write_all_at(&[&self.buffer], (at - start) as u64)?;
        self.unsynced.insert(start);
        self.buffer.clear();
        Ok(())
    }

    fn writer(&mut self, start: i64) -> io::Result<Arc<dyn File>> {
        if let Some((open, file)) = &self.writer
            && *open == start
        {
            return Ok(Arc::clone(file));
        }
        let file = self.segments.writer(start)?;
        self.writer = Some((start, Arc::clone(&file)));
        Ok(file)
    }

    /// Makes all units durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.write()?;
        while let Some(start) = self.unsynced.first().copied() {
            if start >= self.segments.first() {
                self.segments.writer(start)?.sync()?;
            }
            self.unsynced.remove(&start);
        }
        Ok(())
    }

    /// The unit at a position, if there is one.
    pub fn unit(&self, at: i64, block: &mut Block) -> io::Result<Option<Unit>> {
        let unwritten = self.end - self.buffer.len() as i64;
        let end = at.saturating_add(UNIT_BYTES as i64);
        if at < self.first() || end > self.end || end > self.segments.start_of(at) + self.file_bytes() {
            return Ok(None);
        }
        let bytes = if at >= unwritten {
            self.buffer.get((at - unwritten) as usize..)
        } else {
            self.fill(at, block)?;
            usize::try_from(at - block.start).ok().and_then(|at| block.bytes.get(at..))
        };
        let unit = bytes.and_then(|bytes| bytes.first_chunk()).map(Unit::decode);
        Ok(unit.and_then(|found| if let Found::Unit(unit) = found { Some(unit) } else { None }))
    }

    /// Makes the block one that holds the unit at a position, with what lies before it: chains lead backwards.
    fn fill(&self, at: i64, block: &mut Block) -> io::Result<()> {
        let end = at + UNIT_BYTES as i64;
        if block.start <= at && end <= block.start + block.bytes.len() as i64 {
            return Ok(());
        }
        let (file_start, file) = self.segments.reader(at)?;
        block.start = file_start.max(end - BLOCK_BYTES as i64);
        block.bytes.resize((end - block.start) as usize, 0);
        let read =
            file.read_exact_at(&mut block.bytes, (block.start - file_start) as u64, ReadMode::Blocking);
        if read.is_err() {
            block.bytes.clear();
        }
        read
    }

    /// Shows every unit from a position on until there is none, or until `visit` says no; gives where that is.
    pub fn scan(&self, from: i64, mut visit: impl FnMut(i64, &Unit) -> io::Result<bool>) -> io::Result<i64> {
        let mut at = from;
        let mut bytes = Vec::new();
        while at < self.segments.end() {
            let (start, file) = self.segments.reader(at)?;
            let file_end = start + self.file_bytes();
            let part = (file_end - at).min(SCAN_BYTES as i64) as usize;
            bytes.resize(part, 0);
            file.read_exact_at(&mut bytes, (at - start) as u64, ReadMode::Blocking)?;
            for bytes in bytes.as_chunks::<UNIT_BYTES>().0 {
                match Unit::decode(bytes) {
                    Found::Unit(unit) if visit(at, &unit)? => at += UNIT_BYTES as i64,
                    Found::Unit(_) | Found::Nothing => return Ok(at),
                    Found::Filler => {
                        at = file_end;
                        break;
                    }
                }
            }
            // The rest of a file may be too short for a unit.
            if at < file_end && file_end - at < UNIT_BYTES as i64 {
                at = file_end;
            }
        }
        Ok(at)
    }

    /// Ends the log here: nothing that lay behind can come back.
    pub fn truncate(&mut self, at: i64) -> io::Result<()> {
        let start = self.segments.start_of(at);
        let file_end = start + self.file_bytes();
        self.segments.remove_from(if at == start { at } else { file_end })?;
        if at < self.segments.end() {
            self.writer(start)?.clear((at - start) as u64, (file_end - at) as u64)?;
            self.unsynced.insert(start);
        }
        self.writer = None;
        self.buffer.clear();
        self.end = at;
        Ok(())
    }

    /// What lies behind a position was written by a process that may not have synced it.
    pub fn doubt(&mut self, from: i64) {
        let mut start = self.segments.start_of(from);
        while start < self.segments.end() {
            self.unsynced.insert(start);
            start += self.file_bytes();
        }
    }

    /// Lets the chain of a slot lead from one unit to another one, past those between them.
    pub fn relink(&mut self, at: i64, previous: i64) -> io::Result<()> {
        self.write()?;
        let start = self.segments.start_of(at);
        let file = self.segments.writer(start)?;
        self.unsynced.insert(start);
        file.write_all_at(&[&previous.to_be_bytes()], (at - start) as u64 + PREVIOUS_AT)
    }

    /// Removes the files whose messages the commit log no longer has, as their last units tell. The file that is
    /// written to stays.
    pub fn remove_before(&mut self, phy_offset: i64) -> io::Result<()> {
        let file_bytes = self.file_bytes();
        let units = (file_bytes - FILLER_BYTES as i64) / UNIT_BYTES as i64;
        let mut block = Block::default();
        while units > 0 && self.first() + file_bytes < self.end {
            let last = self.first() + (units - 1) * UNIT_BYTES as i64;
            match self.unit(last, &mut block)? {
                Some(unit) if unit.phy_offset >= phy_offset => break,
                _ => self.segments.remove_first()?,
            }
        }
        Ok(())
    }
}
