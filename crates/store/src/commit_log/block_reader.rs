//! Reads records that lie alone among those of other queues, out of blocks.

use super::CommitLog;
use super::blocks::{BLOCK_BYTES, Block, Lookup};
use crate::files::ReadMode;
use bytes::{Bytes, BytesMut};

/// What lies in the block of the read before is found without a lock.
pub(crate) struct BlockReader<'a> {
    log: &'a CommitLog,
    mode: ReadMode,
    last: Option<Block>,
    /// Bytes taken out of that one.
    taken: usize,
}

impl CommitLog {
    pub fn block_reader(&self, mode: ReadMode) -> BlockReader<'_> {
        BlockReader { log: self, mode, last: None, taken: 0 }
    }

    /// The block around a position: if it is kept, or is worth keeping and can be had as the mode wants.
    fn block(&self, at: i64, records: impl FnOnce() -> usize, mode: ReadMode) -> Option<Block> {
        let number = at / BLOCK_BYTES;
        let bytes = match self.look_up(number, records) {
            Lookup::Loading => self.block_of_two_readers(number, mode)?,
            found => self.take_block(number, found, mode)?,
        };
        Some(Block { start: number * BLOCK_BYTES, bytes })
    }

    /// Somebody reads the block just now, and so goes the same way at the same time. To read it as well, or to wait
    /// for it, would cost as much as to read the next one meanwhile, which both want next.
    fn block_of_two_readers(&self, number: i64, mode: ReadMode) -> Option<Bytes> {
        let next = self.look_up(number + 1, || usize::MAX);
        self.take_block(number + 1, next, mode);
        match self.look_up(number, || usize::MAX) {
            Lookup::Loading => self.load_block(number, self.blocks.memory(), mode),
            found => self.take_block(number, found, mode),
        }
    }

    fn look_up(&self, number: i64, records: impl FnOnce() -> usize) -> Lookup {
        let start = number * BLOCK_BYTES;
        if start < self.segments.first() || start + BLOCK_BYTES > self.marks.confirmed() {
            return Lookup::Unknown;
        }
        self.blocks.look_up(number, records)
    }

    /// What was found, or is wanted and can be had.
    fn take_block(&self, number: i64, found: Lookup, mode: ReadMode) -> Option<Bytes> {
        match found {
            Lookup::Kept(bytes) => Some(bytes),
            Lookup::Wanted(memory) => {
                let bytes = self.load_block(number, memory, mode);
                match &bytes {
                    Some(bytes) => self.blocks.keep(number, bytes.clone()),
                    None => self.blocks.give_up(number),
                }
                bytes
            }
            Lookup::Loading | Lookup::Unknown => None,
        }
    }

    /// None if the block doesn't lie in one file, or can't be read: the read of a record itself will say why.
    fn load_block(&self, number: i64, mut memory: BytesMut, mode: ReadMode) -> Option<Bytes> {
        let at = number * BLOCK_BYTES;
        let (start, file) = self.segments.reader(at).ok()?;
        if at + BLOCK_BYTES > start + self.segments.file_bytes() {
            return None;
        }
        file.read_exact_at(&mut memory, (at - start) as u64, mode).ok()?;
        Some(memory.freeze())
    }
}

impl BlockReader<'_> {
    /// The bytes, if the block of the read before has all of them. [`took`](Self::took) is to be told if they were
    /// wanted.
    pub fn held(&self, at: i64, len: usize) -> Option<&[u8]> {
        self.last.as_ref()?.from(at)?.get(..len)
    }

    /// Somebody is done with bytes of [`held`](Self::held).
    pub fn took(&mut self, len: usize) {
        self.taken += len;
    }

    /// Appends these bytes to `out`, unless a block that they lie in is neither kept nor worth it. `records` says how
    /// many records the caller wants of those that begin or go on in the block of a position.
    pub fn copy(&mut self, at: i64, len: usize, records: impl Fn(i64) -> usize, out: &mut Vec<u8>) -> bool {
        // What is larger is worth a read of its own.
        if len > BLOCK_BYTES as usize {
            return false;
        }
        let before = out.len();
        let (mut at, mut rest) = (at, len);
        while rest > 0 {
            let Some(bytes) = self.from(at, || records(at)) else {
                out.truncate(before);
                return false;
            };
            let part = bytes.len().min(rest);
            out.extend_from_slice(&bytes[..part]);
            self.taken += part;
            (at, rest) = (at + part as i64, rest - part);
        }
        true
    }

    fn from(&mut self, at: i64, records: impl FnOnce() -> usize) -> Option<&[u8]> {
        if self.last.as_ref().is_none_or(|block| block.from(at).is_none()) {
            // Who comes from the block before may end soon in this one, but then goes on there with the next read.
            let goes_on = self.last.as_ref().is_some_and(|block| block.is_followed_by(at));
            self.leave();
            self.last = self.log.block(at, || if goes_on { usize::MAX } else { records() }, self.mode);
        }
        self.last.as_ref()?.from(at)
    }

    fn leave(&mut self) {
        // It holds the block's memory no longer when it says so.
        if let Some(start) = self.last.take().map(|block| block.start) {
            self.log.blocks.took(start / BLOCK_BYTES, std::mem::take(&mut self.taken));
        }
    }
}

impl Drop for BlockReader<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit_log::segments::Segments;
    use crate::files::OsFiles;
    use crate::options::StoreOptions;
    use std::sync::Arc;
    use std::sync::atomic::AtomicI64;

    /// The first file ends in the middle of a block, and the log in the middle of another.
    const FILE_BYTES: i64 = 3 * BLOCK_BYTES + BLOCK_BYTES / 2;
    const END: i64 = 6 * BLOCK_BYTES + 100;

    fn byte_at(at: i64) -> u8 {
        (at % 251) as u8
    }

    fn fill(segments: &Segments, byte: impl Fn(i64) -> u8) {
        for start in [0, FILE_BYTES] {
            let bytes: Vec<u8> = (start..END.min(start + FILE_BYTES)).map(&byte).collect();
            segments.writer(start).unwrap().write_all_at(&[&bytes], 0).unwrap();
        }
    }

    fn log(dir: &tempfile::TempDir) -> CommitLog {
        let segments = Segments::load(Arc::new(OsFiles), dir.path(), FILE_BYTES as u64, "key").unwrap();
        fill(&segments, byte_at);
        let options = StoreOptions::new(dir.path().to_path_buf());
        CommitLog::open(segments, END, Arc::new(AtomicI64::new(0)), &options).unwrap()
    }

    /// Copies for somebody who wants so many records of each block; none if it can't be had.
    fn copy(
        reader: &mut BlockReader<'_>,
        at: i64,
        len: i64,
        records: impl Fn(i64) -> usize,
    ) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        let copied = reader.copy(at, len as usize, records, &mut out);
        assert_eq!(out[..6], *b"before");
        assert!(copied || out.len() == 6, "something was left");
        copied.then(|| out.split_off(6))
    }

    const MANY: fn(i64) -> usize = |_| 100;

    #[test]
    fn bytes_come_from_one_block_or_from_two() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let check = |at: i64, len: i64, expected: bool| {
            let found = copy(&mut log.block_reader(ReadMode::Cached), at, len, MANY);
            let bytes = || (at..at + len).map(byte_at).collect::<Vec<u8>>();
            assert_eq!(found, expected.then(bytes), "{len} bytes at {at}");
        };
        check(0, 10, true);
        check(BLOCK_BYTES - 10, 10, true);
        check(BLOCK_BYTES - 10, 11, true);
        check(BLOCK_BYTES - 1, BLOCK_BYTES, true);
        check(BLOCK_BYTES, BLOCK_BYTES + 1, false);
        // A block that lies in two files is none.
        check(3 * BLOCK_BYTES - 10, 10, true);
        check(3 * BLOCK_BYTES - 10, 11, false);
        check(4 * BLOCK_BYTES - 10, 20, false);
        // The last one isn't full.
        check(6 * BLOCK_BYTES - 10, 10, true);
        check(6 * BLOCK_BYTES - 10, 20, false);
        check(END + BLOCK_BYTES, 10, false);
    }

    #[test]
    fn a_block_is_read_again_once_all_of_it_was_taken() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let half = BLOCK_BYTES / 2;
        let mut reader = log.block_reader(ReadMode::Cached);
        assert!(copy(&mut reader, 0, half, MANY).is_some());
        assert!(reader.held(half, 10).is_some());
        reader.took(half as usize);
        fill(&log.segments, |_| 0);
        // It still holds what it took all of.
        assert_eq!(copy(&mut reader, 5, 10, MANY), Some((5..15).map(byte_at).collect()));
        drop(reader);
        assert_eq!(copy(&mut log.block_reader(ReadMode::Cached), 5, 10, MANY), Some(vec![0; 10]));
    }

    #[test]
    fn who_wants_little_is_served_from_where_others_or_itself_have_been() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let check = |reader: &mut BlockReader<'_>, at: i64, expected: bool| {
            assert_eq!(copy(reader, at, 20, |_| 1).is_some(), expected, "{at}");
        };
        let mut reader = log.block_reader(ReadMode::Cached);
        check(&mut reader, 100, false);
        assert!(copy(&mut log.block_reader(ReadMode::Cached), 100, 20, MANY).is_some());
        check(&mut reader, 100, true);
        check(&mut reader, 2 * BLOCK_BYTES, false);
        check(&mut reader, 100, true);
        check(&mut reader, BLOCK_BYTES - 10, true);
        check(&mut reader, 2 * BLOCK_BYTES + 10, true);
    }

    #[test]
    fn two_readers_at_one_place_read_a_block_each() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let bytes = |at: i64| Some((at..at + 10).map(byte_at).collect::<Vec<u8>>());
        let mut reader = log.block_reader(ReadMode::Cached);
        assert!(matches!(log.look_up(0, || 100), Lookup::Wanted(_)));
        assert_eq!(copy(&mut reader, 5, 10, |_| 1), bytes(5));
        // The other one is still about to read the first, and finds the second read.
        assert!(matches!(log.look_up(0, || 1), Lookup::Loading));
        assert!(matches!(log.look_up(1, || 1), Lookup::Kept(_)));
        fill(&log.segments, |_| 0);
        assert_eq!(copy(&mut reader, BLOCK_BYTES + 5, 10, |_| 1), bytes(BLOCK_BYTES + 5));
        // At the end of the whole blocks, and before one that lies in two files, there is no next one to read.
        for last in [2, 5] {
            assert!(matches!(log.look_up(last, || 100), Lookup::Wanted(_)));
            assert!(copy(&mut log.block_reader(ReadMode::Cached), last * BLOCK_BYTES, 10, |_| 1).is_some());
        }
    }

    #[test]
    fn a_block_in_use_outlives_the_table_and_a_removed_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let mut reader = log.block_reader(ReadMode::Cached);
        assert!(copy(&mut reader, 5, 10, MANY).is_some() && reader.held(5, 10).is_some());
        assert!(reader.held(BLOCK_BYTES - 5, 10).is_none());
        for number in 1_000..2_000 {
            log.blocks.look_up(number, || 1);
        }
        fill(&log.segments, |_| 0);
        assert_eq!(copy(&mut reader, 5, 10, MANY), Some((5..15).map(byte_at).collect()));
        log.segments.remove_first().unwrap();
        assert_eq!(copy(&mut log.block_reader(ReadMode::Blocking), 5, 10, MANY), None);
        assert!(copy(&mut log.block_reader(ReadMode::Blocking), 4 * BLOCK_BYTES, 10, MANY).is_some());
    }
}
