//! Wakes a thread of the store. Raising a signal that is up already costs one atomic load, so that the append path
//! can raise one for each burst.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: AtomicBool,
    stopped: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    pub fn raise(&self) {
        if !self.raised.load(Ordering::SeqCst) && !self.raised.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Ends every wait, now and later.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Waits until the signal is raised, and lowers it; false if it was stopped.
    pub fn wait(&self) -> bool {
        self.wait_until(None);
        !self.is_stopped()
    }

    /// Like [`wait`](Self::wait), but no longer than so long.
    pub fn wait_for(&self, longest: Duration) -> bool {
        self.wait_until(Some(Instant::now() + longest));
        !self.is_stopped()
    }

    /// Waits for the whole time unless it is stopped, then lowers the signal; false if it was stopped.
    pub fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut guard = self.lock.lock();
        while !self.is_stopped() && !self.changed.wait_until(&mut guard, until).timed_out() {}
        self.raised.store(false, Ordering::SeqCst);
        !self.is_stopped()
    }

    fn wait_until(&self, until: Option<Instant>) {
        let mut guard = self.lock.lock();
        while !self.raised.swap(false, Ordering::SeqCst) && !self.is_stopped() {
            match until {
                None => self.changed.wait(&mut guard),
                Some(until) => {
                    if self.changed.wait_until(&mut guard, until).timed_out() {
                        self.raised.store(false, Ordering::SeqCst);
                        return;
                    }
                }
            }
        }
    }

    fn wake(&self) {
        // With the lock the waiter is either not yet past its check, or waits and hears this.
        let _guard = self.lock.lock();
        self.changed.notify_all();
    }
}
