//! Opens a store: lock, options, files, recovery; and what marks the store as in use.

use crate::checkpoint::Checkpoint;
use crate::clock::Clock;
use crate::commit_log::CommitLog;
use crate::commit_log::segments::{FILE_BYTES_KEY, Segments};
use crate::core::{Core, Parts};
use crate::files::{FileSystem, OpenMode};
use crate::index::KeyIndex;
use crate::options::StoreOptions;
use crate::position::PhyOffset;
use crate::queue::QueueTable;
use crate::recovery::Recovery;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

/// The smallest log file: some room beside the largest properties. The Java server takes positions in a file as
/// signed 32-bit numbers.
const FILE_BYTES_MIN: u64 = 4096;
const FILE_BYTES_MAX: u64 = i32::MAX as u64;

/// Why a store doesn't open. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the store in {root} is in use by another process (its file 'lock' is locked); stop that process, or use another directory with --store or storePathRootDir"
    )]
    Locked { root: PathBuf },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "the log has no file between {before} and {after}; put the missing ones back, or move those behind the gap away to open the store without them"
    )]
    Gap { before: PathBuf, after: PathBuf },
    #[error(
        "storePathCommitLog names several directories ({dirs}), which isn't supported yet; move the files into one"
    )]
    SeveralDirs { dirs: PathBuf },
    #[error("{key} is {value}; it must be from {min} to {max}")]
    Option { key: &'static str, value: u64, min: u64, max: u64 },
    #[error("{path} has {found} bytes but {key} is {expected}; set {key}={found} to open this store")]
    FileSize { path: PathBuf, found: u64, expected: u64, key: &'static str },
    #[error(
        "{path} has {found} bytes, but maxHashSlotNum={slots} and maxIndexNum={entries} make {expected}; set both to what they were when the file was made"
    )]
    IndexFileSize { path: PathBuf, found: u64, expected: u64, slots: u32, entries: u32 },
    #[error(
        "{path} holds queues of the topics {topics} (queue.type=BatchCQ), which only the Java server can read; consume and delete these topics there, or move {path} away to open the store without their messages"
    )]
    BatchQueues { path: PathBuf, topics: String },
}

/// What was found at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The last stop was a crash (the file `abort` was there).
    pub crashed: bool,
    /// Bytes of the log that were read again.
    pub scanned_bytes: u64,
    /// Messages whose queue or index entries were written again.
    pub redispatched: u64,
    /// Where a damaged or torn record ended the log, and what was wrong with it. A zero tail is no damage.
    pub cut: Option<(PhyOffset, String)>,
    /// Queue files that were missing or cut and were rebuilt.
    pub rebuilt_queues: u64,
}

pub(crate) struct Opened {
    pub core: Core,
    pub report: RecoveryReport,
    pub lock: Box<dyn Send + Sync + std::fmt::Debug>,
}

pub(crate) fn open(
    files: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    options: StoreOptions,
) -> Result<Opened, OpenError> {
    check(&options)?;
    let root = options.root.clone();
    files.create_dir_all(&root).map_err(at(&root))?;
    let lock = lock(&*files, &root)?;
    refuse_batch_queues(&*files, &root)?;
    let crashed = exists(&*files, &root, "abort").map_err(at(&root))?;
    let checkpoint_path = root.join("checkpoint");
    let checkpoint = Checkpoint::read(&*files, &checkpoint_path).map_err(at(&checkpoint_path))?;
    // Written before anything is changed: a crash from here on is one.
    write_abort(&*files, &root)?;

    let dir = &options.commit_log_dir;
    let segments = Segments::load(files.clone(), dir, options.commit_log_file_bytes, FILE_BYTES_KEY)?;
    let visible = Arc::new(AtomicI64::new(i64::MAX));
    let queues = QueueTable::load(files.clone(), &root, options.queue_file_bytes, visible.clone())?;
    let index = load_index(&files, &options)?;
    let recovered = Recovery {
        segments: &segments,
        queues: &queues,
        index: index.as_ref(),
        checkpoint,
        crashed,
        options: &options,
    }
    .run()?;
    let log =
        CommitLog::open(segments, recovered.end, visible, &options).map_err(at(&options.commit_log_dir))?;
    let parts = Parts { log, queues, index, last: recovered.last };
    let core = Core::new(files, clock, options, parts);
    core.checkpoint().map_err(at(&root))?;
    // The names of `abort` and of a new checkpoint are on the disk before the first message is.
    core.files.sync_dir(&root).map_err(at(&root))?;
    Ok(Opened { core, report: recovered.report, lock })
}

fn check(options: &StoreOptions) -> Result<(), OpenError> {
    if options.commit_log_dir.to_string_lossy().contains(',') {
        return Err(OpenError::SeveralDirs { dirs: options.commit_log_dir.clone() });
    }
    let value = options.commit_log_file_bytes;
    if !(FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&value) {
        return Err(OpenError::Option {
            key: FILE_BYTES_KEY,
            value,
            min: FILE_BYTES_MIN,
            max: FILE_BYTES_MAX,
        });
    }
    Ok(())
}

/// Messages that nobody can reach would be lost without a word.
fn refuse_batch_queues(files: &dyn FileSystem, root: &Path) -> Result<(), OpenError> {
    let path = root.join("batchconsumequeue");
    let list = |dir: &Path| match files.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result.map_err(at(dir)),
    };
    let mut topics = Vec::new();
    for topic in list(&path)?.into_iter().filter(|entry| entry.is_dir) {
        let queues = list(&topic.path)?.into_iter().filter(|entry| entry.is_dir);
        let files = queues.map(|queue| list(&queue.path)).collect::<Result<Vec<_>, _>>()?;
        // A deleted topic leaves its directories.
        if files.iter().any(|files| !files.is_empty()) {
            topics.push(topic.name);
        }
    }
    if topics.is_empty() {
        return Ok(());
    }
    topics.sort();
    Err(OpenError::BatchQueues { path, topics: topics.join(", ") })
}

fn load_index(files: &Arc<dyn FileSystem>, options: &StoreOptions) -> Result<Option<KeyIndex>, OpenError> {
    if !options.index_enabled {
        return Ok(None);
    }
    let dir = options.root.join("index");
    KeyIndex::load(files.clone(), &dir, options.index_slots, options.index_entries).map(Some)
}

/// The lock, whose file says `lock` as the Java server's does.
fn lock(files: &dyn FileSystem, root: &Path) -> Result<Box<dyn Send + Sync + std::fmt::Debug>, OpenError> {
    let path = root.join("lock");
    let lock = files.lock(&path).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => OpenError::Locked { root: root.to_path_buf() },
        _ => OpenError::Io { path: path.clone(), source },
    })?;
    Ok(lock)
}

fn exists(files: &dyn FileSystem, dir: &Path, name: &str) -> io::Result<bool> {
    Ok(files.list(dir)?.iter().any(|entry| entry.name == name))
}

/// Says which process has the store. It stays behind a crash.
fn write_abort(files: &dyn FileSystem, root: &Path) -> Result<(), OpenError> {
    let path = root.join("abort");
    let write = || {
        let pid = std::process::id().to_string();
        let file = files.open(&path, OpenMode::Create)?;
        file.set_len(0)?;
        file.write_all_at(&[pid.as_bytes()], 0)
    };
    write().map_err(at(&path))
}

/// The last thing of an orderly stop.
pub(crate) fn remove_abort(core: &Core) -> io::Result<()> {
    core.files.remove_file(&core.options.root.join("abort"))?;
    core.files.sync_dir(&core.options.root)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OpenError + use<> {
    let path = PathBuf::from(path);
    move |source| OpenError::Io { path, source }
}
