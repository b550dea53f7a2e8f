//! The sleep of a thread that has something to do at a known time, and may be woken for something earlier.
//!
//! Whoever makes work tells the alarm when it is due; only a thread that would oversleep is woken, so that work far
//! ahead costs an atomic read. What is made while the thread looks for work tells nobody: before it sleeps it looks
//! once more.

use parking_lot::{Condvar, Mutex};
use roxmq_store::Millis;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// The longest sleep; looking in vain once a minute costs nothing, and when the clock was set ahead, or the machine
/// slept, nothing is late for longer.
const SLEEP_MS_MAX: i64 = 60_000;

#[derive(Default)]
pub(crate) struct Alarm {
    state: Mutex<State>,
    changed: Condvar,
    /// When the thread looks next by itself; 0 while it is looking.
    asleep_until: AtomicI64,
}

#[derive(Default)]
struct State {
    stop: bool,
    look_again: bool,
}

impl Alarm {
    /// There is something to do at this time.
    pub(crate) fn set_for(&self, due: Millis) {
        if due.0 < self.asleep_until.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// There may be something to do now.
    pub(crate) fn wake(&self) {
        self.state.lock().look_again = true;
        self.changed.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_one();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.state.lock().stop
    }

    /// The thread begins to look for what is due.
    pub(crate) fn look(&self) {
        self.asleep_until.store(0, Ordering::SeqCst);
    }

    /// Sleeps until the next time, if there is one, or until there is something earlier; not at all if there is
    /// something before the time by now. False when it is time to stop.
    pub(crate) fn sleep(
        &self,
        now: Millis,
        next: Option<Millis>,
        has_news: impl FnOnce(Millis) -> bool,
    ) -> bool {
        let longest = now.0.saturating_add(SLEEP_MS_MAX);
        let until = next.map_or(longest, |next| next.0.min(longest));
        self.asleep_until.store(until, Ordering::SeqCst);
        let wait_ms = if has_news(Millis(until)) { 0 } else { until - now.0 };
        let mut state = self.state.lock();
        if !state.stop && !state.look_again && wait_ms > 0 {
            self.changed.wait_for(&mut state, Duration::from_millis(wait_ms as u64));
        }
        state.look_again = false;
        !state.stop
    }
}
