//! Positions of the log and what each promises: `confirmed <= appended`, `flushed <= appended`. They move forward
//! only; a cut of the log happens before they are set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Debug)]
pub(crate) struct Watermarks {
    /// Everything before it is written: a crash of the process doesn't lose it.
    appended: AtomicI64,
    /// Everything before it is on the disk.
    flushed: AtomicI64,
    /// Readers see everything before it. Shared with the consume queues.
    confirmed: Arc<AtomicI64>,
}

impl Watermarks {
    pub fn new(end: i64, confirmed: Arc<AtomicI64>) -> Self {
        confirmed.store(end, Ordering::SeqCst);
        Watermarks { appended: AtomicI64::new(end), flushed: AtomicI64::new(end), confirmed }
    }

    pub fn appended(&self) -> i64 {
        self.appended.load(Ordering::Acquire)
    }

    pub fn flushed(&self) -> i64 {
        self.flushed.load(Ordering::Acquire)
    }

    pub fn confirmed(&self) -> i64 {
        self.confirmed.load(Ordering::Acquire)
    }

    pub fn advance_appended(&self, to: i64) {
        self.appended.fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_flushed(&self, to: i64) {
        self.flushed.fetch_max(to, Ordering::AcqRel);
    }

    /// Sequentially consistent, like a reader's count of itself among a queue's waiters: either the reader sees the
    /// message, or whoever confirms it sees the reader.
    pub fn advance_confirmed(&self, to: i64) {
        self.confirmed.fetch_max(to, Ordering::SeqCst);
    }
}
