//! Brings log, queues and index into agreement before the store opens: after a clean stop, after a crash, and when
//! the Java server wrote the store. The log decides; the others are derived from it.
//!
//! The log is read from the last position known to be dispatched, each record is checked, and what queues and index
//! lack is entered. The first record that isn't whole ends the log: what lies behind it is cleared, so that it can't
//! come back as records when new ones have grown up to it.

mod replay;
pub(crate) mod scan;
mod start;
mod torn;

use crate::checkpoint::Checkpoint;
use crate::commit_log::segments::Segments;
use crate::core::LastRecord;
use crate::index::KeyIndex;
use crate::open::{OpenError, RecoveryReport};
use crate::options::StoreOptions;
use crate::position::PhyOffset;
use crate::queue::QueueTable;
use replay::Replay;
use scan::{End, Scan, Step};
use start::{FirstRecord, Known, Start};
use std::io;

/// What is recovered, and from what.
pub(crate) struct Recovery<'a> {
    pub segments: &'a Segments,
    pub queues: &'a QueueTable,
    pub index: Option<&'a KeyIndex>,
    pub checkpoint: Checkpoint,
    /// The last stop was a crash.
    pub crashed: bool,
    pub options: &'a StoreOptions,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// Where the log goes on.
    pub end: i64,
    pub last: LastRecord,
    pub report: RecoveryReport,
}

impl Recovery<'_> {
    pub fn run(&self) -> Result<Recovered, OpenError> {
        let start = self.start();
        let queues_before = self.queues.topics().len();
        if self.crashed {
            // Entries behind are replayed: after a loss of power a file may end in anything.
            self.queues_done(self.queues.truncate(PhyOffset(start.whole_until)))?;
        }
        let mut replay = Replay::new(self.queues, self.index, &self.options.delay_levels_ms);
        let (from, end) = self.scan(start.scan_from, &mut replay)?;
        let last = replay.last();
        let redispatched = replay.finish().map_err(|error| self.failed("consumequeue", error))?;
        self.cut(&end).map_err(|error| self.log_failed(error))?;
        self.queues_done(self.queues.truncate(PhyOffset(end.at)))?;
        self.queues_done(self.queues.trim(PhyOffset(self.segments.first())))?;
        if let Some(index) = self.index {
            index.truncate(PhyOffset(end.at)).map_err(|error| self.failed("index", error))?;
        }
        if self.crashed || end.damage.is_some() {
            self.sync(from, end.at).map_err(|error| self.log_failed(error))?;
        }
        let report = RecoveryReport {
            crashed: self.crashed,
            scanned_bytes: (end.at - from).max(0) as u64,
            redispatched,
            cut: end.damage.map(|damage| (PhyOffset(end.at), damage)),
            rebuilt_queues: self.count_rebuilt(queues_before),
        };
        Ok(Recovered { end: end.at, last, report })
    }

    fn start(&self) -> Start {
        let (first, end) = (self.segments.first(), self.segments.end());
        let file_starts: Vec<i64> = (first..end).step_by(self.segments.file_bytes() as usize).collect();
        let incomplete = self.queues.incomplete().iter().map(|queue| queue.from.0).min();
        // Without any queue there is nothing that could say what is missing.
        let incomplete = if self.queues.topics().is_empty() { Some(first) } else { incomplete };
        let known = Known {
            crashed: self.crashed,
            checkpoint: self.checkpoint,
            log: (first, end),
            file_starts: &file_starts,
            queues_end: self.queues.max_phy_offset().0,
            queues_incomplete: incomplete,
            index_end: self.index.map(|index| index.end().0),
        };
        start::find(&known, &mut |start| self.first_record(start))
    }

    fn count_rebuilt(&self, topics_before: usize) -> u64 {
        if topics_before > 0 {
            return self.queues.incomplete().len() as u64;
        }
        self.queues.topics().iter().map(|topic| self.queues.queues(topic).len() as u64).sum()
    }

    /// The first record of a file. What can't be read isn't there: reading it again will say why.
    fn first_record(&self, start: i64) -> Option<FirstRecord> {
        let mut scan = Scan::of_one(self.segments, start);
        match scan.step() {
            Ok(Step::Record(record)) => {
                Some(FirstRecord { phy_offset: record.phy_offset, store_time: record.store_timestamp })
            }
            _ => None,
        }
    }

    /// Reads the log from a position on; gives where that was in the end, and where the log ends.
    fn scan(&self, from: i64, replay: &mut Replay<'_>) -> Result<(i64, End), OpenError> {
        let file_start = self.segments.start_of(from);
        let mut from = from;
        loop {
            let mut scan = Scan::new(self.segments, from);
            let end = self.scan_to_end(&mut scan, replay)?;
            // Nothing at all where a record should start: the position was wrong, not the log.
            let nothing = end.at == from;
            if nothing && from > file_start && end.at < self.segments.end() {
                tracing::warn!(
                    position = from,
                    "no record where the checkpoint has one; reading the whole file"
                );
                from = file_start;
                continue;
            }
            return Ok((from, end));
        }
    }

    fn scan_to_end(&self, scan: &mut Scan<'_>, replay: &mut Replay<'_>) -> Result<End, OpenError> {
        loop {
            match scan.step().map_err(|error| self.log_failed(error))? {
                Step::Record(record) => {
                    replay.take(&record).map_err(|error| self.failed("consumequeue", error))?;
                }
                Step::End(end) => return Ok(end),
            }
        }
    }

    /// Removes what lies behind the end of the log.
    fn cut(&self, end: &End) -> io::Result<()> {
        if let Some(damage) = &end.damage {
            tracing::warn!(position = end.at, damage, path = %self.segments.path(self.segments.start_of(end.at)).display(),
                "the commit log ends in a damaged record and is cut there");
        }
        let file_start = self.segments.start_of(end.at);
        let file_end = file_start + self.segments.file_bytes();
        self.segments.remove_from(file_end)?;
        if end.at < self.segments.end() && (self.crashed || end.damage.is_some()) {
            let file = self.segments.writer(file_start)?;
            file.clear((end.at - file_start) as u64, (file_end - end.at) as u64)?;
        }
        Ok(())
    }

    /// What a crashed process wrote may be in memory only.
    fn sync(&self, from: i64, to: i64) -> io::Result<()> {
        let mut start = self.segments.start_of(from);
        while start <= to && start < self.segments.end() {
            self.segments.writer(start)?.sync()?;
            start += self.segments.file_bytes();
        }
        Ok(())
    }

    fn queues_done(&self, result: io::Result<()>) -> Result<(), OpenError> {
        result.map_err(|error| self.failed("consumequeue", error))
    }

    fn log_failed(&self, source: io::Error) -> OpenError {
        OpenError::Io { path: self.segments.dir().to_path_buf(), source }
    }

    fn failed(&self, dir: &str, source: io::Error) -> OpenError {
        OpenError::Io { path: self.options.root.join(dir), source }
    }
}
