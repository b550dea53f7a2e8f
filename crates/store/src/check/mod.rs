//! Looks through a store that nobody has open and says what it finds. Changes nothing.
//!
//! The log is read as recovery reads it; queues and index are then held against it. What the next start will put
//! back by itself after a crash is counted but is no problem.

mod index;
mod queues;

use crate::checkpoint::Checkpoint;
use crate::commit_log::segments::{self, Found, Segments};
use crate::dispatch::{Tombstone, queue_entry};
use crate::files::FileSystem;
use crate::options::StoreOptions;
use crate::position::PhyOffset;
use crate::recovery::scan::{Scan, Step};
use queues::Queues;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Problems that are kept with their text; the others are counted.
const PROBLEMS_MAX: usize = 100;
/// Bytes of the log between two reports of progress.
const PROGRESS_BYTES: i64 = 16 << 20;

/// What was looked at and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The file `abort` is there: the last stop was a crash, or a server has the store open.
    pub crashed: bool,
    pub log_files: usize,
    pub log_start: PhyOffset,
    pub log_end: PhyOffset,
    pub records: u64,
    pub queues: u64,
    /// Queue entries that are as the log says.
    pub entries: u64,
    pub index_files: u64,
    /// Index entries that lead to a record with that key.
    pub keys: u64,
    /// Records whose queue entry the next start will write again.
    pub to_rebuild: u64,
    /// Records of topics without any queue, mostly of topics that the Java server deleted.
    pub without_queue: u64,
    pub problems: Vec<Problem>,
    /// Problems besides those listed.
    pub more_problems: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    /// The byte of the file.
    pub at: u64,
    pub text: String,
}

impl CheckReport {
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, path: &Path, at: u64, text: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { path: path.to_path_buf(), at, text });
        } else {
            self.more_problems += 1;
        }
    }
}

/// Checks the store. Sizes of log and queue files are taken from the files; those of index files from the options.
/// `progress` is told how many bytes of the log are done, and of how many.
pub fn check(
    files: Arc<dyn FileSystem>,
    options: &StoreOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<CheckReport> {
    let mut report = CheckReport::default();
    let names = files.list(&options.root)?;
    report.crashed = names.iter().any(|entry| entry.name == "abort");
    let checkpoint = Checkpoint::read(&*files, &options.root.join("checkpoint"))?;
    let found = segments::find(&*files, &options.commit_log_dir)?;
    report.log_files = found.len();
    let Some(segments) = inspect(&files, options, &found, &mut report) else { return Ok(report) };

    let mut queues = Queues::new(&*files, &options.root);
    check_log(&segments, options, &mut queues, &mut report, progress)?;
    queues.finish(&checkpoint, &mut report)?;
    check_checkpoint(&segments, &checkpoint, options, &mut report);
    if options.index_enabled {
        index::check(&*files, options, &segments, &mut report)?;
    }
    Ok(report)
}

/// The log's files as far as they follow each other without a gap and have one size; none if there is no log.
fn inspect(
    files: &Arc<dyn FileSystem>,
    options: &StoreOptions,
    found: &[Found],
    report: &mut CheckReport,
) -> Option<Segments> {
    let first = found.first()?;
    let mut end = first.start;
    for (at, file) in found.iter().enumerate() {
        let is_last = at + 1 == found.len();
        if file.bytes == 0 && is_last {
            continue;
        }
        if file.bytes != first.bytes {
            let text = format!("the file has {} bytes, the first one {}", file.bytes, first.bytes);
            report.add(&file.path, 0, text);
            break;
        }
        if file.start != end {
            report.add(&file.path, 0, format!("files are missing before it: the one before ends at {end}"));
            break;
        }
        end += file.bytes as i64;
    }
    (end > first.start)
        .then(|| Segments::inspect(files.clone(), &options.commit_log_dir, first.bytes, first.start, end))
}

fn check_log(
    segments: &Segments,
    options: &StoreOptions,
    queues: &mut Queues<'_>,
    report: &mut CheckReport,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<()> {
    let (first, total) = (segments.first(), (segments.end() - segments.first()) as u64);
    let mut scan = Scan::new(segments, first);
    let mut told = first;
    let end = loop {
        let record = match scan.step()? {
            Step::Record(record) => record,
            Step::End(end) => break end,
        };
        report.records += 1;
        if let Some(entry) = queue_entry(&record, &options.delay_levels_ms) {
            queues.take(&record, entry)?;
        }
        if let Some(tombstone) = Tombstone::read(&record) {
            queues.forget(tombstone.topic);
        }
        if record.phy_offset - told >= PROGRESS_BYTES {
            told = record.phy_offset;
            progress((told - first) as u64, total);
        }
    };
    (report.log_start, report.log_end) = (PhyOffset(first), PhyOffset(end.at));
    if let Some(damage) = end.damage {
        let start = segments.start_of(end.at);
        let text = format!("{damage}; the next start would cut the log here, at {}", end.at);
        report.add(&segments.path(start), (end.at - start) as u64, text);
    }
    progress(total, total);
    Ok(())
}

fn check_checkpoint(
    segments: &Segments,
    checkpoint: &Checkpoint,
    options: &StoreOptions,
    report: &mut CheckReport,
) {
    let dispatched = checkpoint.dispatched;
    let in_log = (report.log_start.0..report.log_end.0).contains(&dispatched);
    // An expired position is no problem: the log is then read from the start of a file.
    if dispatched <= report.log_start.0 {
        return;
    }
    if !in_log || !matches!(Scan::of_one(segments, dispatched).step(), Ok(Step::Record(_))) {
        let text = format!("no record lies at {dispatched}, the last one that was dispatched");
        report.add(&options.root.join("checkpoint"), 40, text);
    }
}
