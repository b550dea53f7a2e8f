//! What a store is opened with. The broker fills it from the Java server's configuration keys.

use crate::topic_retention::TopicRetention;
use std::path::PathBuf;
use std::sync::Arc;
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
    /// `messageDelayLevel`: the delays of levels 1, 2, ... in milliseconds. Recovery computes from them when a message
    /// of the schedule topic is due, which its queue entry carries.
    pub delay_levels_ms: Vec<i64>,
    /// How much of the log's end is kept in memory for readers. 1 MiB: its buffers are written to again and again, which
    /// is quicker while they stay in the processor's cache, and what is older is quickly read from the page cache.
    pub tail_bytes_max: usize,
    /// How far ahead of the write position disk blocks are taken. 32 MiB.
    pub allocate_ahead_bytes: u64,
    pub retention: RetentionOptions,
    /// Topics that keep their messages for a time of their own.
    pub topic_retention: Arc<TopicRetention>,
}

impl StoreOptions {
    /// The Java server's defaults under this root.
    pub fn new(root: PathBuf) -> Self {
        StoreOptions {
            commit_log_dir: root.join("commitlog"),
            root,
            commit_log_file_bytes: 1 << 30,
            queue_file_bytes: 6_000_000,
            index_slots: 5_000_000,
            index_entries: 20_000_000,
            index_enabled: true,
            flush: FlushMode::Async,
            sync_flush_timeout: Duration::from_secs(5),
            flush_interval: Duration::from_millis(500),
            body_bytes_max: 4 << 20,
            delay_levels_ms: default_delay_levels_ms(),
            tail_bytes_max: 1 << 20,
            allocate_ahead_bytes: 32 << 20,
            retention: RetentionOptions::default(),
            topic_retention: Arc::default(),
        }
    }
}

/// `1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h`
fn default_delay_levels_ms() -> Vec<i64> {
    let seconds = [1, 5, 10, 30];
    let minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120].map(|minutes| minutes * 60);
    seconds.into_iter().chain(minutes).map(|seconds| seconds * 1000).collect()
}

impl Default for RetentionOptions {
    fn default() -> Self {
        RetentionOptions {
            keep: Duration::from_secs(72 * 3600),
            delete_hours: vec![4],
            clean_percent: 75,
            force_percent: 85,
            refuse_percent: 90,
        }
    }
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
