//! The version of a table that clients and snapshots compare: which change it stands at.

use parking_lot::Mutex;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_store::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct TableVersion {
    version: Mutex<DataVersion>,
    /// Counts changes since the start, for who only wants to know whether there was one.
    generation: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl TableVersion {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        TableVersion { version: Mutex::default(), generation: AtomicU64::new(0), clock }
    }

    pub(crate) fn get(&self) -> DataVersion {
        *self.version.lock()
    }

    /// The version of a snapshot; each change replayed on top of it moves it on.
    pub(crate) fn restore(&self, version: DataVersion) {
        *self.version.lock() = version;
    }

    /// Marks a change that was made or replayed.
    pub(crate) fn changed(&self) {
        let mut version = self.version.lock();
        *version = version.next(self.clock.now().0);
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
