//! Totals at midnight, so that yesterday and today can be told.

use roxmq_store::{Millis, local_time};

/// Messages put and given out by now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InOut {
    pub put: u64,
    pub get: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DayTotals {
    /// The local date of the last look.
    day: u64,
    pub yesterday_morning: InOut,
    pub today_morning: InOut,
}

impl DayTotals {
    pub(super) fn new(now: Millis) -> Self {
        DayTotals { day: day(now), yesterday_morning: InOut::default(), today_morning: InOut::default() }
    }

    /// To be called often: at the first call of a day what was counted so far is the morning's total.
    pub(super) fn tick(&mut self, now: Millis, totals: InOut) {
        let today = day(now);
        if today != self.day {
            self.day = today;
            self.yesterday_morning = self.today_morning;
            self.today_morning = totals;
        }
    }
}

/// `yyyyMMdd` where this machine is.
fn day(at: Millis) -> u64 {
    const BELOW_DAY: u64 = 1_000_000_000;
    local_time::digits(at) / BELOW_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mornings_move_on_at_midnight() {
        const DAY_MS: i64 = 86_400_000;
        let start = Millis(1_700_000_000_000);
        let mut days = DayTotals::new(start);
        let totals = |put| InOut { put, get: 0 };
        days.tick(Millis(start.0 + 1000), totals(5));
        assert_eq!(days.today_morning, totals(0));
        days.tick(Millis(start.0 + DAY_MS), totals(10));
        assert_eq!((days.yesterday_morning, days.today_morning), (totals(0), totals(10)));
        days.tick(Millis(start.0 + 2 * DAY_MS), totals(30));
        assert_eq!((days.yesterday_morning, days.today_morning), (totals(10), totals(30)));
    }
}
