//! Takes disk blocks ahead of the write position and makes the next file before it is needed, on a thread of its
//! own, so that appends neither wait for that nor find the disk full half-way.
//!
//! With synchronous flush the blocks are also filled with zeros: an `fdatasync` that only overwrites needs no commit
//! of the file system's journal, which was worth 30 to 45 % more commits a second on ext4.

use super::flush::Flusher;
use super::segments::Segments;
use super::watermarks::Watermarks;
use crate::files::File;
use crate::signal::Signal;
use parking_lot::Mutex;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Bytes that are zeroed before the next look at where the appends are.
const ZERO_STEP_BYTES: i64 = 1 << 20;
/// How long a failure (mostly a full disk) is left alone before the next attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Ahead {
    bytes: i64,
    fill: bool,
    pub signal: Signal,
    /// Up to where there is nothing to do any more. Appends beyond half of what is ahead raise the signal.
    done: AtomicI64,
    /// Nobody writes zeros below it. Held while zeros are written.
    claimed: Mutex<i64>,
    /// `claimed`, to be read without the lock.
    claimed_until: AtomicI64,
}

impl Ahead {
    /// Files may be smaller than what is to be ahead: no more than the next one is made.
    pub fn new(bytes: u64, file_bytes: i64, fill: bool, position: i64) -> Self {
        Ahead {
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX).min(file_bytes),
            fill,
            signal: Signal::default(),
            done: AtomicI64::new(position),
            claimed: Mutex::new(position),
            claimed_until: AtomicI64::new(position),
        }
    }

    /// Called before bytes up to `end` are written: keeps the zeros off them, and wakes the thread in time.
    pub fn claim(&self, end: i64) {
        if self.fill && end > self.claimed_until.load(Ordering::Acquire) {
            let mut claimed = self.claimed.lock();
            *claimed = end.max(*claimed);
            self.claimed_until.store(*claimed, Ordering::Release);
        }
        if end + self.bytes / 2 > self.done.load(Ordering::Relaxed) {
            self.signal.raise();
        }
    }

    /// Blocks behind the position were given back.
    pub fn restart(&self, position: i64) {
        self.done.fetch_min(position, Ordering::Relaxed);
    }

    /// The thread's life. It ends with a failed sync, as the log does.
    pub fn run(&self, segments: &Segments, marks: &Watermarks, flusher: &Flusher) {
        while flusher.sync_failure().is_none() && self.signal.wait() {
            if let Err(error) = self.step(segments, marks, flusher) {
                tracing::warn!(%error, dir = %segments.dir().display(), "taking space ahead for the commit log failed");
                if !self.signal.pause(RETRY_PAUSE) {
                    return;
                }
            }
        }
    }

    fn step(&self, segments: &Segments, marks: &Watermarks, flusher: &Flusher) -> io::Result<()> {
        let target = marks.appended() + self.bytes;
        let mut at = self.done.load(Ordering::Relaxed).max(marks.appended());
        while at < target && !self.signal.is_stopped() {
            let start = segments.start_of(at);
            let end = target.min(start + segments.file_bytes());
            self.prepare(
                &*segments.writer_telling(start, |error| flusher.fail_sync(error))?,
                flusher,
                start,
                at..end,
            )?;
            at = end;
            self.done.store(at, Ordering::Relaxed);
        }
        Ok(())
    }

    fn prepare(&self, file: &dyn File, flusher: &Flusher, start: i64, range: Range<i64>) -> io::Result<()> {
        match file.allocate((range.start - start) as u64, (range.end - range.start) as u64) {
            // Where blocks can't be taken ahead, a full disk is noticed by the write.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
            result => result?,
        }
        if !self.fill {
            return Ok(());
        }
        self.fill(file, start, range.end)?;
        // Records may lie in what was synced here, and their own sync would not fail for it again.
        file.sync().inspect_err(|error| flusher.fail_sync(error))
    }

    fn fill(&self, file: &dyn File, start: i64, to: i64) -> io::Result<()> {
        loop {
            {
                let mut claimed = self.claimed.lock();
                let from = start.max(*claimed);
                if from >= to {
                    break;
                }
                let until = to.min(from + ZERO_STEP_BYTES);
                crate::files::write_zeros(file, (from - start) as u64, (until - from) as u64)?;
                *claimed = until;
                self.claimed_until.store(until, Ordering::Release);
            }
            if self.signal.is_stopped() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ReadMode;

    /// A file whose syncs fail.
    #[derive(Debug)]
    struct Failing;

    impl File for Failing {
        fn read_exact_at(&self, _: &mut [u8], _: u64, _: ReadMode) -> io::Result<()> {
            Ok(())
        }

        fn write_all_at(&self, _: &[&[u8]], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Err(io::Error::other("gone"))
        }

        fn allocate(&self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn clear(&self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(4096)
        }
    }

    /// The kernel tells of a failed sync once: if this thread was told and went on, records were called durable that
    /// were lost.
    #[test]
    fn a_failed_sync_is_final_for_the_log() {
        let check = |fill, expected: Option<&str>| {
            let flusher = Flusher::new(4096);
            let result = Ahead::new(4096, 4096, fill, 0).prepare(&Failing, &flusher, 0, 0..4096);
            assert_eq!(result.is_err(), expected.is_some());
            assert_eq!((flusher.failure(), flusher.sync_failure()), (expected, expected));
        };
        check(true, Some("gone"));
        check(false, None);
    }
}
