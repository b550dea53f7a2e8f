//! Getting a record: from the log's tail in memory, from a block that is kept, or from the files together with those that
//! follow it. Only bytes that are a record and know where they lie are handed out.

use super::{Reading, Wanted, are_full};
use crate::by_position::{is_gone, record_bytes};
use crate::commit_log::blocks::BLOCK_BYTES;
use crate::commit_log::tail::TailReader;
use crate::sift;
use roxmq_protocol::record::offset;
use std::io;

/// Records above it must say themselves how long they are before a buffer is made for them.
pub(super) const TRUSTED_BYTES_MAX: usize = 1 << 20;

/// Records that lie one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    at: i64,
    pub(super) bytes: usize,
    pub(super) records: usize,
    /// The queue offset of the first.
    first: i64,
}

impl Reading<'_> {
    /// Takes the first record, at once from memory, else together with its neighbours. Gives the offset to ask for
    /// again if the disk would have to be waited for.
    pub(super) fn take(&mut self, tail: &mut TailReader<'_>, wanted: &[Wanted]) -> io::Result<Option<i64>> {
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

    /// Takes the first records as long as they lie in the block of the one before, as most do, and says how many are done
    /// with.
    pub(super) fn take_held(&mut self, records: &[Wanted]) -> usize {
        let Reading { run: None, limits, out, count, blocks, .. } = self else { return 0 };
        for (done, record) in records.iter().enumerate() {
            let taken = (*count, out.len() - self.out_start);
            match blocks.held(record.at, record.bytes) {
                Some(bytes) if !are_full(*limits, taken, record) && is_record_at(bytes, record.at) => {
                    if self.looks_into_records {
                        self.looked_into += bytes.len();
                    }
                    if !self.looks_into_records || sift::passes(self.filter, bytes) {
                        out.extend_from_slice(bytes);
                        *count += 1;
                    }
                    blocks.took(record.bytes);
                }
                _ => return done,
            }
        }
        records.len()
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
    pub(super) fn flush_run(&mut self) -> io::Result<Option<i64>> {
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
