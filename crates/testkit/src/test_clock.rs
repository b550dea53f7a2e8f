//! A clock that stands still until a test moves it.

use roxmq_store::Millis;
use roxmq_store::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn at(now: Millis) -> TestClock {
        TestClock(AtomicI64::new(now.0))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
    }

    pub fn set(&self, now: Millis) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }
}
