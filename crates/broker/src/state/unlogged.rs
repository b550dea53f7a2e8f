//! Whether a table has changes that the state log doesn't hold yet. What they are is the table's business.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Unlogged {
    any: AtomicBool,
    wake: Notify,
    /// Counts changes, logged ones too, for the snapshots.
    generation: AtomicU64,
}

impl Unlogged {
    /// A change was made that the log doesn't hold.
    pub(crate) fn add(&self) {
        self.logged();
        if !self.any.swap(true, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// A change was made that the log holds already.
    pub(crate) fn logged(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// To be called before the changes are taken to the log.
    pub(crate) fn take(&self) {
        self.any.store(false, Ordering::Release);
    }

    /// The log didn't take them, and they are in the table again.
    pub(crate) fn put_back(&self) {
        self.any.store(true, Ordering::Release);
    }

    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Waits until there are some. Only one can wait.
    pub(crate) async fn wait(&self) {
        while !self.any() {
            self.wake.notified().await;
        }
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
