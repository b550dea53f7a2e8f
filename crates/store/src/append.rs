//! The way into the log: what is appended, what comes of it, and why it may not.

pub use crate::batch::AppendBatch;
use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
pub use roxmq_protocol::record::TooLong;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// One message before it has a place.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    pub topic: &'a str,
    pub queue_id: QueueId,
    pub flag: i32,
    /// The message's bits; those of the hosts' address families are set here.
    pub sys_flag: i32,
    pub born: Millis,
    pub born_host: SocketAddr,
    pub store_host: SocketAddr,
    pub reconsume_times: i32,
    pub prepared_transaction_offset: i64,
    pub body: &'a [u8],
    /// `name U+0001 value U+0002` repeated.
    pub properties: &'a [u8],
    /// The queue entry's tags code; [`tags_code`](roxmq_protocol::java_hash::tags_code) of the TAGS property for
    /// ordinary messages.
    pub tags_code: i64,
    /// Keys for the index, each hashed with its topic: see [`IndexKeys`](crate::IndexKeys).
    pub key_hashes: &'a [u32],
}

impl<'a> NewMessage<'a> {
    /// An empty message of the server's own, for a queue.
    pub fn own(topic: &'a str, queue_id: QueueId, born: Millis, host: SocketAddr) -> Self {
        NewMessage {
            topic,
            queue_id,
            flag: 0,
            sys_flag: 0,
            born,
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: &[],
            properties: &[],
            tags_code: 0,
            key_hashes: &[],
        }
    }
}

/// Where a message of a batch came to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub queue_offset: QueueOffset,
    pub phy_offset: PhyOffset,
    pub store_time: Millis,
}

/// Why a batch was not stored; none of its messages was.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the store is shut down")]
    ShutDown,
    #[error("the disk of {path} is {used} % full, the limit is {limit} % (diskSpaceWarningLevelRatio)")]
    DiskFull { path: PathBuf, used: u8, limit: u8 },
    #[error("no space left for the commit log in {path}: {source}")]
    NoSpace { path: PathBuf, source: io::Error },
    #[error("the commit log in {path} failed: {source}; it takes no more messages until a restart")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "a record of {bytes} bytes doesn't fit a commit log file of {limit} bytes (mappedFileSizeCommitLog)"
    )]
    TooLarge { bytes: usize, limit: u64 },
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error(
        "topic {topic} is deleted, but removing its queues failed: {source}; the next start does the rest"
    )]
    Remove { topic: String, source: io::Error },
}
