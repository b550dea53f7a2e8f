//! The read path: from a queue's entries to the bytes of its records.

use crate::by_position::{is_gone, record_bytes};
use crate::commit_log::blocks::{BLOCK_BYTES, Block};
use crate::commit_log::tail::TailReader;
use crate::core::Core;
use crate::files::ReadMode;
use crate::position::QueueOffset;
use crate::queue::{ConsumeQueue, QueueEntry};
use crate::read::{ReadFilter, ReadLimits, ReadResult, ReadStatus};
use crate::sift;
use roxmq_protocol::record::offset;
use std::io;

/// Entries looked at in one go.
const ENTRIES_MAX: usize = 64;
/// Records above it must say themselves how long they are before a buffer is made for them.
const TRUSTED_BYTES_MAX: usize = 1 << 20;
/// What a filter looks into at most before the reader is told to go on from there.
const LOOKED_INTO_BYTES_MAX: usize = 4 << 20;

/// A read in progress.
struct Reading<'a> {
    core: &'a Core,
    mode: ReadMode,
    limits: ReadLimits,
    filter: &'a dyn ReadFilter,
    /// Bytes of the records that the filter looked into, or will once they are read.
    looked_into: usize,
    out: &'a mut Vec<u8>,
    out_start: usize,
    count: usize,
    /// Adjacent records in files, not yet read.
    run: Option<Run>,
    /// Where the last record was that lay alone among those of other queues.
    block: Option<Block>,
    /// A record was gone from the log.
    removed: bool,
}

/// Records that lie one behind the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: i64,
    bytes: usize,
    records: usize,
    /// The queue offset of the first.
    first: i64,
}

/// Why the scan of entries ends early.
enum Stop {
    Full,
    Cold,
}

impl Core {
    pub fn read(
        &self,
        queue: &ConsumeQueue,
        from: QueueOffset,
        limits: ReadLimits,
        filter: &dyn ReadFilter,
        mode: ReadMode,
        out: &mut Vec<u8>,
    ) -> io::Result<ReadResult> {
        let (min, max) = (queue.min_offset(), queue.max_offset());
        let result = |status, next_offset, count| ReadResult {
            status,
            next_offset: QueueOffset(next_offset),
            min_offset: min,
            max_offset: max,
            count,
        };
        if let Some((status, next)) = out_of_range(from.0, min.0, max.0) {
            return Ok(result(status, next, 0));
        }
        let out_start = out.len();
        let mut reading = Reading {
            core: self,
            mode,
            limits,
            filter,
            looked_into: 0,
            out,
            out_start,
            count: 0,
            run: None,
            block: None,
            removed: false,
        };
        let (next, stop) = reading.scan(queue, from.0)?;
        let count = reading.count;
        let status = match stop {
            _ if count > 0 => ReadStatus::Found,
            Some(Stop::Cold) => ReadStatus::Cold,
            _ if next == from.0 => ReadStatus::OffsetFoundNull,
            _ if reading.removed => ReadStatus::MessageWasRemoving,
            _ => ReadStatus::NoMatchedMessage,
        };
        // An offset whose entry can't be found must not be asked for for ever.
        let next = if status == ReadStatus::OffsetFoundNull { max.0.min(from.0 + 1) } else { next };
        Ok(result(status, next, count))
    }
}

/// The answer where no entry is looked at, and the corrected offset.
fn out_of_range(from: i64, min: i64, max: i64) -> Option<(ReadStatus, i64)> {
    if max == 0 {
        Some((ReadStatus::NoMessageInQueue, 0))
    } else if from < min {
        Some((ReadStatus::OffsetTooSmall, min))
    } else if from == max {
        Some((ReadStatus::OffsetOverflowOne, from))
    } else if from > max {
        Some((ReadStatus::OffsetOverflowBadly, max))
    } else {
        None
    }
}

impl Reading<'_> {
    /// Looks at entries until something is full; gives the offset behind the last one that is done with.
    fn scan(&mut self, queue: &ConsumeQueue, from: i64) -> io::Result<(i64, Option<Stop>)> {
        let mut entries = Vec::with_capacity(ENTRIES_MAX.min(self.limits.scan_max));
        let mut tail = self.core.log.tail.reader();
        let mut next = from;
        while next - from < self.limits.scan_max as i64 && self.looked_into < LOOKED_INTO_BYTES_MAX {
            entries.clear();
            let max = ENTRIES_MAX.min(self.limits.scan_max - (next - from) as usize);
            match queue.read(QueueOffset(next), max, &mut entries, self.mode) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.end(next, Some(Stop::Cold));
                }
                Err(error) => return Err(error),
            }
            self.make_room(&entries);
            for (index, entry) in entries.iter().enumerate() {
                if self.filter.may_match(entry.tags_code) && is_record(entry) {
                    if self.is_full(entry) {
                        // What waits to be read may not all be wanted, and so leave room.
                        if self.looks_into_records()
                            && let Some(cold_at) = self.flush_run()?
                        {
                            return Ok((cold_at, Some(Stop::Cold)));
                        }
                        if self.is_full(entry) {
                            return self.end(next, Some(Stop::Full));
                        }
                    }
                    if let Some(cold_at) = self.take(&mut tail, &entries[index..], next)? {
                        return Ok((cold_at, Some(Stop::Cold)));
                    }
                }
                next += 1;
            }
        }
        self.end(next, None)
    }

    /// For what of these entries will be taken, so that the buffer needn't grow step by step.
    fn make_room(&mut self, entries: &[QueueEntry]) {
        if !self.looks_into_records() {
            let wanted =
                entries.iter().filter(|entry| self.filter.may_match(entry.tags_code) && is_record(entry));
            let bytes: usize = wanted.take(self.limits.count_max).map(|entry| entry.bytes as usize).sum();
            self.out.reserve(bytes.min(self.limits.bytes_max).min(TRUSTED_BYTES_MAX));
        }
    }

    fn end(&mut self, next: i64, stop: Option<Stop>) -> io::Result<(i64, Option<Stop>)> {
        match self.flush_run()? {
            Some(cold_at) => Ok((cold_at, Some(Stop::Cold))),
            None => Ok((next, stop)),
        }
    }

    fn looks_into_records(&self) -> bool {
        self.filter.looks_into_records()
    }

    fn is_full(&self, entry: &QueueEntry) -> bool {
        let (count, bytes) = match self.run {
            Some(run) => (self.count + run.records, self.out.len() - self.out_start + run.bytes),
            None => (self.count, self.out.len() - self.out_start),
        };
        count > 0 && (count >= self.limits.count_max || bytes + entry.bytes as usize > self.limits.bytes_max)
    }

    /// Takes the record of the first entry, at once from memory, else together with its neighbours. Gives the offset
    /// to ask for again if the disk would have to be waited for.
    fn take(
        &mut self,
        tail: &mut TailReader<'_>,
        entries: &[QueueEntry],
        offset: i64,
    ) -> io::Result<Option<i64>> {
        let Some(entry) = entries.first() else { return Ok(None) };
        let (at, bytes) = (entry.phy_offset.0, entry.bytes as usize);
        if self.looks_into_records() {
            self.looked_into += bytes;
        }
        if let Some(record) = tail.get(at, bytes) {
            if self.looks_into_records() && !sift::passes(self.filter, record) {
                return Ok(None);
            }
            if let Some(cold_at) = self.flush_run()? {
                return Ok(Some(cold_at));
            }
            self.out.extend_from_slice(record);
            self.count += 1;
            return Ok(None);
        }
        if let Some(run) = &mut self.run
            && run.at + run.bytes as i64 == at
        {
            run.bytes += bytes;
            run.records += 1;
            return Ok(None);
        }
        let cold_at = self.flush_run()?;
        if cold_at.is_none() {
            if self.take_from_block(entries) {
                return Ok(None);
            }
            if bytes > TRUSTED_BYTES_MAX {
                match self.says_length(at, bytes) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.removed = true;
                        return Ok(None);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(offset)),
                    Err(error) => return Err(error),
                }
            }
            self.run = Some(Run { at, bytes, records: 1, first: offset });
        }
        Ok(cold_at)
    }

    /// Takes the record of the first entry from its block, unless the next one follows it or the block is worth
    /// nothing; false if it is still to be read.
    fn take_from_block(&mut self, entries: &[QueueEntry]) -> bool {
        let [entry, others @ ..] = entries else { return false };
        if others.first().is_some_and(|next| next.phy_offset == entry.end()) {
            return false;
        }
        let (at, bytes) = (entry.phy_offset.0, entry.bytes as usize);
        if self.block.as_ref().is_none_or(|block| block.get(at, bytes).is_none()) {
            self.block = self.core.log.block(at, 1 + self.wanted_near(at, others), self.mode);
        }
        let found = self.block.as_ref().and_then(|block| block.get(at, bytes));
        let Some(record) = found.filter(|record| is_record_at(record, at)) else { return false };
        if !self.looks_into_records() || sift::passes(self.filter, record) {
            self.out.extend_from_slice(record);
            self.count += 1;
        }
        true
    }

    /// How many of these records, as far as they will be taken, are in the block of a position.
    fn wanted_near(&self, at: i64, entries: &[QueueEntry]) -> usize {
        let near = |entry: &&QueueEntry| entry.phy_offset.0 / BLOCK_BYTES == at / BLOCK_BYTES;
        let wanted = entries.iter().take_while(near).filter(|entry| self.filter.may_match(entry.tags_code));
        wanted.take(self.limits.count_max.saturating_sub(self.count)).count()
    }

    /// Whether a record of this length lies there.
    fn says_length(&self, at: i64, bytes: usize) -> io::Result<bool> {
        let mut head = [0; offset::SYS_FLAG];
        match self.core.log.read_files(&mut head, at, self.mode) {
            Ok(()) => Ok(record_bytes(&head, at) == Some(bytes)),
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the records that wait for it. Those that are gone are left out.
    fn flush_run(&mut self) -> io::Result<Option<i64>> {
        let Some(run) = self.run.take() else { return Ok(None) };
        let start = self.out.len();
        self.out.resize(start + run.bytes, 0);
        let bytes = &mut self.out[start..];
        let result = self.core.log.read_files(bytes, run.at, self.mode);
        match result {
            Ok(()) if are_records(bytes, run) => {
                self.count += if self.looks_into_records() {
                    sift::sift(self.filter, self.out, start)
                } else {
                    run.records
                };
                Ok(None)
            }
            Ok(()) => {
                tracing::warn!(
                    position = run.at,
                    bytes = run.bytes,
                    "a queue's entry doesn't point to a record"
                );
                self.leave_out(start)
            }
            Err(error) if is_gone(&error) => self.leave_out(start),
            Err(error) => {
                self.out.truncate(start);
                if error.kind() == io::ErrorKind::WouldBlock { Ok(Some(run.first)) } else { Err(error) }
            }
        }
    }

    fn leave_out(&mut self, start: usize) -> io::Result<Option<i64>> {
        self.out.truncate(start);
        self.removed = true;
        Ok(None)
    }
}

/// Filler entries stand for records that the log had lost before the queue was built, and point nowhere.
fn is_record(entry: &QueueEntry) -> bool {
    entry.is_valid() && !entry.is_filler()
}

/// Whether the bytes are records that know where they lie: an entry out of place must not hand out rubbish.
fn are_records(bytes: &[u8], run: Run) -> bool {
    let mut at = 0;
    for _ in 0..run.records {
        let Some(size) = record_bytes(&bytes[at..], run.at + at as i64) else { return false };
        at += size;
        if at > bytes.len() {
            return false;
        }
    }
    at == bytes.len()
}

/// Whether the bytes are one record that knows it lies there.
fn is_record_at(bytes: &[u8], at: i64) -> bool {
    record_bytes(bytes, at) == Some(bytes.len())
}
