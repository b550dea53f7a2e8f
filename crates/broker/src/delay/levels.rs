//! The delay levels (`messageDelayLevel`): level 1 is the first entry of `1s 5s 10s …`.

/// What the Java server has by default; 18 levels.
pub const DEFAULT_LEVELS: &str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h";

use roxmq_store::{Millis, QueueId};

/// Where and until when a delayed message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    pub(crate) level: i32,
    /// Of the schedule topic.
    pub(crate) queue_id: QueueId,
    /// The tags code of its queue entry.
    pub(crate) due: Millis,
}

/// How long each level waits. There is at least one level, and each waits at least a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayLevels {
    delays_ms: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    #[error("messageDelayLevel is empty; the default is '{DEFAULT_LEVELS}'")]
    Empty,
    #[error("messageDelayLevel has '{0}' where a number and one of s, m, h, d is expected, as in '10s'")]
    Entry(String),
}

impl DelayLevels {
    pub fn parse(text: &str) -> Result<Self, LevelError> {
        let delays_ms = text.split_ascii_whitespace().map(parse_entry).collect::<Result<Vec<_>, _>>()?;
        if delays_ms.is_empty() {
            return Err(LevelError::Empty);
        }
        Ok(DelayLevels { delays_ms })
    }

    /// The highest level.
    pub fn max(&self) -> i32 {
        self.delays_ms.len() as i32
    }

    /// How long a level waits; a level that doesn't exist waits like the nearest one.
    pub fn delay_ms(&self, level: i32) -> i64 {
        self.delays_ms[level.clamp(1, self.max()) as usize - 1]
    }

    /// The place of a message that is to wait at this level from now on; `level` is above 0.
    pub(crate) fn park(&self, level: i32, now: Millis) -> Parked {
        let level = level.clamp(1, self.max());
        Parked {
            level,
            queue_id: QueueId(level - 1),
            due: Millis(now.0.saturating_add(self.delay_ms(level))),
        }
    }

    pub fn delays_ms(&self) -> &[i64] {
        &self.delays_ms
    }
}

impl Default for DelayLevels {
    fn default() -> Self {
        DelayLevels::parse(DEFAULT_LEVELS).expect("the default levels are well formed")
    }
}

fn parse_entry(entry: &str) -> Result<i64, LevelError> {
    let bad = || LevelError::Entry(entry.to_owned());
    let unit_at = entry.len().checked_sub(1).filter(|at| entry.is_char_boundary(*at)).ok_or_else(bad)?;
    let (number, unit) = entry.split_at(unit_at);
    let unit_ms = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(bad()),
    };
    let number: i64 = number.parse().map_err(|_| bad())?;
    number.checked_mul(unit_ms).filter(|delay_ms| *delay_ms > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_eighteen_levels() {
        let levels = DelayLevels::default();
        assert_eq!(levels.max(), 18);
        for (level, delay_ms) in [(1, 1_000), (3, 10_000), (5, 60_000), (18, 7_200_000), (19, 7_200_000)] {
            assert_eq!(levels.delay_ms(level), delay_ms, "level {level}");
        }
    }

    #[test]
    fn a_level_above_the_highest_is_the_highest() {
        let levels = DelayLevels::default();
        for (asked, level, due) in
            [(1, 1, 1_005), (18, 18, 7_200_005), (19, 18, 7_200_005), (i32::MAX, 18, 7_200_005)]
        {
            let parked = Parked { level, queue_id: QueueId(level - 1), due: Millis(due) };
            assert_eq!(levels.park(asked, Millis(5)), parked, "level {asked}");
        }
    }

    #[test]
    fn own_levels_and_broken_ones() {
        let check = |text: &str, expected: Result<&[i64], LevelError>| {
            let found = DelayLevels::parse(text);
            assert_eq!(found.as_ref().map(DelayLevels::delays_ms), expected.as_ref().copied(), "{text}");
        };
        let entry = |text: &str| Err(LevelError::Entry(text.to_owned()));
        check("2s  3d", Ok(&[2_000, 259_200_000]));
        check("", Err(LevelError::Empty));
        check("1s 5x", entry("5x"));
        check("1s s", entry("s"));
        check("1s -5s", entry("-5s"));
        check("0s", entry("0s"));
        check("9223372036854775807d", entry("9223372036854775807d"));
        check("1é", entry("1é"));
    }
}
