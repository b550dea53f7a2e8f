//! A slot of the wheel: 32 bytes, for the messages of one moment. `docs/formats/timer.md` has the picture.

use crate::position::Millis;

pub(super) const SLOT_BYTES: usize = 32;
/// Where there is no unit.
pub(super) const NO_UNIT: i64 = -1;

/// Its units in the log form a chain from the last to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The moment, in units of the wheel's precision.
    pub number: i64,
    pub first: i64,
    pub last: i64,
    /// How many messages there are, less those that are taken back.
    pub count: i32,
    /// Written as it was found; the Java server has no use for it yet.
    pub magic: i32,
}

impl Slot {
    /// Of no moment at all.
    pub const BLANK: Slot = Slot { number: -1, first: NO_UNIT, last: NO_UNIT, count: 0, magic: 0 };

    /// Of a moment without messages yet.
    pub fn empty(number: i64) -> Slot {
        Slot { number, ..Slot::BLANK }
    }

    pub fn decode(bytes: &[u8; SLOT_BYTES]) -> Slot {
        let long = |at: usize| bytes[at..at + 8].iter().fold(0, |n: i64, byte| n << 8 | i64::from(*byte));
        let int = |at: usize| bytes[at..at + 4].iter().fold(0, |n: i32, byte| n << 8 | i32::from(*byte));
        Slot { number: long(0), first: long(8), last: long(16), count: int(24), magic: int(28) }
    }

    pub fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.last.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.count.to_be_bytes());
        bytes[28..].copy_from_slice(&self.magic.to_be_bytes());
        bytes
    }
}

/// The moment whose slot a message waits in: the last one before it is due, as the Java server rounds. Once the slot is
/// over, all of its messages are due.
pub fn slot_before(due: Millis, precision_ms: i64) -> Millis {
    Millis((due.0 - 1).div_euclid(precision_ms) * precision_ms)
}

/// The moment whose slot is on at this time.
pub fn slot_at(time: Millis, precision_ms: i64) -> Millis {
    Millis(time.0.div_euclid(precision_ms) * precision_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_lie_where_the_java_server_has_them() {
        let slot = Slot { number: 1_795_987_788, first: 0x1234, last: 0x5678, count: 3, magic: 0 };
        let golden = [
            0, 0, 0, 0, 0x6B, 0x0C, 0x99, 0x4C, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0x56, 0x78,
            0, 0, 0, 3, 0, 0, 0, 0,
        ];
        assert_eq!(slot.encode(), golden);
        assert_eq!(Slot::decode(&golden), slot);
        assert_eq!(Slot::decode(&Slot::BLANK.encode()), Slot::BLANK);
    }

    #[test]
    fn a_whole_second_is_in_the_slot_before_it() {
        for (due, slot) in [(5_001, 5_000), (5_999, 5_000), (6_000, 5_000), (6_001, 6_000)] {
            assert_eq!(slot_before(Millis(due), 1_000), Millis(slot), "{due}");
        }
        assert_eq!(
            (slot_at(Millis(5_000), 1_000), slot_at(Millis(5_999), 1_000)),
            (Millis(5_000), Millis(5_000))
        );
    }
}
