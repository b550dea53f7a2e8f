//! Reads the log from a position on, record by record, up to the first that isn't whole.

use crate::commit_log::segments::Segments;
use crate::files::{File, ReadMode};
use crate::recovery::torn::lacks_sector;
use roxmq_protocol::record::{RECORD_FIXED_BYTES, Record, RecordHead, offset};
use std::io;
use std::sync::Arc;

/// Read from the disk at once.
const CHUNK_BYTES: usize = 4 << 20;
/// Read at once where one record is wanted.
const ONE_BYTES: usize = 4 << 10;

pub(crate) struct Scan<'a> {
    segments: &'a Segments,
    at: i64,
    /// The file of the window, and where it starts.
    file: Option<(i64, Arc<dyn File>)>,
    /// What is in memory, from `window_start` on.
    window: Vec<u8>,
    window_start: i64,
    chunk_bytes: usize,
}

pub(crate) enum Step<'a> {
    Record(Record<'a>),
    End(End),
}

/// Where the log ends, and what is wrong there unless nothing was written behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub at: i64,
    pub damage: Option<String>,
}

impl<'a> Scan<'a> {
    pub fn new(segments: &'a Segments, from: i64) -> Self {
        Scan {
            segments,
            at: from,
            file: None,
            window: Vec::new(),
            window_start: from,
            chunk_bytes: CHUNK_BYTES,
        }
    }

    /// For one record only: reads little more than it.
    pub fn of_one(segments: &'a Segments, at: i64) -> Self {
        Scan { chunk_bytes: ONE_BYTES, ..Scan::new(segments, at) }
    }

    pub fn step(&mut self) -> io::Result<Step<'_>> {
        match self.head()? {
            Ok(total_size) => self.record(total_size),
            Err(damage) => Ok(Step::End(End { at: self.at, damage })),
        }
    }

    /// Goes on to the next record and gives its size, or says why there is none.
    fn head(&mut self) -> io::Result<Result<usize, Option<String>>> {
        loop {
            if self.at >= self.segments.end() {
                return Ok(Err(None));
            }
            let file_end = self.segments.start_of(self.at) + self.segments.file_bytes();
            let left = (file_end - self.at) as usize;
            self.load(left.min(RECORD_FIXED_BYTES))?;
            match RecordHead::read(self.window_at()) {
                Some(RecordHead::Filler { .. }) | None => self.at = file_end,
                Some(RecordHead::Record { total_size }) if total_size <= left => return Ok(Ok(total_size)),
                Some(RecordHead::Record { total_size }) => {
                    let text = format!("a record of {total_size} bytes with {left} left in its file");
                    return Ok(Err(Some(text)));
                }
                Some(RecordHead::Other { total_size: 0, magic: 0 }) => return Ok(Err(None)),
                Some(RecordHead::Other { total_size, magic }) => {
                    let text = format!("no record: size {total_size}, magic code {magic:#010X}");
                    return Ok(Err(Some(text)));
                }
            }
        }
    }

    fn record(&mut self, total_size: usize) -> io::Result<Step<'_>> {
        let at = self.at;
        // The position is checked before so many bytes are read: garbage doesn't know where it lies.
        let mut says = [0; 8];
        says.copy_from_slice(&self.window_at()[offset::PHY_OFFSET..][..8]);
        let says = i64::from_be_bytes(says);
        if says != at {
            let damage = Some(format!("the record says it lies at {says}"));
            return Ok(Step::End(End { at, damage }));
        }
        self.load(total_size)?;
        let from = (at - self.window_start) as usize;
        let bytes = &self.window[from..from + total_size];
        let at_in_file = (at - self.segments.start_of(at)) as usize;
        match Record::decode(bytes).and_then(|record| record.verify_crc().map(|()| record)) {
            Ok(record) if lacks_sector(&record, at_in_file) => {
                let damage = Some("a sector of the topic or the properties was never written".to_owned());
                Ok(Step::End(End { at, damage }))
            }
            Ok(record) => {
                self.at += total_size as i64;
                Ok(Step::Record(record))
            }
            Err(error) => Ok(Step::End(End { at, damage: Some(error.to_string()) })),
        }
    }

    fn window_at(&self) -> &[u8] {
        &self.window[(self.at - self.window_start) as usize..]
    }

    /// Makes sure that so many bytes at the position, all of one file, are in the window.
    fn load(&mut self, bytes: usize) -> io::Result<()> {
        let window_end = self.window_start + self.window.len() as i64;
        if self.at >= self.window_start && self.at + bytes as i64 <= window_end {
            return Ok(());
        }
        let start = self.segments.start_of(self.at);
        if self.file.as_ref().is_none_or(|(open, _)| *open != start) {
            self.file = Some(self.segments.reader(self.at)?);
            self.window.clear();
            self.window_start = self.at;
        }
        let skipped = (self.at - self.window_start).min(self.window.len() as i64) as usize;
        self.window.drain(..skipped);
        self.window_start = self.at;
        let have = self.window.len();
        let left = (start + self.segments.file_bytes() - self.at) as usize;
        self.window.resize(bytes.max(self.chunk_bytes).min(left), 0);
        let Some((_, file)) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let from = (self.at - start) as u64 + have as u64;
        file.read_exact_at(&mut self.window[have..], from, ReadMode::Blocking)
    }
}
