//! The open connections of a server or a client: to close them all, and to find the idle ones.

use crate::connection::{Abort, Connection, Stage};
use crate::log_pace::LogPace;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// An idle connection is closed after so many looks that found it silent, so at most a fourth of the timeout late.
const SILENT_LOOKS_MAX: u8 = 4;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    connections: Mutex<HashMap<u64, Arc<Connection>, foldhash::fast::RandomState>>,
    /// For the lines about connections that end in what is no frame.
    pub broken_frames: LogPace,
}

impl Registry {
    /// A registry that closes connections without a byte in either direction for this long.
    pub fn start(idle_timeout: Duration) -> Arc<Self> {
        let registry = Arc::new(Registry::default());
        tokio::spawn(close_idle(Arc::downgrade(&registry), idle_timeout));
        registry
    }

    pub fn add(&self, connection: &Arc<Connection>) {
        self.connections.lock().insert(connection.id(), connection.clone());
    }

    pub fn remove(&self, id: u64) {
        self.connections.lock().remove(&id);
    }

    pub fn len(&self) -> usize {
        self.connections.lock().len()
    }

    pub fn advance_all(&self, stage: Stage) {
        for connection in self.all() {
            connection.advance(stage);
        }
    }

    /// A copy, so that nobody is woken under the lock.
    fn all(&self) -> Vec<Arc<Connection>> {
        self.connections.lock().values().cloned().collect()
    }
}

async fn close_idle(registry: Weak<Registry>, idle_timeout: Duration) {
    loop {
        tokio::time::sleep(idle_timeout / u32::from(SILENT_LOOKS_MAX)).await;
        let Some(registry) = registry.upgrade() else {
            return;
        };
        for connection in registry.all() {
            if connection.silent_looks() >= SILENT_LOOKS_MAX {
                connection.advance(Stage::Aborted(Abort::Idle));
            }
        }
    }
}
