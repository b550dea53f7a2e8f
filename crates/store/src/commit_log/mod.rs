//! The commit log: all records of all queues in one sequence of bytes, in the Java server's files.
//!
//! It knows records as bytes with a length; what is in them is placed and patched by the append path above it.
//! `docs/formats/commit-log.md` has the picture of the files.

pub(crate) mod ahead;
pub(crate) mod block_reader;
pub(crate) mod blocks;
pub(crate) mod flush;
pub(crate) mod segments;
pub(crate) mod tail;
pub(crate) mod waiters;
pub(crate) mod watermarks;
pub(crate) mod writer;

use crate::append::AppendError;
use crate::files::ReadMode;
use crate::options::{FlushMode, StoreOptions};
use crate::signal::Signal;
use ahead::Ahead;
use blocks::Blocks;
use bytes::Bytes;
use flush::Flusher;
use parking_lot::{Mutex, MutexGuard};
use segments::Segments;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use tail::Tail;
use waiters::{Acknowledge, Waiters};
use watermarks::Watermarks;
use writer::{Parts, Writer};

pub(crate) struct CommitLog {
    pub segments: Segments,
    pub marks: Watermarks,
    pub tail: Tail,
    pub blocks: Blocks,
    pub ahead: Ahead,
    pub waiters: Waiters,
    /// Wakes the flushing thread.
    pub flush_signal: Signal,
    flusher: Flusher,
    writer: Mutex<Writer>,
    mode: FlushMode,
}

/// The log's lock, for as long as a burst is placed and written.
pub(crate) struct Appending<'a> {
    log: &'a CommitLog,
    writer: MutexGuard<'a, Writer>,
}

impl CommitLog {
    /// The log that goes on at `end`, which recovery has found.
    pub fn open(
        segments: Segments,
        end: i64,
        confirmed: Arc<AtomicI64>,
        options: &StoreOptions,
    ) -> io::Result<CommitLog> {
        let flusher = Flusher::new(segments.file_bytes());
        let writer = Writer::open(&segments, &flusher, end)?;
        let fill = options.flush == FlushMode::Sync;
        Ok(CommitLog {
            marks: Watermarks::new(end, confirmed, options.flush),
            tail: Tail::new(options.tail_bytes_max),
            blocks: Blocks::default(),
            ahead: Ahead::new(options.allocate_ahead_bytes, segments.file_bytes(), fill, end),
            waiters: Waiters::new(options.sync_flush_timeout),
            flush_signal: Signal::default(),
            flusher,
            writer: Mutex::new(writer),
            mode: options.flush,
            segments,
        })
    }

    pub fn mode(&self) -> FlushMode {
        self.mode
    }

    /// Takes the log's lock, unless the log has failed.
    pub fn appending(&self) -> Result<Appending<'_>, AppendError> {
        let writer = self.writer.lock();
        if let Some(failure) = self.flusher.failure() {
            let source = io::Error::other(failure.to_string());
            return Err(AppendError::Io { path: self.segments.dir().to_path_buf(), source });
        }
        Ok(Appending { log: self, writer })
    }

    /// Makes everything before `target` durable, and lets go of who waited for it.
    pub fn sync(&self, target: i64) -> io::Result<()> {
        let result = self.flusher.sync(&self.marks, target);
        if let Err(error) = &result {
            self.waiters.fail_all(&error.to_string());
        }
        self.waiters.release(self.marks.flushed());
        result
    }

    /// The life of the thread that takes space ahead.
    pub fn run_ahead(&self) {
        self.ahead.run(&self.segments, &self.marks, &self.flusher);
        // If a sync failed here, the flushing thread tells those who wait for the disk.
        self.flush_signal.raise();
    }

    /// Keeps an acknowledgement until everything before `end` is durable.
    pub fn when_durable(&self, end: i64, then: Acknowledge) {
        if self.marks.flushed() >= end {
            return then(Ok(()));
        }
        self.waiters.add(end, then);
        // Whatever happened before it was added is looked at now, so that nobody waits for what has been.
        if let Some(failure) = self.flusher.sync_failure() {
            self.waiters.fail_all(failure);
        }
        self.waiters.release(self.marks.flushed());
        self.flush_signal.raise();
    }

    /// Reads from the files. An error of kind `NotFound` if the bytes are gone, `WouldBlock` if the mode says so.
    pub fn read_files(&self, bytes: &mut [u8], at: i64, mode: ReadMode) -> io::Result<()> {
        let (start, file) = self.segments.reader(at)?;
        file.read_exact_at(bytes, (at - start) as u64, mode)
    }

    /// Fills `bytes` from wherever they are.
    pub fn read(&self, bytes: &mut [u8], at: i64) -> io::Result<()> {
        if let Some(found) = self.tail.reader().get(at, bytes.len()) {
            bytes.copy_from_slice(found);
            return Ok(());
        }
        self.read_files(bytes, at, ReadMode::Blocking)
    }
}

impl Appending<'_> {
    /// Where records of these lengths will lie if they are written next.
    pub fn place(&self, lengths: impl Iterator<Item = usize>, placed: impl FnMut(i64)) -> Parts {
        self.writer.place(&self.log.segments, lengths, placed)
    }

    /// Writes the burst that lies in these parts, and moves the position behind it.
    pub fn write(&mut self, burst: &[u8], parts: &Parts) -> Result<(), AppendError> {
        let log = self.log;
        self.writer.write(&log.segments, &log.flusher, &log.ahead, burst, parts)
    }

    /// Keeps what was written in memory for readers; `room` is what its buffer holds unused. Nobody sees it before
    /// it is published.
    pub fn keep(&self, burst: Bytes, room: usize, parts: &Parts) {
        for part in parts.iter().filter(|part| !part.bytes.is_empty()) {
            self.log.tail.push(part.at, burst.slice(part.bytes.clone()), room);
        }
    }

    /// To be called when the records are in their queues: readers may see them, with synchronous flush once the
    /// disk has them.
    pub fn publish(&self) {
        self.log.marks.advance_appended(self.writer.position());
    }

    /// Makes all of the log durable with the lock held. Those who wait for it are let go by the next [`CommitLog::sync`].
    pub fn sync(&self) -> io::Result<()> {
        self.log.flusher.sync(&self.log.marks, self.writer.position())
    }

    pub fn position(&self) -> i64 {
        self.writer.position()
    }
}
