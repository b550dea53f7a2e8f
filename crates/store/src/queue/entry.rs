//! An entry of a consume queue: big-endian, twenty bytes.
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 8 | position of the record in the log |
//! | 8 | 4 | bytes of the record |
//! | 12 | 8 | tags code |

use crate::position::PhyOffset;

pub const ENTRY_BYTES: usize = 20;

/// An entry as it is in a file.
pub type EntryBytes = [u8; ENTRY_BYTES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub phy_offset: PhyOffset,
    pub bytes: i32,
    pub tags_code: i64,
}

impl QueueEntry {
    /// Stands where the log no longer has a message, so that the entries behind it keep their places.
    pub const FILLER: QueueEntry = QueueEntry { phy_offset: PhyOffset(0), bytes: i32::MAX, tags_code: 0 };

    pub fn is_filler(&self) -> bool {
        self.phy_offset == Self::FILLER.phy_offset && self.bytes == Self::FILLER.bytes
    }

    /// Whether there is an entry at all; the unwritten rest of a file is zeros.
    pub fn is_valid(&self) -> bool {
        self.phy_offset.0 >= 0 && self.bytes > 0
    }

    /// One past the last byte of the record. A filler has no record: it ends where the log begins.
    pub fn end(&self) -> PhyOffset {
        if self.is_filler() {
            return PhyOffset(0);
        }
        PhyOffset(self.phy_offset.0.saturating_add(i64::from(self.bytes)))
    }

    pub fn encode(&self) -> EntryBytes {
        let mut out = [0; ENTRY_BYTES];
        out[..8].copy_from_slice(&self.phy_offset.0.to_be_bytes());
        out[8..12].copy_from_slice(&self.bytes.to_be_bytes());
        out[12..].copy_from_slice(&self.tags_code.to_be_bytes());
        out
    }

    pub fn decode(bytes: &EntryBytes) -> QueueEntry {
        let [p0, p1, p2, p3, p4, p5, p6, p7, b0, b1, b2, b3, t0, t1, t2, t3, t4, t5, t6, t7] = *bytes;
        QueueEntry {
            phy_offset: PhyOffset(i64::from_be_bytes([p0, p1, p2, p3, p4, p5, p6, p7])),
            bytes: i32::from_be_bytes([b0, b1, b2, b3]),
            tags_code: i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_recorded_from_the_java_server_reads_as_it_was() {
        let bytes = [0, 0, 0, 0, 0, 0, 0x05, 0x2D, 0, 0, 0, 0xC1, 0, 0, 0, 0, 0, 0x27, 0xA8, 0x1E];
        let entry = QueueEntry { phy_offset: PhyOffset(0x52D), bytes: 0xC1, tags_code: 0x27_A81E };
        assert_eq!(QueueEntry::decode(&bytes), entry);
        assert_eq!(entry.encode(), bytes);
        assert_eq!(entry.end(), PhyOffset(0x5EE));
    }

    #[test]
    fn zeros_are_no_entry_and_a_filler_is_one_without_a_record() {
        assert!(!QueueEntry::decode(&[0; ENTRY_BYTES]).is_valid());
        assert!(!QueueEntry { phy_offset: PhyOffset(-1), bytes: 9, tags_code: 0 }.is_valid());
        assert!(QueueEntry::FILLER.is_valid());
        assert_eq!(QueueEntry::FILLER.end(), PhyOffset(0));
    }
}
