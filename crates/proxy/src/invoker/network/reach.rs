//! Which addresses can't be reached: after a failure nobody tries again before a pause is over, which grows with each
//! one that follows once the address has been out of reach for longer than a restart takes.

use super::ABSENCE;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// Beyond, old troubles are forgotten: whoever tries finds out anew.
const TROUBLES_MAX: usize = 10_000;

#[derive(Default)]
pub struct Reach {
    troubles: Mutex<HashMap<Arc<str>, Trouble, RandomState>>,
}

struct Trouble {
    reason: String,
    since: Instant,
    pause: Duration,
    until: Instant,
}

impl Reach {
    /// Why there is no point in trying this address now.
    pub fn trouble(&self, address: &str, now: Instant) -> Option<String> {
        let troubles = self.troubles.lock();
        troubles.get(address).filter(|trouble| now < trouble.until).map(|trouble| trouble.reason.clone())
    }

    pub fn is_well(&self, address: &str, now: Instant) -> bool {
        self.troubles.lock().get(address).is_none_or(|trouble| now >= trouble.until)
    }

    /// When to try an address again that may come back soon.
    pub fn retry(&self, address: &str, now: Instant) -> Option<Instant> {
        let troubles = self.troubles.lock();
        troubles.get(address).filter(|trouble| now < trouble.since + ABSENCE).map(|trouble| trouble.until)
    }

    pub fn failed(&self, address: &Arc<str>, reason: String, now: Instant) {
        let mut troubles = self.troubles.lock();
        if troubles.len() >= TROUBLES_MAX {
            troubles.clear();
        }
        let (since, pause) = match troubles.get(address) {
            // Somebody else tried at the same time.
            Some(trouble) if now < trouble.until => (trouble.since, trouble.pause),
            Some(trouble) if now < trouble.since + ABSENCE => (trouble.since, PAUSE_MIN),
            Some(trouble) => (trouble.since, (trouble.pause * 2).min(PAUSE_MAX)),
            None => (now, PAUSE_MIN),
        };
        troubles.insert(Arc::clone(address), Trouble { reason, since, pause, until: now + pause });
    }

    pub fn succeeded(&self, address: &str) {
        self.troubles.lock().remove(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_it_goes_well() {
        let reach = Reach::default();
        let address: Arc<str> = "h:1".into();
        let mut now = Instant::now();
        assert!(reach.is_well(&address, now));
        let mut pauses = Vec::new();
        for _ in 0..26 {
            reach.failed(&address, "refused".to_owned(), now);
            reach.failed(&address, "refused".to_owned(), now);
            assert_eq!(reach.trouble(&address, now).as_deref(), Some("refused"));
            let mut pause = Duration::ZERO;
            while !reach.is_well(&address, now + pause) {
                pause += Duration::from_millis(100);
            }
            pauses.push(pause.as_millis());
            now += pause;
        }
        assert_eq!(pauses[..20], [100; 20]);
        assert_eq!(pauses[20..], [200, 400, 800, 1_600, 3_000, 3_000]);
        reach.succeeded(&address);
        reach.failed(&address, "refused".to_owned(), now);
        assert!(reach.is_well(&address, now + PAUSE_MIN));
    }

    #[test]
    fn it_is_tried_again_for_as_long_as_a_restart_takes() {
        let reach = Reach::default();
        let address: Arc<str> = "h:1".into();
        let start = Instant::now();
        assert_eq!(reach.retry(&address, start), None);
        reach.failed(&address, "refused".to_owned(), start);
        assert_eq!(reach.retry(&address, start), Some(start + PAUSE_MIN));
        let later = start + ABSENCE - Duration::from_millis(1);
        reach.failed(&address, "refused".to_owned(), later);
        assert_eq!(reach.retry(&address, later), Some(later + PAUSE_MIN));
        assert_eq!(reach.retry(&address, start + ABSENCE), None);
        reach.succeeded(&address);
        assert_eq!(reach.retry(&address, later), None);
    }
}
