//! Finding out what the files hold: for each queue where it begins and ends.
//!
//! A file ends at its first entry that is none, as for the Java server. Files behind a gap or behind such an end are
//! removed: the log puts their entries back.

use crate::files::{File, FileSystem, OpenMode, ReadMode};
use crate::open::OpenError;
use crate::position::{PhyOffset, QueueId};
use crate::queue::consume_queue::Extent;
use crate::queue::cut::first_where;
use crate::queue::entry::{ENTRY_BYTES, EntryBytes, QueueEntry};
use crate::queue::names;
use crate::queue::snapshot::{Held, Snapshot};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first read of a file: enough for a queue with little in its last file.
const FIRST_READ_ENTRIES: usize = 204;

/// More threads than this wait for the same disk.
const THREADS_MAX: usize = 8;

/// Fewer queues than this are not worth a thread.
const THREAD_QUEUES_MIN: usize = 256;

pub(super) struct Loader<'a> {
    pub(super) files: &'a dyn FileSystem,
    pub(super) root: &'a Path,
    pub(super) file_entries: i64,
    pub(super) snapshot: &'a Snapshot,
}

pub(super) struct Found {
    pub(super) topic: Arc<str>,
    pub(super) id: QueueId,
    pub(super) extent: Extent,
    /// Files between others are missing or cut.
    pub(super) gap: bool,
}

/// A queue file that is there, of the right size.
struct Part {
    path: PathBuf,
    first: i64,
}

impl Loader<'_> {
    pub(super) fn load(&self) -> Result<Vec<Found>, OpenError> {
        let topics: Vec<Arc<str>> =
            self.dirs(&self.root.join(names::DIR))?.into_iter().map(Arc::from).collect();
        let queues = in_parallel(&topics, |topic| {
            let dir = self.root.join(names::DIR).join(&**topic);
            let ids = self.dirs(&dir)?.into_iter().filter_map(|name| names::queue_id(&name));
            Ok(ids.map(|id| (Arc::clone(topic), id)).collect::<Vec<_>>())
        })?;
        let found = in_parallel(&queues.concat(), |(topic, id)| self.queue(topic, *id))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// What is there of a queue; none if its directory holds no file.
    fn queue(&self, topic: &Arc<str>, id: QueueId) -> Result<Option<Found>, OpenError> {
        let dir = self.root.join(names::DIR).join(&**topic).join(id.to_string());
        let held = self.snapshot.get(topic, id);
        let (mut parts, mut gap) = self.parts(&dir)?;
        gap |= self.close_gap(&mut parts, held)?;
        let Some(last) = self.last_part(&mut parts)? else {
            return Ok(None);
        };
        let extent = match parts.first() {
            Some(first) => self.extent(first, &last).map_err(|e| failed(&first.path, e))?,
            None => Extent::EMPTY,
        };
        Ok(Some(Found { topic: Arc::clone(topic), id, extent, gap }))
    }

    /// The files of a queue in order; and whether there are empty ones, which a crash leaves.
    fn parts(&self, dir: &Path) -> Result<(Vec<Part>, bool), OpenError> {
        let mut parts = Vec::new();
        let mut empty = None;
        let file_bytes = self.file_entries as u64 * ENTRY_BYTES as u64;
        for entry in self.files.list(dir).map_err(|e| failed(dir, e))? {
            let Some(start) = names::file_start(&entry.name).filter(|_| !entry.is_dir) else { continue };
            let first = (start / ENTRY_BYTES as u64) as i64;
            if entry.bytes == 0 {
                empty = Some(empty.map_or(first, |before: i64| before.min(first)));
            } else if entry.bytes != file_bytes || start % file_bytes != 0 {
                return Err(OpenError::FileSize {
                    path: entry.path,
                    found: entry.bytes,
                    expected: file_bytes,
                    key: "mappedFileSizeConsumeQueue",
                });
            }
            parts.push(Part { path: entry.path, first });
        }
        parts.sort_by_key(|part| part.first);
        if let Some(empty) = empty {
            let keep = parts.partition_point(|part| part.first < empty);
            self.remove(parts.drain(keep..))?;
        }
        Ok((parts, empty.is_some()))
    }

    /// Removes what is on the wrong side of a missing file, and says whether entries went with it.
    fn close_gap(&self, parts: &mut Vec<Part>, held: Option<Held>) -> Result<bool, OpenError> {
        let gap =
            |parts: &[Part]| parts.windows(2).position(|p| p[0].first + self.file_entries != p[1].first);
        while let Some(before) = gap(parts) {
            let behind = parts[before + 1].first;
            if held.is_some_and(|held| held.min >= behind) {
                // Left by a crash while expired files were removed.
                self.remove(parts.drain(..=before))?;
            } else {
                self.remove(parts.drain(before + 1..))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last file that has entries, read; files without any behind it are removed. The only file may be empty.
    fn last_part(&self, parts: &mut Vec<Part>) -> Result<Option<Tip>, OpenError> {
        while let Some(part) = parts.last() {
            let tip = Tip::read(self.files, part, self.file_entries).map_err(|e| failed(&part.path, e))?;
            if tip.entries > 0 || parts.len() == 1 {
                return Ok(Some(tip));
            }
            self.remove(parts.drain(parts.len() - 1..))?;
        }
        Ok(None)
    }

    fn extent(&self, first: &Part, last: &Tip) -> io::Result<Extent> {
        let next = last.first + last.entries;
        let last_end = if last.entries > 0 { last.entry(last.entries - 1)?.end() } else { PhyOffset(0) };
        let head = if first.first == last.first {
            None
        } else {
            Some(Tip::open(self.files, first, self.file_entries)?)
        };
        let head = head.as_ref().unwrap_or(last);
        let fillers = if head.entries > 0 && head.entry(0)?.is_filler() {
            first_where(0, head.entries, |at| Ok(!head.entry(at)?.is_filler()))?
        } else {
            0
        };
        let min = first.first + fillers;
        let first_phy = if min == next {
            PhyOffset(i64::MAX)
        } else if fillers < head.entries {
            head.entry(fillers)?.phy_offset
        } else {
            // In a file between the first and the last: looked up when old messages are removed.
            PhyOffset(0)
        };
        Ok(Extent { first_file: first.first, min, next, first_phy, last_end })
    }

    fn remove(&self, parts: impl DoubleEndedIterator<Item = Part>) -> Result<(), OpenError> {
        for part in parts.rev() {
            tracing::warn!(path = %part.path.display(), "consume queue file removed: it doesn't continue its queue");
            self.files.remove_file(&part.path).map_err(|e| failed(&part.path, e))?;
        }
        Ok(())
    }

    fn dirs(&self, dir: &Path) -> Result<Vec<String>, OpenError> {
        match self.files.list(dir) {
            Ok(entries) => Ok(entries.into_iter().filter(|e| e.is_dir).map(|e| e.name).collect()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(failed(dir, e)),
        }
    }
}

/// A file, how many entries it begins with, and the first of them.
struct Tip {
    file: Arc<dyn File>,
    first: i64,
    entries: i64,
    head: Vec<EntryBytes>,
}

impl Tip {
    /// A file that is taken to be full.
    fn open(files: &dyn FileSystem, part: &Part, file_entries: i64) -> io::Result<Tip> {
        let file = files.open(&part.path, OpenMode::Read)?;
        let mut head = vec![[0; ENTRY_BYTES]; FIRST_READ_ENTRIES.min(file_entries as usize)];
        file.read_exact_at(head.as_flattened_mut(), 0, ReadMode::Blocking)?;
        Ok(Tip { file, first: part.first, entries: file_entries, head })
    }

    fn read(files: &dyn FileSystem, part: &Part, file_entries: i64) -> io::Result<Tip> {
        let mut tip = Tip::open(files, part, file_entries)?;
        let valid = |bytes: &EntryBytes| QueueEntry::decode(bytes).is_valid();
        let begun = tip.head.iter().take_while(|bytes| valid(bytes)).count();
        tip.entries = begun as i64;
        if begun == tip.head.len() {
            tip.entries = first_where(begun as i64, file_entries, |at| Ok(!tip.entry(at)?.is_valid()))?;
        }
        Ok(tip)
    }

    fn entry(&self, at: i64) -> io::Result<QueueEntry> {
        if let Some(bytes) = self.head.get(at as usize) {
            return Ok(QueueEntry::decode(bytes));
        }
        let mut bytes: EntryBytes = [0; ENTRY_BYTES];
        self.file.read_exact_at(&mut bytes, at as u64 * ENTRY_BYTES as u64, ReadMode::Blocking)?;
        Ok(QueueEntry::decode(&bytes))
    }
}

fn failed(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source }
}

fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, OpenError> + Sync,
) -> Result<Vec<R>, OpenError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let share = items.len().div_ceil(threads).max(THREAD_QUEUES_MIN);
    let work = &work;
    let parts: Vec<Result<Vec<R>, OpenError>> = std::thread::scope(|scope| {
        let spawn = |part| scope.spawn(move || <[T]>::iter(part).map(work).collect());
        let running: Vec<_> = items.chunks(share).map(spawn).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    });
    let mut out = Vec::with_capacity(items.len());
    for part in parts {
        out.extend(part?);
    }
    Ok(out)
}
