//! The files of a log, of messages or of timers: each is named by the position of its first byte and has its full size
//! from the start. They follow each other without a gap.

use crate::files::{File, FileSystem, OpenMode};
use crate::open::OpenError;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The key whose value the size of the commit log's files is.
pub(crate) const FILE_BYTES_KEY: &str = "mappedFileSizeCommitLog";
/// Files that are kept open for reading.
const READ_HANDLES_MAX: usize = 16;
const NAME_DIGITS: usize = 20;

#[derive(Debug)]
pub(crate) struct Segments {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    file_bytes: u64,
    /// Where the first file starts.
    first: AtomicI64,
    /// Where the last file ends; the same as `first` if there is none.
    end: AtomicI64,
    /// Serializes creation and removal of files.
    change: Mutex<()>,
    /// Open for reading, the least recently used first.
    readers: Mutex<Vec<(i64, Arc<dyn File>)>>,
}

/// A log file found in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub start: i64,
    pub bytes: u64,
    pub modified_ms: i64,
    pub path: PathBuf,
}

/// The log files of a directory in order; everything that isn't named like one is not ours to judge.
pub(crate) fn find(files: &dyn FileSystem, dir: &Path) -> io::Result<Vec<Found>> {
    let entries = match files.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        result => result?,
    };
    let mut found: Vec<Found> = entries
        .into_iter()
        .filter(|entry| !entry.is_dir && entry.name.len() == NAME_DIGITS)
        .filter_map(|entry| {
            let start = entry.name.parse().ok()?;
            Some(Found { start, bytes: entry.bytes, modified_ms: entry.modified_ms, path: entry.path })
        })
        .collect();
    found.sort_by_key(|found| found.start);
    Ok(found)
}

impl Segments {
    /// Takes stock of the directory, which is made if it is absent. A last file without any bytes, which a crash
    /// leaves between a file's creation and its sizing, is removed.
    pub fn load(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        file_bytes: u64,
        key: &'static str,
    ) -> Result<Segments, OpenError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| OpenError::Io { path, source }
        };
        files.create_dir_all(dir).map_err(failed(dir))?;
        let mut found = find(&*files, dir).map_err(failed(dir))?;
        if let Some(last) = found.pop_if(|last| last.bytes == 0) {
            tracing::warn!(path = %last.path.display(), "removed an empty last file of a log");
            files.remove_file(&last.path).map_err(failed(&last.path))?;
        }
        if let Some((last, others)) = found.split_last_mut()
            && others.iter().any(|file| file.bytes == file_bytes)
            && last.bytes < file_bytes
        {
            restore_size(&*files, last, file_bytes).map_err(failed(&last.path))?;
        }
        check_sizes(&found, file_bytes, key)?;
        let first = found.first().map_or(0, |found| found.start);
        let end = found.last().map_or(first, |found| found.start + file_bytes as i64);
        Ok(Segments::inspect(files, dir, file_bytes, first, end))
    }

    /// The files from `first` to `end`, which the caller has looked at.
    pub fn inspect(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        file_bytes: u64,
        first: i64,
        end: i64,
    ) -> Segments {
        Segments {
            files,
            dir: dir.to_path_buf(),
            file_bytes,
            first: AtomicI64::new(first),
            end: AtomicI64::new(end),
            change: Mutex::new(()),
            readers: Mutex::new(Vec::new()),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn file_bytes(&self) -> i64 {
        self.file_bytes as i64
    }

    pub fn first(&self) -> i64 {
        self.first.load(Ordering::Acquire)
    }

    pub fn end(&self) -> i64 {
        self.end.load(Ordering::Acquire)
    }

    /// Where the file starts that a position lies in, whether it exists or not.
    pub fn start_of(&self, position: i64) -> i64 {
        let first = self.first();
        first + (position - first).div_euclid(self.file_bytes()) * self.file_bytes()
    }

    /// The file with this position, for reading; an error of kind `NotFound` if there is none.
    pub fn reader(&self, position: i64) -> io::Result<(i64, Arc<dyn File>)> {
        let start = self.start_of(position);
        if position < self.first() || position >= self.end() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut readers = self.readers.lock();
        if let Some(at) = readers.iter().rposition(|(open, _)| *open == start) {
            let found = readers.remove(at);
            readers.push(found.clone());
            return Ok(found);
        }
        let file = self.files.open(&self.path(start), OpenMode::Read)?;
        if readers.len() == READ_HANDLES_MAX {
            readers.remove(0);
        }
        readers.push((start, file.clone()));
        Ok((start, file))
    }

    /// The file that starts here, for writing. It may be the one behind the last, which is then made.
    pub fn writer(&self, start: i64) -> io::Result<Arc<dyn File>> {
        self.writer_telling(start, |_| ())
    }

    /// The same; if the sync of a file that is made fails, `failed_sync` is told.
    pub fn writer_telling(
        &self,
        start: i64,
        failed_sync: impl FnOnce(&io::Error),
    ) -> io::Result<Arc<dyn File>> {
        let _guard = self.change.lock();
        if self.first() <= start && start < self.end() {
            return self.files.open(&self.path(start), OpenMode::Write);
        }
        let file = self.files.open(&self.path(start), OpenMode::Create)?;
        file.set_len(self.file_bytes)?;
        // The size before the name: a loss of power may leave the last file empty, never one before it.
        let synced = file.sync().and_then(|()| self.files.sync_dir(&self.dir));
        synced.inspect_err(failed_sync)?;
        if self.first() == self.end() {
            self.first.store(start, Ordering::Release);
        }
        self.end.store(start + self.file_bytes(), Ordering::Release);
        Ok(file)
    }

    /// Removes the files that start at or behind the position.
    pub fn remove_from(&self, position: i64) -> io::Result<usize> {
        let _guard = self.change.lock();
        let mut removed = 0;
        while self.end() > self.first() && self.end() - self.file_bytes() >= position {
            let last = self.end() - self.file_bytes();
            self.files.remove_file(&self.path(last))?;
            self.forget(last);
            self.end.store(last, Ordering::Release);
            removed += 1;
        }
        self.files.sync_dir(&self.dir)?;
        Ok(removed)
    }

    /// Removes the first file; the caller keeps the last one.
    pub fn remove_first(&self) -> io::Result<()> {
        let _guard = self.change.lock();
        let first = self.first();
        // Readers that are about to open it find it missing, which to them is the same as removed.
        self.first.store(first + self.file_bytes(), Ordering::Release);
        self.forget(first);
        self.files
            .remove_file(&self.path(first))
            .inspect_err(|_| self.first.store(first, Ordering::Release))?;
        self.files.sync_dir(&self.dir)
    }

    pub fn path(&self, start: i64) -> PathBuf {
        self.dir.join(format!("{start:0NAME_DIGITS$}"))
    }

    fn forget(&self, start: i64) {
        self.readers.lock().retain(|(open, _)| *open != start);
    }
}

/// A last file that was cut short, by a person or a file system's repair. The files before it say that the size is not
/// another one by intention; recovery finds where the records end.
fn restore_size(files: &dyn FileSystem, file: &mut Found, file_bytes: u64) -> io::Result<()> {
    tracing::warn!(path = %file.path.display(), bytes = file.bytes, file_bytes, "the last file of a log was cut short; it gets its size back, without what was cut");
    let open = files.open(&file.path, OpenMode::Write)?;
    open.set_len(file_bytes)?;
    open.sync()?;
    file.bytes = file_bytes;
    Ok(())
}

fn check_sizes(found: &[Found], file_bytes: u64, key: &'static str) -> Result<(), OpenError> {
    for file in found {
        if file.bytes != file_bytes {
            return Err(OpenError::FileSize {
                path: file.path.clone(),
                found: file.bytes,
                expected: file_bytes,
                key,
            });
        }
    }
    for pair in found.windows(2) {
        if pair[0].start + file_bytes as i64 != pair[1].start {
            return Err(OpenError::Gap { before: pair[0].path.clone(), after: pair[1].path.clone() });
        }
    }
    Ok(())
}
