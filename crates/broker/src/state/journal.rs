//! The way of a change into the log.
//!
//! One change at a time: whoever holds the turn writes its record and then makes the change in memory, so that the
//! order in the log is the order in memory, and a snapshot taken in a turn holds exactly what stands before its
//! position.

use super::{Change, STATE_TOPIC, StateError};
use parking_lot::{Mutex, MutexGuard};
use roxmq_protocol::json::ToJson;
use roxmq_protocol::{java_hash, properties};
use roxmq_store::clock::Clock;
use roxmq_store::{AppendBatch, NewMessage, PhyOffset, QueueId, Store};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Notify;

/// The tag of the broker's records. Others in the topic are the store's own.
pub(super) const RECORD_TAG: &str = "broker";

/// Where the records go.
pub(crate) trait Journal: Send {
    fn append(&mut self, change: &Change) -> Result<(), StateError>;

    /// One past everything written.
    fn end(&self) -> PhyOffset;
}

pub(crate) struct StateLog {
    journal: Mutex<Box<dyn Journal>>,
    recorded: Notify,
}

impl StateLog {
    pub(crate) fn new(journal: impl Journal + 'static) -> Self {
        StateLog { journal: Mutex::new(Box::new(journal)), recorded: Notify::new() }
    }

    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn { journal: self.journal.lock(), recorded: &self.recorded }
    }

    /// Waits until something was recorded since the last call.
    pub(crate) async fn wait_recorded(&self) {
        self.recorded.notified().await;
    }
}

/// The right to change the state.
pub(crate) struct Turn<'a> {
    journal: MutexGuard<'a, Box<dyn Journal>>,
    recorded: &'a Notify,
}

impl Turn<'_> {
    /// Writes the record of a change; the change itself is made afterwards, by whoever has the turn.
    pub(crate) fn record(&mut self, change: &Change) -> Result<(), StateError> {
        self.journal.append(change)?;
        self.recorded.notify_one();
        Ok(())
    }

    /// Everything before this position has been made in memory.
    pub(crate) fn position(&self) -> PhyOffset {
        self.journal.end()
    }
}

/// Records in the store's log.
pub(crate) struct StoreJournal {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    host: SocketAddr,
    properties: Vec<u8>,
    batch: AppendBatch,
}

impl StoreJournal {
    pub(crate) fn new(store: Arc<Store>, clock: Arc<dyn Clock>, host: SocketAddr) -> Self {
        let mut record_properties = Vec::new();
        properties::push(&mut record_properties, properties::name::TAGS, RECORD_TAG);
        StoreJournal { store, clock, host, properties: record_properties, batch: AppendBatch::new() }
    }
}

impl Journal for StoreJournal {
    fn append(&mut self, change: &Change) -> Result<(), StateError> {
        let body = change.to_json();
        self.batch.clear();
        let message = NewMessage {
            topic: STATE_TOPIC,
            queue_id: QueueId(0),
            flag: 0,
            sys_flag: 0,
            born: self.clock.now(),
            born_host: self.host,
            store_host: self.host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: &body,
            properties: &self.properties,
            tags_code: java_hash::tags_code(RECORD_TAG),
            key_hashes: &[],
        };
        self.batch.push(&self.store, &message)?;
        self.store.append(&mut self.batch)?;
        Ok(())
    }

    fn end(&self) -> PhyOffset {
        self.store.max_phy_offset()
    }
}

#[cfg(test)]
pub(crate) mod memory {
    //! A journal for tests.

    use super::*;

    #[derive(Clone, Default)]
    pub(crate) struct MemoryJournal {
        pub(crate) changes: Arc<Mutex<Vec<Change>>>,
        /// Refuses everything from now on.
        pub(crate) full: Arc<std::sync::atomic::AtomicBool>,
    }

    impl Journal for MemoryJournal {
        fn append(&mut self, change: &Change) -> Result<(), StateError> {
            if self.full.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(StateError::Append(roxmq_store::AppendError::ShutDown));
            }
            self.changes.lock().push(change.clone());
            Ok(())
        }

        fn end(&self) -> PhyOffset {
            PhyOffset(self.changes.lock().len() as i64)
        }
    }
}
