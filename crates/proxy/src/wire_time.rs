//! Times and durations of the protocol, in milliseconds.

use prost_types::{Duration, Timestamp};

pub const fn timestamp(ms: i64) -> Timestamp {
    Timestamp { seconds: ms.div_euclid(1000), nanos: ms.rem_euclid(1000) as i32 * 1_000_000 }
}

pub const fn duration(ms: i64) -> Duration {
    Duration { seconds: ms / 1000, nanos: (ms % 1000) as i32 * 1_000_000 }
}

/// Far times end at the edges of what milliseconds can hold.
pub fn ms_of(time: &Timestamp) -> i64 {
    time.seconds.saturating_mul(1000).saturating_add(i64::from(time.nanos / 1_000_000))
}

pub fn ms_of_duration(duration: &Duration) -> i64 {
    duration.seconds.saturating_mul(1000).saturating_add(i64::from(duration.nanos / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_come_back() {
        for ms in [0, 1, 999, 1000, 1_795_987_636_606, -1, -1000, -1001] {
            assert_eq!(ms_of(&timestamp(ms)), ms);
            assert_eq!(ms_of_duration(&duration(ms)), ms);
        }
        assert!((0..1_000_000_000).contains(&timestamp(-1).nanos));
        assert_eq!(ms_of(&Timestamp { seconds: i64::MAX, nanos: 0 }), i64::MAX);
        assert_eq!(ms_of_duration(&Duration { seconds: i64::MIN, nanos: -1 }), i64::MIN);
    }
}
