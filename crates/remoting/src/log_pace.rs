//! Keeps log lines that anybody on the network can provoke from filling the disk: one of a kind in a while, with the
//! number of those that were left out.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct LogPace {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl LogPace {
    /// Whether a line may be written now: if so, how many were left out since the last.
    pub fn next(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_a_while_says_how_many_there_would_have_been() {
        let pace = LogPace::default();
        let start = Instant::now();
        assert_eq!(pace.next(start), Some(0));
        assert_eq!(pace.next(start + PAUSE / 2), None);
        assert_eq!(pace.next(start + PAUSE / 2), None);
        assert_eq!(pace.next(start + PAUSE), Some(2));
        assert_eq!(pace.next(start + PAUSE), None);
        assert_eq!(pace.next(start + PAUSE * 2), Some(1));
    }
}
