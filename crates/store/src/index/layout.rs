//! The layout of an index file: header, hash slots, entries; big-endian.
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 8 + 8 | when the first and the last record were stored |
//! | 16 | 8 + 8 | positions of the first and the last record |
//! | 32 | 4 | slots in use |
//! | 36 | 4 | number of the next entry; the first one is 1 |
//! | 40 | 4 × slots | number of the newest entry of each slot, 0 for none |
//! | behind | 20 × entries | key hash (4), position (8), seconds since the file's first record (4), number of the entry before it in its slot (4) |

use crate::index::IndexKey;
use crate::position::{Millis, PhyOffset};

pub(crate) const HEADER_BYTES: usize = 40;
pub(crate) const SLOT_BYTES: usize = 4;
pub(crate) const ENTRY_BYTES: usize = 20;

/// How many slots and entries the files of a store have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) slots: u32,
    /// One less is usable: entry 0 is none.
    pub(crate) entries: u32,
}

impl Layout {
    pub(crate) fn file_bytes(&self) -> u64 {
        self.entry_at(self.entries)
    }

    pub(crate) fn slot_of(&self, hash: u32) -> u32 {
        hash % self.slots
    }

    pub(crate) fn slots_bytes(&self) -> u64 {
        u64::from(self.slots) * SLOT_BYTES as u64
    }

    pub(crate) fn entry_at(&self, number: u32) -> u64 {
        HEADER_BYTES as u64 + self.slots_bytes() + u64::from(number) * ENTRY_BYTES as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) begin_time: Millis,
    pub(crate) end_time: Millis,
    pub(crate) begin_phy: PhyOffset,
    pub(crate) end_phy: PhyOffset,
    pub(crate) used_slots: u32,
    /// The number of the next entry, at least 1.
    pub(crate) next: u32,
}

impl Header {
    pub(crate) const EMPTY: Header = Header {
        begin_time: Millis(0),
        end_time: Millis(0),
        begin_phy: PhyOffset(0),
        end_phy: PhyOffset(0),
        used_slots: 0,
        next: 1,
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.next <= 1
    }

    /// Takes a record's time and position into account.
    pub(crate) fn extend(&mut self, key: &IndexKey) {
        if self.is_empty() {
            self.begin_time = key.store_time;
            self.begin_phy = key.phy_offset;
        }
        self.end_time = key.store_time;
        self.end_phy = key.phy_offset;
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let longs = [self.begin_time.0, self.end_time.0, self.begin_phy.0, self.end_phy.0];
        for (at, long) in longs.iter().enumerate() {
            out[at * 8..][..8].copy_from_slice(&long.to_be_bytes());
        }
        out[32..36].copy_from_slice(&self.used_slots.to_be_bytes());
        out[36..].copy_from_slice(&self.next.to_be_bytes());
        out
    }

    /// What a header says, with numbers that fit a file of this layout whatever the bytes are.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], layout: &Layout) -> Header {
        Header {
            begin_time: Millis(long(bytes, 0).max(0)),
            end_time: Millis(long(bytes, 8).max(0)),
            begin_phy: PhyOffset(long(bytes, 16).max(0)),
            end_phy: PhyOffset(long(bytes, 24).max(0)),
            used_slots: int(bytes, 32).min(layout.slots),
            next: int(bytes, 36).clamp(1, layout.entries),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) hash: u32,
    pub(crate) phy_offset: PhyOffset,
    /// Since the file's first record.
    pub(crate) seconds: i32,
    /// The entry before it in its slot; 0 for none.
    pub(crate) previous: u32,
}

impl IndexEntry {
    pub(crate) fn new(key: &IndexKey, begin: Millis, previous: u32) -> IndexEntry {
        let seconds = key.store_time.0.saturating_sub(begin.0) / 1000;
        IndexEntry {
            hash: key.hash,
            phy_offset: key.phy_offset,
            seconds: seconds.clamp(0, i64::from(i32::MAX)) as i32,
            previous,
        }
    }

    pub(crate) fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut out = [0; ENTRY_BYTES];
        out[..4].copy_from_slice(&self.hash.to_be_bytes());
        out[4..12].copy_from_slice(&self.phy_offset.0.to_be_bytes());
        out[12..16].copy_from_slice(&self.seconds.to_be_bytes());
        out[16..].copy_from_slice(&self.previous.to_be_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; ENTRY_BYTES]) -> IndexEntry {
        IndexEntry {
            hash: int(bytes, 0),
            phy_offset: PhyOffset(long(bytes, 4)),
            seconds: int(bytes, 12).cast_signed(),
            previous: int(bytes, 16),
        }
    }

    /// When the record was stored, to the second below.
    pub(crate) fn store_time(&self, begin: Millis) -> Millis {
        Millis(begin.0.saturating_add(i64::from(self.seconds) * 1000))
    }
}

fn int(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |n, &byte| n << 8 | u32::from(byte))
}

fn long(bytes: &[u8], at: usize) -> i64 {
    bytes[at..at + 8].iter().fold(0, |n, &byte| n << 8 | i64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn default_files_have_the_java_servers_size() {
        assert_eq!(Layout { slots: 5_000_000, entries: 20_000_000 }.file_bytes(), 420_000_040);
    }

    #[test]
    fn a_header_keeps_to_its_file() {
        let layout = Layout { slots: 10, entries: 20 };
        assert_eq!(Header::decode(&[0; HEADER_BYTES], &layout), Header::EMPTY);
        let wild = Header::decode(&[0xFF; HEADER_BYTES], &layout);
        assert_eq!((wild.used_slots, wild.next), (10, 20));
    }

    #[test]
    fn an_entry_has_its_golden_bytes() {
        let key = IndexKey { hash: 0x0102_0304, phy_offset: PhyOffset(0x52D), store_time: Millis(9_999) };
        let entry = IndexEntry::new(&key, Millis(5_000), 7);
        assert_eq!(entry.encode(), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 0x2D, 0, 0, 0, 4, 0, 0, 0, 7]);
        assert_eq!(entry.store_time(Millis(5_000)), Millis(9_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn reads_back_what_it_wrote(hash: u32, phy: i64, seconds: i32, previous: u32) {
            let entry = IndexEntry { hash, phy_offset: PhyOffset(phy), seconds, previous };
            prop_assert_eq!(IndexEntry::decode(&entry.encode()), entry);
        }

        #[test]
        fn a_header_reads_back(numbers: [u32; 4], used in 0u32..10, next in 1u32..20) {
            let [begin, end, first, last] = numbers.map(|number| i64::from(number) << 31);
            let header = Header {
                begin_time: Millis(begin),
                end_time: Millis(end),
                begin_phy: PhyOffset(first),
                end_phy: PhyOffset(last),
                used_slots: used,
                next,
            };
            prop_assert_eq!(Header::decode(&header.encode(), &Layout { slots: 10, entries: 20 }), header);
        }
    }
}
