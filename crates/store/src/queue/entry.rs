//! An entry of a consume queue.

use crate::position::PhyOffset;

/// Twenty bytes of a queue file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub phy_offset: PhyOffset,
    pub bytes: i32,
    pub tags_code: i64,
}
