//! What a reader asks for and gets.

use crate::position::{Millis, PhyOffset, QueueOffset};

/// Decides which messages a reader gets.
pub trait ReadFilter {
    /// By the queue entry, before the message is read: false for one that certainly isn't wanted.
    fn may_match(&self, tags_code: i64) -> bool;

    /// Whether [`matches`](Self::matches) is to be asked about what [`may_match`](Self::may_match) let through.
    fn looks_into_records(&self) -> bool {
        false
    }

    /// By the encoded properties of the message.
    fn matches(&self, _properties: &[u8]) -> bool {
        true
    }
}

/// Every message.
pub struct NoFilter;

impl ReadFilter for NoFilter {
    fn may_match(&self, _tags_code: i64) -> bool {
        true
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Messages, at least 1.
    pub count_max: usize,
    /// Bytes of records; the first message comes whatever its size.
    pub bytes_max: usize,
    /// Queue entries looked at. 800 for a pull.
    pub scan_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStatus {
    Found,
    /// Entries were there but the filter passed none.
    NoMatchedMessage,
    MessageWasRemoving,
    NoMatchedLogicQueue,
    NoMessageInQueue,
    OffsetTooSmall,
    OffsetOverflowOne,
    OffsetOverflowBadly,
    OffsetFoundNull,
    /// What was asked for isn't in memory: ask again where waiting for the disk hurts nobody.
    Cold,
}

#[derive(Debug)]
pub struct ReadResult {
    pub status: ReadStatus,
    /// Where to go on.
    pub next_offset: QueueOffset,
    pub min_offset: QueueOffset,
    pub max_offset: QueueOffset,
    /// How many records were appended to the caller's buffer.
    pub count: usize,
}

/// Which end of a run of equal times, and which neighbour of a missing one, a search by time gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    #[default]
    Lower,
    Upper,
}

/// What a query by key found.
#[derive(Debug, Default)]
pub struct KeyQuery {
    pub places: Vec<PhyOffset>,
    pub last_update: Millis,
    pub last_update_offset: PhyOffset,
}
