//! The read path: from a queue's entries to the bytes of its records.

use crate::by_position::{is_gone, record_bytes};
use crate::commit_log::block_reader::BlockReader;
use crate::commit_log::blocks::BLOCK_BYTES;
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
            for (index, record) in wanted.iter().enumerate() {
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
            self.out.reserve(bytes.min(self.limits.bytes_max).min(TRUSTED_BYTES_MAX));
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
        let (count, bytes) = self.taken();
        count > 0 && (count >= self.limits.count_max || bytes + record.bytes > self.limits.bytes_max)
    }

    /// Takes the first record, at once from memory, else together with its neighbours. Gives the offset to ask for
    /// again if the disk would have to be waited for.
    fn take(&mut self, tail: &mut TailReader<'_>, wanted: &[Wanted]) -> io::Result<Option<i64>> {
        let Some(&Wanted { offset, at, bytes }) = wanted.first() else { return Ok(None) };
        if self.looks_into_records {
            self.looked_into += bytes;
        }
        if let Some(record) = tail.get(at, bytes) {
            if self.looks_into_records && !sift::passes(self.filter, record) {
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
            if self.take_from_blocks(wanted) {
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

    /// Takes the first record from the blocks that it lies in; false if it is still to be read, as one is that is
    /// followed by the next.
    fn take_from_blocks(&mut self, wanted: &[Wanted]) -> bool {
        let [record, others @ ..] = wanted else { return false };
        let (at, bytes) = (record.at, record.bytes);
        let is_followed = others.first().is_some_and(|next| next.at == record.end());
        if is_followed && self.blocks.held(at, bytes).is_none() {
            return false;
        }
        let left = self.limits.count_max.saturating_sub(self.count);
        let start = self.out.len();
        if !self.blocks.copy(at, bytes, |at| 1 + count_near(at, others, left), self.out) {
            return false;
        }
        let record = &self.out[start..];
        if !is_record_at(record, at) {
            self.out.truncate(start);
            return false;
        }
        if self.looks_into_records && !sift::passes(self.filter, record) {
            self.out.truncate(start);
        } else {
            self.count += 1;
        }
        true
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

    /// Reads the records that wait for it; mostly there are none.
    #[inline]
    fn flush_run(&mut self) -> io::Result<Option<i64>> {
        self.run.take().map_or(Ok(None), |run| self.read_run(run))
    }

    /// Reads these records. Those that are gone are left out.
    fn read_run(&mut self, run: Run) -> io::Result<Option<i64>> {
        let start = self.out.len();
        self.out.resize(start + run.bytes, 0);
        let bytes = &mut self.out[start..];
        let result = self.core.log.read_files(bytes, run.at, self.mode);
        match result {
            Ok(()) if are_records(bytes, run) => {
                self.count += if self.looks_into_records {
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

/// How many of the first so many of these records are in the block of a position.
fn count_near(at: i64, records: &[Wanted], max: usize) -> usize {
    let near = |record: &&Wanted| record.at / BLOCK_BYTES == at / BLOCK_BYTES;
    records.iter().take(max).take_while(near).count()
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
