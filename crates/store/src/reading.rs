//! The read path: from a queue's entries to the bytes of its records. This part goes through the entries and knows when
//! enough is taken; [`take`] gets the records from wherever they are.

mod take;

use crate::commit_log::block_reader::BlockReader;
use crate::core::Core;
use crate::files::ReadMode;
use crate::position::QueueOffset;
use crate::queue::{ConsumeQueue, QueueEntry};
use crate::read::{ReadFilter, ReadLimits, ReadResult, ReadStatus};
use std::io;
use take::Run;

/// Entries looked at in one go.
const ENTRIES_MAX: usize = 64;
/// What a filter looks into at most before the reader is told to go on from there.
const LOOKED_INTO_BYTES_MAX: usize = 4 << 20;

/// A read in progress.
struct Reading<'a> {
    core: &'a Core,
    mode: ReadMode,
    limits: ReadLimits,
    filter: &'a dyn ReadFilter,
    /// Whether the filter is to be asked about records, not only about entries.
    looks_into_records: bool,
    /// Bytes of the records that the filter looked into, or will once they are read.
    looked_into: usize,
    out: &'a mut Vec<u8>,
    out_start: usize,
    count: usize,
    /// Adjacent records in files, not yet read.
    run: Option<Run>,
    /// For records that lie alone among those of other queues.
    blocks: BlockReader<'a>,
    /// A record was gone from the log.
    removed: bool,
}

/// A record that the filter lets through by its entry.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    offset: i64,
    at: i64,
    bytes: usize,
}

impl Wanted {
    fn end(&self) -> i64 {
        self.at.saturating_add(self.bytes as i64)
    }
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
            looks_into_records: filter.looks_into_records(),
            looked_into: 0,
            out,
            out_start,
            count: 0,
            run: None,
            blocks: self.log.block_reader(mode),
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
        // Most readers want every message: then these are all that are needed.
        let mut entries_max = ENTRIES_MAX.min(self.limits.count_max).max(1);
        let mut entries = Vec::with_capacity(entries_max);
        let mut wanted = Vec::with_capacity(entries_max);
        let mut tail = self.core.log.tail.reader();
        let mut next = from;
        while next - from < self.limits.scan_max as i64 && self.looked_into < LOOKED_INTO_BYTES_MAX {
            if self.has_count() {
                if let Some(cold_at) = self.flush_run()? {
                    return Ok((cold_at, Some(Stop::Cold)));
                }
                if self.has_count() {
                    return Ok((next, Some(Stop::Full)));
                }
            }
            entries.clear();
            let max = entries_max.min(self.limits.scan_max - (next - from) as usize);
            match queue.read(QueueOffset(next), max, &mut entries, self.mode) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.end(next, Some(Stop::Cold));
                }
                Err(error) => return Err(error),
            }
            self.pick(&entries, next, &mut wanted);
            let mut index = 0;
            loop {
                index += self.take_held(&wanted[index..]);
                let Some(record) = wanted.get(index) else { break };
                if self.is_full(record) {
                    // What waits to be read may not all be wanted, and so leave room.
                    if self.looks_into_records
                        && let Some(cold_at) = self.flush_run()?
                    {
                        return Ok((cold_at, Some(Stop::Cold)));
                    }
                    if self.is_full(record) {
                        return self.end(record.offset, Some(Stop::Full));
                    }
                }
                if let Some(cold_at) = self.take(&mut tail, &wanted[index..])? {
                    return Ok((cold_at, Some(Stop::Cold)));
                }
                index += 1;
            }
            next += entries.len() as i64;
            entries_max = ENTRIES_MAX;
        }
        self.end(next, None)
    }

    /// Replaces `wanted` by the records that the filter lets through by these entries, the first of which has this
    /// offset, and makes room for what of them will be taken, so that the buffer needn't grow step by step.
    fn pick(&mut self, entries: &[QueueEntry], offset: i64, wanted: &mut Vec<Wanted>) {
        wanted.clear();
        let records = entries.iter().zip(offset..).filter(|(entry, _)| is_record(entry));
        let picked = records.filter(|(entry, _)| self.filter.may_match(entry.tags_code));
        wanted.extend(picked.map(|(entry, offset)| Wanted {
            offset,
            at: entry.phy_offset.0,
            bytes: entry.bytes as usize,
        }));
        if !self.looks_into_records {
            let bytes: usize = wanted.iter().take(self.limits.count_max).map(|record| record.bytes).sum();
            self.out.reserve(bytes.min(self.limits.bytes_max).min(take::TRUSTED_BYTES_MAX));
        }
    }

    fn end(&mut self, next: i64, stop: Option<Stop>) -> io::Result<(i64, Option<Stop>)> {
        match self.flush_run()? {
            Some(cold_at) => Ok((cold_at, Some(Stop::Cold))),
            None => Ok((next, stop)),
        }
    }

    /// Records and bytes, with those that wait to be read.
    fn taken(&self) -> (usize, usize) {
        let (count, bytes) = (self.count, self.out.len() - self.out_start);
        self.run.map_or((count, bytes), |run| (count + run.records, bytes + run.bytes))
    }

    fn has_count(&self) -> bool {
        self.taken().0 >= self.limits.count_max.max(1)
    }

    fn is_full(&self, record: &Wanted) -> bool {
        are_full(self.limits, self.taken(), record)
    }
}

/// Whether a record is one too many besides so many records and bytes. The first never is.
fn are_full(limits: ReadLimits, (count, bytes): (usize, usize), record: &Wanted) -> bool {
    count > 0 && (count >= limits.count_max || bytes + record.bytes > limits.bytes_max)
}

/// Filler entries stand for records that the log had lost before the queue was built, and point nowhere.
fn is_record(entry: &QueueEntry) -> bool {
    entry.is_valid() && !entry.is_filler()
}
