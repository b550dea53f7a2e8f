//! A unit of the timer log: 52 bytes for a message that waits. `docs/formats/timer.md` has the picture.

use super::TimerEntry;
use super::slot::slot_at;
use crate::position::{Millis, PhyOffset};

pub(super) const UNIT_BYTES: usize = 52;
/// Every file keeps room for it behind its last unit.
pub(super) const FILLER_BYTES: usize = 16;
/// The magic code of what fills the end of a file.
const MAGIC_BLANK: i32 = 0xCBD4_3194_u32 as i32;
/// Where the position of the unit before it in its slot lies.
pub(super) const PREVIOUS_AT: u64 = 4;

const DEFAULT: i32 = 1;
const ROLLS: i32 = 2;
const RECALLS: i32 = 4;
/// The Java server takes these bits only.
const MAGIC_MASK: i32 = 0xF;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The unit before it in its slot, or -1.
    pub previous: i64,
    pub magic: i32,
    /// The moment that it was written at.
    pub written: i64,
    /// How long the message waits from then on. The Java server only wants it to lie in the slot; here it tells when
    /// within the slot the message is due, or is the slot's own time for its end.
    pub wait_ms: i32,
    pub phy_offset: i64,
    pub record_bytes: i32,
    pub topic_hash: i32,
}

/// What lies at a place of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Unit(Unit),
    /// The rest of the file has none.
    Filler,
    Nothing,
}

impl Unit {
    pub fn of(entry: &TimerEntry, precision_ms: i64, previous: i64) -> Unit {
        let end = entry.slot.0 + precision_ms;
        let time = if entry.due.0 >= end { entry.slot.0 } else { entry.due.0 };
        let mut magic = DEFAULT;
        if entry.rolls {
            magic |= ROLLS;
        }
        if entry.recalls {
            magic |= RECALLS;
        }
        Unit {
            previous,
            magic,
            written: entry.written.0,
            wait_ms: (time - entry.written.0).clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            phy_offset: entry.phy_offset.0,
            record_bytes: entry.record_bytes,
            topic_hash: entry.topic_hash,
        }
    }

    pub fn slot(&self, precision_ms: i64) -> Millis {
        slot_at(Millis(self.time()), precision_ms)
    }

    fn time(&self) -> i64 {
        self.written.saturating_add(self.wait_ms.into())
    }

    pub fn entry(&self, precision_ms: i64) -> TimerEntry {
        let slot = self.slot(precision_ms);
        let time = self.time();
        TimerEntry {
            slot,
            due: Millis(if time == slot.0 { slot.0.saturating_add(precision_ms) } else { time }),
            written: Millis(self.written),
            phy_offset: PhyOffset(self.phy_offset),
            record_bytes: self.record_bytes,
            topic_hash: self.topic_hash,
            rolls: self.magic & ROLLS != 0,
            recalls: self.magic & RECALLS != 0,
        }
    }

    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        let mut bytes = [0; UNIT_BYTES];
        bytes[..4].copy_from_slice(&(UNIT_BYTES as i32).to_be_bytes());
        bytes[4..12].copy_from_slice(&self.previous.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.magic.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.written.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.wait_ms.to_be_bytes());
        bytes[28..36].copy_from_slice(&self.phy_offset.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.record_bytes.to_be_bytes());
        bytes[40..44].copy_from_slice(&self.topic_hash.to_be_bytes());
        bytes
    }

    /// Bytes that can't be a unit are none, as those of one that the disk has only a part of.
    pub fn decode(bytes: &[u8; UNIT_BYTES]) -> Found {
        let long = |at: usize| bytes[at..at + 8].iter().fold(0, |n: i64, byte| n << 8 | i64::from(*byte));
        let int = |at: usize| bytes[at..at + 4].iter().fold(0, |n: i32, byte| n << 8 | i32::from(*byte));
        let (size, magic) = (int(0), int(12));
        if magic == MAGIC_BLANK {
            return Found::Filler;
        }
        if size != UNIT_BYTES as i32 || magic & !MAGIC_MASK != 0 || magic == 0 || int(36) <= 0 {
            return Found::Nothing;
        }
        Found::Unit(Unit {
            previous: long(4),
            magic,
            written: long(16),
            wait_ms: int(24),
            phy_offset: long(28),
            record_bytes: int(36),
            topic_hash: int(40),
        })
    }
}

/// What fills the last bytes of a file.
pub(super) fn filler(rest: i64) -> [u8; FILLER_BYTES] {
    let mut bytes = [0; FILLER_BYTES];
    bytes[..4].copy_from_slice(&(rest as i32).to_be_bytes());
    bytes[12..].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(due: i64) -> TimerEntry {
        TimerEntry {
            slot: Millis(5_000),
            due: Millis(due),
            written: Millis(2_000),
            phy_offset: PhyOffset(0x0102_0304),
            record_bytes: 300,
            topic_hash: -2,
            rolls: false,
            recalls: true,
        }
    }

    #[test]
    fn the_fields_lie_where_the_java_server_has_them() {
        let unit = Unit::of(&entry(6_000), 1_000, 104);
        let golden = [
            0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 104, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 7, 0xD0, 0, 0, 0x0B, 0xB8,
            0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 1, 0x2C, 0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(unit.encode(), golden);
        assert_eq!(Unit::decode(&golden), Found::Unit(unit));
        assert_eq!(filler(66), [0, 0, 0, 66, 0, 0, 0, 0, 0, 0, 0, 0, 0xCB, 0xD4, 0x31, 0x94]);
    }

    #[test]
    fn the_time_within_the_slot_is_kept() {
        for due in [5_001, 5_500, 5_999, 6_000] {
            let unit = Unit::of(&entry(due), 1_000, NO_PREVIOUS);
            assert_eq!(unit.entry(1_000), entry(due));
            assert_eq!(unit.slot(1_000), Millis(5_000), "{due}");
        }
    }
    const NO_PREVIOUS: i64 = -1;

    #[test]
    fn what_is_no_unit() {
        assert_eq!(Unit::decode(&[0; UNIT_BYTES]), Found::Nothing);
        let mut bytes = Unit::of(&entry(6_000), 1_000, -1).encode();
        bytes[12] = 1;
        assert_eq!(Unit::decode(&bytes), Found::Nothing);
        bytes[12..16].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
        assert_eq!(Unit::decode(&bytes), Found::Filler);
        // Sectors end between fields.
        let whole = Unit::of(&entry(6_000), 1_000, 8).encode();
        for cut in (4..=36).step_by(4) {
            let mut torn = whole;
            torn[cut..].fill(0);
            assert_eq!(Unit::decode(&torn), Found::Nothing, "{cut}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::array::uniform32(0u8..8), magic in 0i32..16) {
            let mut unit = [0; UNIT_BYTES];
            unit[..32].copy_from_slice(&bytes);
            unit[..4].copy_from_slice(&52_i32.to_be_bytes());
            unit[12..16].copy_from_slice(&magic.to_be_bytes());
            if let Found::Unit(found) = Unit::decode(&unit) {
                let entry = found.entry(1_000);
                prop_assert!(entry.due > entry.slot);
                prop_assert_eq!(Unit::decode(&found.encode()), Found::Unit(found));
            }
        }
    }
}
