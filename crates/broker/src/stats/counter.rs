//! What is counted, and what a window needs to know of it.

use super::windows::Windows;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use roxmq_store::Millis;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often something happened and how many bytes there were.
#[derive(Debug, Default)]
pub struct Counter {
    count: AtomicU64,
    bytes: AtomicU64,
}

/// What a counter said at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub count: u64,
    pub bytes: u64,
}

impl Counter {
    pub fn add(&self, count: u64, bytes: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn totals(&self) -> Totals {
        Totals { count: self.count(), bytes: self.bytes() }
    }
}

/// A counter with its windows. What never counted anything has none, so that many idle topics cost little.
#[derive(Debug, Default)]
pub struct Sampled {
    counter: Counter,
    windows: Mutex<Option<Box<CounterWindows>>>,
}

#[derive(Debug, Default)]
pub(crate) struct CounterWindows {
    pub messages: Windows,
    pub bytes: Windows,
}

impl Sampled {
    pub fn add(&self, count: u64, bytes: u64) {
        self.counter.add(count, bytes);
    }

    pub fn count(&self) -> u64 {
        self.counter.count()
    }

    pub fn totals(&self) -> Totals {
        self.counter.totals()
    }

    /// The sampler's tick.
    pub(super) fn sample(&self, now: Millis) {
        let totals = self.totals();
        if totals.count == 0 {
            return;
        }
        let mut windows = self.windows();
        windows.messages.sample(now, totals.count, totals.count);
        windows.bytes.sample(now, totals.bytes, totals.count);
    }

    pub(crate) fn windows(&self) -> MappedMutexGuard<'_, CounterWindows> {
        MutexGuard::map(self.windows.lock(), |windows| &mut **windows.get_or_insert_default())
    }
}
