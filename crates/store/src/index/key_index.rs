//! The index as the store uses it: keys wait in memory, where queries see them, until they are written in one go.

use crate::files::FileSystem;
use crate::index::index_file::{IndexFile, add_place};
use crate::index::layout::Layout;
use crate::local_time;
use crate::open::OpenError;
use crate::position::{Millis, PhyOffset};
use crate::read::KeyQuery;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keys written by one call.
const WRITE_KEYS_MAX: usize = 16 * 1024;

/// An index that got no key for this many rounds of writing behind keeps no slots in memory.
const IDLE_ROUNDS: u8 = 2;

/// A key of a record, before it is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexKey {
    pub hash: u32,
    pub phy_offset: PhyOffset,
    pub store_time: Millis,
}

pub struct KeyIndex {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    layout: Layout,
    waiting: Mutex<Waiting>,
    /// In the order of their names, which is that of time and of the log.
    files: RwLock<Vec<Arc<IndexFile>>>,
    /// Held by whoever changes files. How many rounds in a row found nothing to write.
    maintenance: Mutex<u8>,
}

#[derive(Default)]
struct Waiting {
    /// In the order of the log. They leave when they can be found in a file.
    keys: VecDeque<IndexKey>,
    /// The keys of records before this are in the files.
    end: PhyOffset,
}

impl KeyIndex {
    /// Opens the index files under `dir`; each has room for `slots` hash slots and `entries` entries.
    pub fn load(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        slots: u32,
        entries: u32,
    ) -> Result<KeyIndex, OpenError> {
        let layout = Layout { slots: slots.max(1), entries: entries.max(2) };
        let found = open_all(&*files, dir, layout)?;
        if let Some(last) = found.last() {
            last.repair().map_err(|source| OpenError::Io { path: last.path.clone(), source })?;
        }
        let end = end_of(&found);
        let index = KeyIndex {
            fs: files,
            dir: dir.to_owned(),
            layout,
            waiting: Mutex::new(Waiting { keys: VecDeque::new(), end }),
            files: RwLock::new(found),
            maintenance: Mutex::new(0),
        };
        if !index.files.read().is_empty() {
            // A killed process may have made the file and no more.
            index.sync_dirs().map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
        }
        Ok(index)
    }

    /// Takes keys in the order of the log; queries see them at once. All keys of a record come in one call. Keys of
    /// records before [`end`](Self::end) are there already and are skipped, so that replaying the log is harmless.
    pub fn put_all(&self, keys: &[IndexKey]) {
        let mut waiting = self.waiting.lock();
        let end = waiting.end;
        waiting.keys.extend(keys.iter().filter(|key| key.phy_offset >= end));
    }

    /// Where replaying the log has to start to complete the index: the keys of every record before it are there.
    /// 0 if there are none.
    pub fn end(&self) -> PhyOffset {
        self.waiting.lock().end
    }

    /// One past the newest record whose keys are in the files.
    pub fn written_end(&self) -> PhyOffset {
        end_of(&self.files.read())
    }

    /// Keys that are in memory only. Whoever puts many calls [`write_behind`](Self::write_behind) when
    /// it grows.
    pub fn pending(&self) -> usize {
        self.waiting.lock().keys.len()
    }

    /// Brings waiting keys into the files, without waiting for the disk but where a file is full. After some rounds
    /// without any it frees memory.
    pub fn write_behind(&self) -> io::Result<()> {
        let mut idle_rounds = self.maintenance.lock();
        *idle_rounds = if self.write_waiting()? { 0 } else { idle_rounds.saturating_add(1) };
        if *idle_rounds >= IDLE_ROUNDS
            && let Some(last) = self.files.read().last()
        {
            last.free_memory();
        }
        Ok(())
    }

    /// Makes every key put before the call durable.
    pub fn flush(&self) -> io::Result<()> {
        let _maintenance = self.maintenance.lock();
        self.write_waiting()?;
        let last = self.files.read().last().cloned();
        last.map_or(Ok(()), |last| last.sync())
    }

    /// Writes the waiting keys, and says whether there were any.
    fn write_waiting(&self) -> io::Result<bool> {
        let mut written = false;
        loop {
            let keys: Vec<IndexKey> = self.waiting.lock().keys.iter().take(WRITE_KEYS_MAX).copied().collect();
            if keys.is_empty() {
                return Ok(written);
            }
            let count = self.write(&keys)?;
            let mut waiting = self.waiting.lock();
            waiting.keys.drain(..count);
            if waiting.keys.is_empty() && waiting.keys.capacity() > WRITE_KEYS_MAX {
                waiting.keys = VecDeque::new();
            }
            written = true;
        }
    }

    /// Writes keys to the last file, as many as it takes, and says how many those were.
    fn write(&self, keys: &[IndexKey]) -> io::Result<usize> {
        let last = self.files.read().last().cloned();
        let file = match last {
            Some(last) if last.room() > 0 => last,
            full => self.next_file(full.as_deref(), keys[0].store_time)?,
        };
        let count = keys.len().min(file.room());
        file.append(&keys[..count])?;
        Ok(count)
    }

    fn next_file(&self, full: Option<&IndexFile>, time: Millis) -> io::Result<Arc<IndexFile>> {
        let mut name = local_time::digits(time);
        if let Some(full) = full {
            // Only the last file is ever repaired, so the one before it must be whole.
            full.sync()?;
            full.free_memory();
            // The clock may have gone back, and files follow each other by name.
            name = name.max(full.name + 1);
        }
        self.fs.create_dir_all(&self.dir)?;
        let file = Arc::new(IndexFile::create(&*self.fs, &self.dir, name, self.layout)?);
        self.sync_dirs()?;
        self.files.write().push(Arc::clone(&file));
        Ok(file)
    }

    fn sync_dirs(&self) -> io::Result<()> {
        [Some(&*self.dir), self.dir.parent()].into_iter().flatten().try_for_each(|dir| self.fs.sync_dir(dir))
    }

    /// The places of the newest `max` records with this hash that were stored from `begin` to `end`, to the second;
    /// each place once, ascending.
    pub fn query(&self, hash: u32, begin: Millis, end: Millis, max: usize) -> io::Result<KeyQuery> {
        let mut found = KeyQuery::default();
        {
            // First those that wait: meanwhile they may come into a file, but not the other way round.
            let waiting = self.waiting.lock();
            for key in waiting.keys.iter().rev() {
                if found.places.len() >= max {
                    break;
                }
                if key.hash == hash && (begin..=end).contains(&key.store_time) {
                    add_place(&mut found.places, key.phy_offset);
                }
            }
            if let Some(newest) = waiting.keys.back() {
                (found.last_update, found.last_update_offset) = (newest.store_time, newest.phy_offset);
            }
        }
        let files = self.files.read().clone();
        for file in files.iter().rev() {
            let header = file.header();
            if found.last_update_offset == PhyOffset(0) {
                (found.last_update, found.last_update_offset) = (header.end_time, header.end_phy);
            }
            if file.covers(begin, end) {
                file.collect(hash, begin, end, max, &mut found.places)?;
            }
            if found.places.len() >= max || (!header.is_empty() && header.begin_time < begin) {
                break;
            }
        }
        found.places.reverse();
        Ok(found)
    }

    /// Removes leading files that know only records below `log_min`; never the last file.
    pub fn trim(&self, log_min: PhyOffset) -> io::Result<()> {
        let _maintenance = self.maintenance.lock();
        let mut removed = false;
        loop {
            let first = match &**self.files.read() {
                [first, _, ..] if first.header().end_phy < log_min => Arc::clone(first),
                _ => break,
            };
            self.fs.remove_file(&first.path)?;
            self.files.write().remove(0);
            removed = true;
        }
        if removed { self.fs.sync_dir(&self.dir) } else { Ok(()) }
    }

    /// Forgets keys of records at or above `log_end`, which recovery cut off.
    pub fn truncate(&self, log_end: PhyOffset) -> io::Result<()> {
        let _maintenance = self.maintenance.lock();
        let mut files = self.files.write();
        while end_of(&files) >= log_end
            && let Some(last) = files.last()
        {
            let header = last.header();
            if header.is_empty() || header.begin_phy >= log_end {
                self.fs.remove_file(&last.path)?;
                self.fs.sync_dir(&self.dir)?;
                files.pop();
            } else {
                last.truncate(log_end)?;
            }
        }
        let mut waiting = self.waiting.lock();
        waiting.keys.retain(|key| key.phy_offset < log_end);
        waiting.end = end_of(&files);
        Ok(())
    }
}

impl fmt::Debug for KeyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyIndex").field("dir", &self.dir).finish_non_exhaustive()
    }
}

fn open_all(files: &dyn FileSystem, dir: &Path, layout: Layout) -> Result<Vec<Arc<IndexFile>>, OpenError> {
    let failed = |path: &Path, source| OpenError::Io { path: path.to_owned(), source };
    let mut entries = match files.list(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| failed(dir, e))?,
    };
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let mut found = Vec::new();
    for entry in entries {
        let Some(name) = file_name(&entry.name).filter(|_| !entry.is_dir) else { continue };
        if entry.bytes == 0 {
            // A crash came between making the file and giving it its size.
            files.remove_file(&entry.path).map_err(|e| failed(&entry.path, e))?;
            continue;
        }
        if entry.bytes != layout.file_bytes() {
            return Err(OpenError::IndexFileSize {
                path: entry.path,
                found: entry.bytes,
                expected: layout.file_bytes(),
                slots: layout.slots,
                entries: layout.entries,
            });
        }
        let file = IndexFile::open(files, entry.path.clone(), name, layout);
        found.push(Arc::new(file.map_err(|e| failed(&entry.path, e))?));
    }
    Ok(found)
}

/// The digits of a file's name; none if it isn't named like an index file.
fn file_name(name: &str) -> Option<u64> {
    let digits = name.len() == 17 && name.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| name.parse().ok()).flatten()
}

fn end_of(files: &[Arc<IndexFile>]) -> PhyOffset {
    let ends = files.iter().rev().map(|file| file.header()).find(|header| !header.is_empty());
    ends.map_or(PhyOffset(0), |header| header.end_phy)
}
