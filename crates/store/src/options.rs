//! What a store is opened with. The broker fills it from the Java server's configuration keys.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// `storePathRootDir`
    pub root: PathBuf,
    /// `storePathCommitLog`; by default `commitlog` under the root.
    pub commit_log_dir: PathBuf,
    /// `mappedFileSizeCommitLog`, 1 GiB. Must be the size of the files already there.
    pub commit_log_file_bytes: u64,
    /// `mappedFileSizeConsumeQueue`, 6,000,000; rounded up to whole entries of 20 bytes.
    pub queue_file_bytes: u64,
    /// `maxHashSlotNum`, 5,000,000
    pub index_slots: u32,
    /// `maxIndexNum`, 20,000,000
    pub index_entries: u32,
    /// `messageIndexEnable`, true
    pub index_enabled: bool,
    /// `flushDiskType`
    pub flush: FlushMode,
    /// `syncFlushTimeout`, 5 s: how long a synchronous acknowledgement waits for the disk.
    pub sync_flush_timeout: Duration,
    /// `flushIntervalCommitLog`, 500 ms: how often asynchronous flush runs.
    pub flush_interval: Duration,
    /// `maxMessageSize`, 4 MiB: the largest body.
    pub body_bytes_max: usize,
    /// How much of the log's end is kept in memory for readers. 8 MiB.
    pub tail_bytes_max: usize,
    /// How far ahead of the write position disk blocks are taken. 32 MiB.
    pub allocate_ahead_bytes: u64,
    pub retention: RetentionOptions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushMode {
    /// `ASYNC_FLUSH`: acknowledged when the operating system has it.
    #[default]
    Async,
    /// `SYNC_FLUSH`: acknowledged and visible when the disk has it.
    Sync,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RetentionOptions {
    /// `fileReservedTime`, 72 h
    pub keep: Duration,
    /// `deleteWhen`: the local hours at which expired files go. 4
    pub delete_hours: Vec<u8>,
    /// `diskMaxUsedSpaceRatio`, 75 %: above it expired files go at any hour.
    pub clean_percent: u8,
    /// `diskSpaceCleanForciblyRatio`, 85 %: above it files go even if not expired.
    pub force_percent: u8,
    /// `diskSpaceWarningLevelRatio`, 90 %: above it nothing is accepted.
    pub refuse_percent: u8,
}
