//! What a broker is made of.

mod life;

pub use life::{BrokerOptions, StartError, StartReport};

use crate::access::{Accounts, Guard};
use crate::assignment::{RequestModes, TopicRoutes};
use crate::clients::Clients;
use crate::clients::notices::LateNotices;
use crate::config::{BrokerConfig, CurrentConfig, Update};
use crate::delay::{DelayLevels, Schedule};
use crate::disk_work::DiskWork;
use crate::filter::registered::RegisteredFilters;
use crate::groups::GroupTable;
use crate::lite::Lite;
use crate::locks::QueueLocks;
use crate::offsets::ConsumerOffsets;
use crate::pop::{PopWaits, Pops};
use crate::pull::Holds;
use crate::registration::{NameServers, Registration, TopicChanges};
use crate::resets::PendingResets;
use crate::state::{ConfigFile, DelayOffsets, SnapshotWriter, StateLog, Tables};
use crate::stats::Stats;
use crate::timers::{TimerTable, Timers};
use crate::topics::TopicTable;
use crate::transactions::Transactions;
use parking_lot::Mutex;
use roxmq_access::{Directory, Rules};
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::record::Record;
use roxmq_store::clock::Clock;
use roxmq_store::files::FileSystem;
use roxmq_store::{Millis, Store};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::JoinSet;

pub struct Broker {
    pub(crate) store: Arc<Store>,
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) advertised: SocketAddr,
    pub(crate) topics: TopicTable,
    pub(crate) groups: GroupTable,
    pub(crate) request_modes: RequestModes,
    pub(crate) accounts: Arc<Accounts>,
    /// What stands before the handlers.
    pub(crate) guard: Guard,
    /// The queues of topics on other brokers.
    pub(crate) routes: TopicRoutes,
    pub(crate) offsets: ConsumerOffsets,
    pub(crate) delay_offsets: DelayOffsets,
    pub(crate) clients: Clients,
    pub(crate) late_notices: LateNotices,
    /// The SQL92 filters of consumer groups.
    pub(crate) filters: RegisteredFilters,
    pub(crate) filter_file: ConfigFile,
    pub(crate) locks: QueueLocks,
    pub(crate) resets: PendingResets,
    /// The pulls that wait for messages.
    pub(crate) holds: Holds,
    pub(crate) pops: Pops,
    /// The pops that wait for messages.
    pub(crate) pop_waits: PopWaits,
    pub(crate) lite: Lite,
    /// `messageDelayLevel`
    pub(crate) delay_levels: DelayLevels,
    pub(crate) schedule: Schedule,
    pub(crate) transactions: Transactions,
    pub(crate) timer_table: TimerTable,
    pub(crate) timers: Timers,
    pub(crate) disk_work: DiskWork,
    pub(crate) stats: Stats,
    pub(crate) name_servers: Arc<dyn NameServers>,
    pub(crate) registration: Registration,
    pub(crate) topic_changes: Arc<TopicChanges>,
    pub(crate) state_log: Arc<StateLog>,
    pub(crate) snapshots: SnapshotWriter,
    config: Arc<CurrentConfig>,
    config_version: Mutex<DataVersion>,
    /// None once the broker has left.
    tasks: Mutex<Option<JoinSet<()>>>,
}

impl Broker {
    /// Has whoever sleeps until a time look at the clock, as it was set.
    pub fn clock_was_set(&self) {
        self.schedule.look_now();
        self.timers.look_now();
        self.pops.look_now();
    }

    /// When the oldest message of the log was stored; none for an empty log.
    pub(crate) fn oldest_store_time(&self) -> io::Result<Option<Millis>> {
        let record = self.store.record(self.store.min_phy_offset())?;
        let oldest = record.as_deref().and_then(|bytes| Record::decode(bytes).ok());
        Ok(oldest.map(|record| Millis(record.store_timestamp)))
    }

    /// How much of the log is not on the disk yet.
    pub(crate) fn unflushed_bytes(&self) -> u64 {
        let (end, flushed) = (self.store.max_phy_offset().0, self.store.flushed_phy_offset().0);
        u64::try_from(end - flushed).unwrap_or(0)
    }

    /// Whom it checks.
    pub fn access_rules(&self) -> Rules {
        self.guard.rules().clone()
    }

    /// The users and what they may do.
    pub fn directory(&self) -> Arc<dyn Directory> {
        Arc::clone(&self.accounts) as Arc<dyn Directory>
    }

    pub fn config(&self) -> Arc<BrokerConfig> {
        self.config.get()
    }

    /// Replaces the configuration by what `change` makes of it, one change at a time.
    pub(crate) fn update_config<E>(
        &self,
        change: impl FnOnce(&BrokerConfig) -> Result<Update, E>,
    ) -> Result<Update, E> {
        let mut version = self.config_version.lock();
        let update = change(&self.config())?;
        self.config.set(update.config.clone());
        *version = version.next(self.clock.now().0);
        Ok(update)
    }

    /// Moves with every change of the configuration.
    pub(crate) fn config_version(&self) -> DataVersion {
        *self.config_version.lock()
    }

    pub(crate) fn tables(&self) -> Tables<'_> {
        Tables {
            topics: &self.topics,
            groups: &self.groups,
            modes: &self.request_modes,
            offsets: &self.offsets,
            delays: &self.delay_offsets,
            pops: &self.pops.table,
            timers: &self.timer_table,
            accounts: &self.accounts,
        }
    }

    /// Where replicas would connect (`brokerIP2`, `haListenPort`).
    pub(crate) fn ha_address(&self) -> String {
        let config = self.config();
        let own = self.advertised.ip().to_string();
        let host = if config.broker_ip2.is_empty() { &own } else { &config.broker_ip2 };
        let bracketed =
            if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.clone() };
        format!("{bracketed}:{}", config.ha_listen_port)
    }
}
