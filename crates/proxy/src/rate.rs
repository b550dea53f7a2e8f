//! How often something was done within the current second.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Rate(Mutex<Option<Window>>);

#[derive(Clone, Copy, Debug)]
struct Window {
    since: Instant,
    count: u32,
}

impl Rate {
    /// Whether it may be done once more, with at most `limit` in a second.
    pub fn take(&self, limit: u32, now: Instant) -> bool {
        let mut window = self.0.lock();
        let current = window.filter(|window| now.saturating_duration_since(window.since) < SECOND);
        let current = current.unwrap_or(Window { since: now, count: 0 });
        if current.count >= limit {
            return false;
        }
        *window = Some(Window { count: current.count + 1, ..current });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_share() {
        let (rate, start) = (Rate::default(), Instant::now());
        let taken = |ms: u64, limit| rate.take(limit, start + Duration::from_millis(ms));
        assert_eq!([taken(0, 2), taken(500, 2), taken(999, 2)], [true, true, false]);
        assert_eq!([taken(1_000, 2), taken(1_001, 2), taken(1_002, 2)], [true, true, false]);
        assert_eq!([taken(9_000, 0), taken(9_001, 1)], [false, true]);
    }
}
