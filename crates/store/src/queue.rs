//! A consume queue: the places of a queue's messages in the log.

use crate::position::{PhyOffset, QueueId, QueueOffset};
use std::sync::atomic::AtomicU32;

/// Twenty bytes of a queue file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub phy_offset: PhyOffset,
    pub bytes: i32,
    pub tags_code: i64,
}

#[derive(Debug)]
pub struct ConsumeQueue {
    /// How many wait for messages of this queue. The broker counts; the store only tells it who was appended to.
    pub waiters: AtomicU32,
}

impl ConsumeQueue {
    pub fn topic(&self) -> &str {
        unimplemented!()
    }
    pub fn id(&self) -> QueueId {
        unimplemented!()
    }
    /// The first offset that can still be read.
    pub fn min_offset(&self) -> QueueOffset {
        unimplemented!()
    }
    /// One past the newest message that readers may see.
    pub fn max_offset(&self) -> QueueOffset {
        unimplemented!()
    }
}

const _: fn(PhyOffset) = |_| ();
