//! The parts of a broker, put together.

use crate::clients::Clients;
use crate::config::BrokerConfig;
use crate::delay::{DelayLevels, Schedule};
use crate::disk_work::DiskWork;
use crate::groups::GroupTable;
use crate::locks::QueueLocks;
use crate::offsets::ConsumerOffsets;
use crate::pull::Holds;
use crate::registration::NameServers;
use crate::resets::PendingResets;
use crate::state::{DelayOffsets, StateError};
use crate::stats::Stats;
use crate::topics::TopicTable;
use parking_lot::RwLock;
use roxmq_store::clock::Clock;
use roxmq_store::files::FileSystem;
use roxmq_store::{OpenError, RecoveryReport, Store};
use std::net::SocketAddr;
use std::sync::Arc;

/// What a broker is made of and with.
pub struct BrokerOptions {
    pub config: BrokerConfig,
    pub files: Arc<dyn FileSystem>,
    pub clock: Arc<dyn Clock>,
    pub name_servers: Arc<dyn NameServers>,
    /// The address that name servers are told and that goes into records and message ids.
    pub advertised: SocketAddr,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    State(#[from] StateError),
}

/// What was found at start.
#[derive(Clone, Debug, Default)]
pub struct StartReport {
    pub store: RecoveryReport,
    /// What was wrong with files under `config/` and what was done about it.
    pub repairs: Vec<String>,
}

pub struct Broker {
    pub(crate) store: Arc<Store>,
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) advertised: SocketAddr,
    pub(crate) topics: TopicTable,
    pub(crate) groups: GroupTable,
    pub(crate) offsets: ConsumerOffsets,
    pub(crate) delay_offsets: DelayOffsets,
    pub(crate) clients: Clients,
    pub(crate) locks: QueueLocks,
    pub(crate) resets: PendingResets,
    /// The pulls that wait for messages.
    pub(crate) holds: Holds,
    /// `messageDelayLevel`
    pub(crate) delay_levels: DelayLevels,
    pub(crate) schedule: Schedule,
    pub(crate) disk_work: DiskWork,
    pub(crate) stats: Stats,
    pub(crate) name_servers: Arc<dyn NameServers>,
    config: RwLock<Arc<BrokerConfig>>,
}

impl Broker {
    /// Opens the store and the state in it. No sockets, no tasks.
    pub fn open(options: BrokerOptions) -> Result<(Arc<Broker>, StartReport), StartError> {
        let _ = options;
        unimplemented!()
    }

    /// Starts the background tasks on the current tokio runtime.
    pub fn run(self: &Arc<Self>) {
        unimplemented!()
    }

    /// Stops the tasks, unregisters, writes the snapshots, closes the store.
    pub async fn shutdown(&self) {
        unimplemented!()
    }

    pub fn config(&self) -> Arc<BrokerConfig> {
        Arc::clone(&self.config.read())
    }

    /// Removes a topic with its offsets and queues for good.
    pub fn delete_topic(&self, topic: &str) -> Result<(), StateError> {
        let _ = topic;
        unimplemented!()
    }

    /// Removes a group, and its offsets if `clean_offsets`.
    pub fn delete_group(&self, group: &str, clean_offsets: bool) -> Result<(), StateError> {
        let _ = (group, clean_offsets);
        unimplemented!()
    }
}
