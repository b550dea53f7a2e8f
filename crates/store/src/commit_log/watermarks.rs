//! Positions of the log and what each promises: `confirmed <= appended`, `flushed <= appended`. They move forward
//! only; a cut of the log happens before they are set.
//!
//! What may be acknowledged is confirmed before: everything that is appended with asynchronous flush, everything that
//! is flushed with synchronous flush. So whoever was told that a message is stored can read it.

use crate::options::FlushMode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Debug)]
pub(crate) struct Watermarks {
    mode: FlushMode,
    /// Everything before it is written: a crash of the process doesn't lose it.
    appended: AtomicI64,
    /// Everything before it is on the disk.
    flushed: AtomicI64,
    /// Readers see everything before it. Shared with the consume queues.
    confirmed: Arc<AtomicI64>,
}

impl Watermarks {
    pub fn new(end: i64, confirmed: Arc<AtomicI64>, mode: FlushMode) -> Self {
        confirmed.store(end, Ordering::SeqCst);
        Watermarks { mode, appended: AtomicI64::new(end), flushed: AtomicI64::new(end), confirmed }
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
        if self.mode == FlushMode::Async {
            self.confirm(to);
        }
    }

    pub fn advance_flushed(&self, to: i64) {
        if self.mode == FlushMode::Sync {
            self.confirm(to);
        }
        self.flushed.fetch_max(to, Ordering::AcqRel);
    }

    /// Sequentially consistent, like a reader's count of itself among a queue's waiters: either the reader sees the
    /// message, or whoever confirms it sees the reader.
    fn confirm(&self, to: i64) {
        self.confirmed.fetch_max(to, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn marks(mode: FlushMode) -> Watermarks {
        Watermarks::new(0, Arc::default(), mode)
    }

    #[test]
    fn what_is_flushed_is_confirmed_before() {
        const END: i64 = 200_000;
        let marks = marks(FlushMode::Sync);
        thread::scope(|scope| {
            scope.spawn(|| (1..=END).for_each(|to| marks.advance_flushed(to)));
            let mut flushed = 0;
            while flushed < END {
                flushed = marks.flushed();
                assert!(marks.confirmed() >= flushed, "{flushed}");
            }
        });
    }

    #[test]
    fn what_is_appended_is_confirmed_at_once_with_asynchronous_flush_only() {
        for (mode, confirmed) in [(FlushMode::Async, 7), (FlushMode::Sync, 0)] {
            let marks = marks(mode);
            marks.advance_appended(7);
            assert_eq!(marks.confirmed(), confirmed, "{mode:?}");
        }
    }
}
