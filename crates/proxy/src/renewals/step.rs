//! What is done with a message whose time is nearly up.

use crate::config::ProxyConfig;

/// For how long a message is kept out of sight, the first time and each time after that.
const RENEWED_MS: [i64; 6] = [60_000, 180_000, 300_000, 600_000, 1_800_000, 3_600_000];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Renew {
        invisible_ms: i64,
    },
    /// Its client takes too long: somebody else is to try after the group's own pause.
    HandOn,
    /// It can't be renewed.
    Forget,
}

pub fn step(config: &ProxyConfig, kept_ms: i64, renewals: usize, failures: u32) -> Step {
    if failures >= config.renew_failures_max {
        Step::Forget
    } else if kept_ms >= config.renew_ms_max {
        Step::HandOn
    } else {
        let [.., last] = RENEWED_MS;
        Step::Renew { invisible_ms: RENEWED_MS.get(renewals).copied().unwrap_or(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_lasts_longer_until_it_is_enough() {
        let check = |kept_ms, renewals, failures, expected| {
            assert_eq!(step(&ProxyConfig::default(), kept_ms, renewals, failures), expected);
        };
        let renew = |minutes: i64| Step::Renew { invisible_ms: minutes * 60_000 };
        check(0, 0, 0, renew(1));
        check(0, 1, 2, renew(3));
        check(0, 5, 0, renew(60));
        check(0, 99, 0, renew(60));
        check(0, 0, 3, Step::Forget);
        check(3 * 3_600_000 - 1, 7, 0, renew(60));
        check(3 * 3_600_000, 7, 0, Step::HandOn);
    }
}
