//! What the queues of a store share: the files, a bounded number of them open, and which of them the disk
//! doesn't have yet.

use crate::files::{File, FileSystem, OpenMode, ReadMode};
use crate::position::PhyOffset;
use crate::queue::entry::{ENTRY_BYTES, EntryBytes, QueueEntry};
use crate::queue::pages::{PAGE_ENTRIES, Page, Pages};
use crate::queue::unsynced::Unsynced;
use crate::queue::{ConsumeQueue, names};
use foldhash::fast::RandomState;
use lru::LruCache;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Open queue files of all queues together.
const OPEN_FILES_MAX: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

pub(super) struct QueueFiles {
    fs: Arc<dyn FileSystem>,
    root: PathBuf,
    file_entries: i64,
    visible: Arc<AtomicI64>,
    serials: AtomicU64,
    /// Files made, queues cut and topics removed since the last snapshot.
    reshaped: AtomicU64,
    active: Mutex<Vec<Arc<ConsumeQueue>>>,
    open: Mutex<LruCache<FileKey, Arc<dyn File>, RandomState>>,
    pages: Pages,
    unsynced: Mutex<Unsynced>,
    /// Held by whoever changes files or cuts queues, so that they come one after the other.
    pub(super) maintenance: Mutex<()>,
}

/// A queue's serial number and the offset at which the file begins.
pub(super) type FileKey = (u64, i64);

impl QueueFiles {
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        root: &Path,
        file_bytes: u64,
        visible: Arc<AtomicI64>,
    ) -> QueueFiles {
        QueueFiles {
            fs,
            root: root.to_owned(),
            file_entries: (file_bytes / ENTRY_BYTES as u64).max(1) as i64,
            visible,
            serials: AtomicU64::new(0),
            reshaped: AtomicU64::new(0),
            active: Mutex::new(Vec::new()),
            open: Mutex::new(LruCache::with_hasher(OPEN_FILES_MAX, RandomState::default())),
            pages: Pages::default(),
            unsynced: Mutex::new(Unsynced::unknown()),
            maintenance: Mutex::new(()),
        }
    }

    pub(super) fn fs(&self) -> &dyn FileSystem {
        &*self.fs
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn file_entries(&self) -> i64 {
        self.file_entries
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file_entries as u64 * ENTRY_BYTES as u64
    }

    /// The offset at which the file that holds an offset begins.
    pub(super) fn file_of(&self, offset: i64) -> i64 {
        offset - offset % self.file_entries
    }

    pub(super) fn visible(&self) -> PhyOffset {
        PhyOffset(self.visible.load(Ordering::Acquire))
    }

    pub(super) fn next_serial(&self) -> u64 {
        self.serials.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes up a queue that has something in memory.
    pub(super) fn activate(&self, queue: Arc<ConsumeQueue>) {
        self.active.lock().push(queue);
    }

    pub(super) fn take_active(&self) -> Vec<Arc<ConsumeQueue>> {
        std::mem::take(&mut self.active.lock())
    }

    pub(super) fn put_back_active(&self, queues: Vec<Arc<ConsumeQueue>>) {
        self.active.lock().extend(queues);
    }

    /// Reads the entries of some offsets, or of the first of them: up to the end of a page. All entries before
    /// `written` are in the files.
    pub(super) fn read(
        &self,
        queue: &ConsumeQueue,
        offsets: Range<i64>,
        written: i64,
        out: &mut Vec<QueueEntry>,
        mode: ReadMode,
    ) -> io::Result<usize> {
        let from = offsets.start;
        let file_start = self.file_of(from);
        let page_start = from - (from - file_start) % PAGE_ENTRIES;
        let page_end = (page_start + PAGE_ENTRIES).min(file_start + self.file_entries);
        let to = offsets.end.min(page_end);
        if page_end <= written {
            let page = self.page(queue, page_start..page_end, mode)?;
            let entries = (from - page_start) as usize..(to - page_start) as usize;
            out.extend(page[entries].iter().map(QueueEntry::decode));
        } else {
            out.extend(self.read_entries(queue, from..to, mode)?.iter().map(QueueEntry::decode));
        }
        Ok((to - from) as usize)
    }

    fn page(&self, queue: &ConsumeQueue, offsets: Range<i64>, mode: ReadMode) -> io::Result<Page> {
        let start = offsets.start;
        if let Some(page) = self.pages.get(queue.serial, start) {
            return Ok(page);
        }
        let page = Arc::new(self.read_entries(queue, offsets, mode)?);
        self.pages.keep(queue.serial, start, &page);
        Ok(page)
    }

    /// Reads entries of one file.
    fn read_entries(
        &self,
        queue: &ConsumeQueue,
        offsets: Range<i64>,
        mode: ReadMode,
    ) -> io::Result<Vec<EntryBytes>> {
        let file_start = self.file_of(offsets.start);
        let file = self.open(queue, file_start)?;
        let mut entries = vec![[0; ENTRY_BYTES]; (offsets.end - offsets.start) as usize];
        file.read_exact_at(entries.as_flattened_mut(), byte_at(offsets.start - file_start), mode)?;
        Ok(entries)
    }

    pub(super) fn read_one(&self, queue: &ConsumeQueue, offset: i64) -> io::Result<QueueEntry> {
        let file_start = self.file_of(offset);
        let mut bytes: EntryBytes = [0; ENTRY_BYTES];
        let file = self.open(queue, file_start)?;
        file.read_exact_at(&mut bytes, byte_at(offset - file_start), ReadMode::Blocking)?;
        Ok(QueueEntry::decode(&bytes))
    }

    /// Writes whole entries from `offset` on, all into one file, which is made if it doesn't exist.
    pub(super) fn write(&self, queue: &Arc<ConsumeQueue>, offset: i64, entries: &[u8]) -> io::Result<()> {
        let file_start = self.file_of(offset);
        let file = match self.open(queue, file_start) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.create(queue, file_start)?,
            opened => opened?,
        };
        self.unsynced.lock().written(queue, file_start);
        file.write_all_at(&[entries], byte_at(offset - file_start))
    }

    /// Clears a file from an offset to its end.
    pub(super) fn clear_rest(&self, queue: &Arc<ConsumeQueue>, offset: i64) -> io::Result<()> {
        let file_start = self.file_of(offset);
        let file = match self.open(queue, file_start) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        self.unsynced.lock().written(queue, file_start);
        self.pages.forget(queue.serial);
        let at = byte_at(offset - file_start);
        file.clear(at, self.file_bytes() - at)
    }

    /// Removes a file; one that isn't there is no error.
    pub(super) fn remove(&self, queue: &ConsumeQueue, file_start: i64) -> io::Result<()> {
        let key = (queue.serial, file_start);
        self.open.lock().pop(&key);
        self.pages.forget(queue.serial);
        let path = self.path(queue, file_start)?;
        match self.fs.remove_file(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result?,
        }
        self.count_reshaped(1);
        self.unsynced.lock().removed(key, path.parent());
        Ok(())
    }

    /// Closes what is open of a queue that is gone with its topic's directory.
    pub(super) fn forget(&self, queue: &ConsumeQueue, topic_dir: &Path) {
        let mut open = self.open.lock();
        let keys: Vec<FileKey> =
            open.iter().map(|(key, _)| *key).filter(|key| key.0 == queue.serial).collect();
        for key in keys {
            open.pop(&key);
        }
        self.pages.forget(queue.serial);
        self.unsynced.lock().forget(queue.serial, topic_dir);
    }

    /// Makes durable what was written. Nothing is forgiven: see [`Unsynced`].
    pub(super) fn sync(&self) -> io::Result<()> {
        let taken = self.unsynced.lock().take()?;
        let result = taken.sync(self);
        if let Err(e) = &result {
            self.unsynced.lock().fail(e);
        }
        result
    }

    /// How often the set of files changed since the last snapshot.
    pub(super) fn reshaped(&self) -> u64 {
        self.reshaped.load(Ordering::Relaxed)
    }

    pub(super) fn count_reshaped(&self, changes: u64) {
        self.reshaped.fetch_add(changes, Ordering::Relaxed);
    }

    pub(super) fn uncount_reshaped(&self, changes: u64) {
        self.reshaped.fetch_sub(changes, Ordering::Relaxed);
    }

    pub(super) fn sync_file(&self, queue: &ConsumeQueue, file_start: i64) -> io::Result<()> {
        self.open(queue, file_start)?.sync()
    }

    fn create(&self, queue: &Arc<ConsumeQueue>, file_start: i64) -> io::Result<Arc<dyn File>> {
        let dir = names::queue_dir(&self.root, queue.topic(), queue.id())?;
        self.fs.create_dir_all(&dir)?;
        let path = self.path(queue, file_start)?;
        let file = self.fs.open(&path, OpenMode::Create)?;
        if let Err(e) = file.set_len(self.file_bytes()) {
            // A file of another length would keep the store from opening.
            self.fs.remove_file(&path)?;
            return Err(e);
        }
        self.unsynced.lock().created(&self.root, &dir);
        self.count_reshaped(1);
        self.open.lock().put((queue.serial, file_start), Arc::clone(&file));
        Ok(file)
    }

    /// For reading and writing: who comes first may leave the open file to the other.
    fn open(&self, queue: &ConsumeQueue, file_start: i64) -> io::Result<Arc<dyn File>> {
        let key = (queue.serial, file_start);
        if let Some(file) = self.open.lock().get(&key) {
            return Ok(Arc::clone(file));
        }
        let file = self.fs.open(&self.path(queue, file_start)?, OpenMode::Write)?;
        self.open.lock().put(key, Arc::clone(&file));
        Ok(file)
    }

    fn path(&self, queue: &ConsumeQueue, file_start: i64) -> io::Result<PathBuf> {
        let dir = names::queue_dir(&self.root, queue.topic(), queue.id())?;
        Ok(dir.join(names::file_name(byte_at(file_start))))
    }
}

impl fmt::Debug for QueueFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFiles").field("root", &self.root).finish_non_exhaustive()
    }
}

fn byte_at(entries: i64) -> u64 {
    entries as u64 * ENTRY_BYTES as u64
}
