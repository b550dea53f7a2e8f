//! The way into the log: messages of a burst are encoded here, then appended together.

use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
use crate::store::Store;
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
    /// The queue entry's tags code; [`tags_code`](roxmq_protocol) of the TAGS property for ordinary messages.
    pub tags_code: i64,
    /// Keys for the index, each hashed with its topic.
    pub key_hashes: &'a [u32],
}

/// The records of a burst, encoded, with what the lock will need to place them. Kept and reused by its connection.
#[derive(Debug, Default)]
pub struct AppendBatch {}

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
}

impl AppendBatch {
    pub fn new() -> Self {
        unimplemented!()
    }

    /// Encodes a message behind those already there; what has no room in a record is refused and the batch
    /// stays as it was. Limits below the format's are the caller's.
    pub fn push(&mut self, store: &Store, message: &NewMessage<'_>) -> Result<(), TooLong> {
        let _ = (store, message);
        unimplemented!()
    }

    pub fn len(&self) -> usize {
        unimplemented!()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Encoded bytes so far.
    pub fn bytes(&self) -> usize {
        unimplemented!()
    }

    /// After a successful append: the places, in the order of the pushes.
    pub fn stored(&self) -> &[Stored] {
        unimplemented!()
    }

    /// Empties the batch for the next burst and keeps its room.
    pub fn clear(&mut self) {
        unimplemented!()
    }
}
