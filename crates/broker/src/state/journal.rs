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
use roxmq_store::{AppendBatch, Millis, NewMessage, PhyOffset, QueueId, Store, TooLong};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Notify;

/// The tag of the broker's records. Others in the topic are the store's own.
pub(super) const RECORD_TAG: &str = "broker";
/// The tag of the records of what POP has in flight: there are many of them, and their bodies are no JSON.
pub(super) const POP_RECORD_TAG: &str = "pop";

/// Where the records go.
pub(crate) trait Journal: Send {
    fn append(&mut self, change: &Change) -> Result<(), StateError>;

    /// Writes a record of what POP has in flight, behind messages that are part of the same change.
    fn append_pop(&mut self, body: &[u8], messages: Option<&mut AppendBatch>) -> Result<(), StateError>;

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

    /// Writes the record of what POP has in flight, and with it messages that are part of the change: both or nothing.
    /// The messages are to be announced when the turn is over.
    pub(crate) fn record_pop(
        &mut self,
        body: &[u8],
        messages: Option<&mut AppendBatch>,
    ) -> Result<(), StateError> {
        self.journal.append_pop(body, messages)
    }

    /// Everything before this position has been made in memory.
    pub(crate) fn position(&self) -> PhyOffset {
        self.journal.end()
    }
}

/// What tells the records of a tag from others.
struct Mark {
    properties: Vec<u8>,
    tags_code: i64,
}

impl Mark {
    fn of(tag: &str) -> Self {
        let mut encoded = Vec::new();
        properties::push(&mut encoded, properties::name::TAGS, tag);
        Mark { properties: encoded, tags_code: java_hash::tags_code(tag) }
    }
}

/// Records in the store's log.
pub(crate) struct StoreJournal {
    records: Records,
    changes: Mark,
    pops: Mark,
    batch: AppendBatch,
}

/// Puts records into batches.
struct Records {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    host: SocketAddr,
}

impl StoreJournal {
    pub(crate) fn new(store: Arc<Store>, clock: Arc<dyn Clock>, host: SocketAddr) -> Self {
        StoreJournal {
            records: Records { store, clock, host },
            changes: Mark::of(RECORD_TAG),
            pops: Mark::of(POP_RECORD_TAG),
            batch: AppendBatch::new(),
        }
    }
}

/// Puts the record of a change into a batch, for who appends it together with what it is about, and whose table is in
/// no snapshot that others take.
pub(crate) fn push_change(
    change: &Change,
    store: &Store,
    now: Millis,
    host: SocketAddr,
    batch: &mut AppendBatch,
) -> Result<(), TooLong> {
    let mark = Mark::of(RECORD_TAG);
    batch.push(store, &state_record(&change.to_json(), &mark, now, host))
}

fn state_record<'a>(body: &'a [u8], mark: &'a Mark, now: Millis, host: SocketAddr) -> NewMessage<'a> {
    NewMessage {
        body,
        properties: &mark.properties,
        tags_code: mark.tags_code,
        ..NewMessage::own(STATE_TOPIC, QueueId(0), now, host)
    }
}

impl Records {
    /// Appends what is in the batch, and the record behind it.
    fn append(&self, mark: &Mark, body: &[u8], batch: &mut AppendBatch) -> Result<(), StateError> {
        batch.push(&self.store, &state_record(body, mark, self.clock.now(), self.host))?;
        // Whoever waits for messages may change the state in turn, which is not his now.
        self.store.append_unannounced(batch)?;
        Ok(())
    }
}

impl Journal for StoreJournal {
    fn append(&mut self, change: &Change) -> Result<(), StateError> {
        self.batch.clear();
        self.records.append(&self.changes, &change.to_json(), &mut self.batch)
    }

    fn append_pop(&mut self, body: &[u8], messages: Option<&mut AppendBatch>) -> Result<(), StateError> {
        let batch = match messages {
            Some(messages) => messages,
            None => {
                self.batch.clear();
                &mut self.batch
            }
        };
        self.records.append(&self.pops, body, batch)
    }

    fn end(&self) -> PhyOffset {
        self.records.store.max_phy_offset()
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

        fn append_pop(&mut self, _: &[u8], _: Option<&mut AppendBatch>) -> Result<(), StateError> {
            Ok(())
        }

        fn end(&self) -> PhyOffset {
            PhyOffset(self.changes.lock().len() as i64)
        }
    }
}
