//! Sleeps until the next deadline of those who wait, whenever that is.
//!
//! One task for all of them; it wakes up when somebody's time is up, and when somebody comes whose time is up earlier.

use roxmq_store::Millis;
use roxmq_store::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// When nobody waits.
const NEVER: Millis = Millis(i64::MAX);

pub(crate) struct Deadlines {
    /// When the task looks next.
    looks_at: AtomicI64,
    changed: Notify,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines { looks_at: AtomicI64::new(NEVER.0), changed: Notify::new() }
    }
}

impl Deadlines {
    /// Somebody waits until then, as `next` already says.
    pub(crate) fn note(&self, deadline: Millis) {
        if deadline.0 < self.looks_at.load(Ordering::SeqCst) {
            self.changed.notify_one();
        }
    }

    /// Calls `finish` at every deadline that `next` tells. Runs until its task is dropped.
    pub(crate) async fn run(
        &self,
        clock: &dyn Clock,
        next: impl Fn() -> Option<Millis>,
        finish: impl Fn(Millis),
    ) {
        loop {
            finish(clock.now());
            let deadline = next().unwrap_or(NEVER);
            self.looks_at.store(deadline.0, Ordering::SeqCst);
            // Who came in between has seen the old time; it is seen here.
            if next().unwrap_or(NEVER) < deadline {
                continue;
            }
            if deadline == NEVER {
                self.changed.notified().await;
                continue;
            }
            let wait_ms = deadline.0.saturating_sub(clock.now().0).max(0) as u64;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}
