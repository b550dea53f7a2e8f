//! How a broker starts and ends.

use super::Broker;
use crate::access::{self, AccountError, Accounts, Guard};
use crate::arrivals::Arrivals;
use crate::assignment::{RequestModes, TopicRoutes};
use crate::clients::Clients;
use crate::clients::notices::{self, LateNotices};
use crate::config::{ConfigErrors, CurrentConfig};
use crate::delay::Schedule;
use crate::disk_work::DiskWork;
use crate::filter::filter_file::{self, FILTERS_FILE};
use crate::filter::registered::RegisteredFilters;
use crate::groups::GroupTable;
use crate::lite::{self, Lite};
use crate::locks::QueueLocks;
use crate::losses;
use crate::offsets::ConsumerOffsets;
use crate::pop::{self, PopWaits, Pops};
use crate::pull::{self, Holds};
use crate::registration::{self, NameServers, Registration, TopicChanges};
use crate::resets::PendingResets;
use crate::state::{
    self, ConfigFile, DelayOffsets, LoadError, SnapshotFiles, SnapshotWriter, StateLog, StoreJournal, Tables,
};
use crate::stats::Stats;
use crate::timers::{self, TimerTable, Timers};
use crate::topics::TopicTable;
use crate::transactions::{self, LeftBehind, RebuildError, Transactions};
use crate::upkeep;
use parking_lot::Mutex;
use roxmq_store::clock::Clock;
use roxmq_store::files::FileSystem;
use roxmq_store::{OpenError, PhyOffset, RecoveryReport, Store};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What a broker is made of and with.
pub struct BrokerOptions {
    pub config: Arc<CurrentConfig>,
    pub files: Arc<dyn FileSystem>,
    pub clock: Arc<dyn Clock>,
    pub name_servers: Arc<dyn NameServers>,
    /// The address that name servers are told and that goes into records and message ids.
    pub advertised: SocketAddr,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("the state of the broker can't be read: {0}")]
    State(#[from] LoadError),
    #[error("the state of the broker can't be written: {0}")]
    Write(#[from] state::WriteError),
    #[error("the users that the configuration names can't be made: {0}")]
    FirstUsers(#[from] AccountError),
    #[error("the pending transactions can't be found: {0}")]
    Transactions(#[from] RebuildError),
    #[error("looking for messages that their topics no longer keep (reserve.time) failed: {0}")]
    Expire(io::Error),
}

/// What was found at start.
#[derive(Clone, Debug, Default)]
pub struct StartReport {
    pub store: RecoveryReport,
    /// What was wrong with files under `config/` and what was done about it.
    pub repairs: Vec<String>,
    /// Changes of topics, groups and offsets that only the log had.
    pub replayed_changes: usize,
    /// Half messages that wait for a decision.
    pub pending_transactions: usize,
}

impl Broker {
    /// Opens the store and the state in it. No sockets, no tasks.
    pub fn open(options: BrokerOptions) -> Result<(Arc<Broker>, StartReport), StartError> {
        let BrokerOptions { config, files, clock, name_servers, advertised } = options;
        let store_options = config.get().store_options()?;
        let delay_levels = config.get().delay_levels()?;
        let root = store_options.root.clone();
        let topic_retention = Arc::clone(&store_options.topic_retention);
        let (store, recovered) = Store::open(Arc::clone(&files), Arc::clone(&clock), store_options)?;
        let recovered_from = PhyOffset(store.max_phy_offset().0 - recovered.scanned_bytes as i64);
        let journal = StoreJournal::new(Arc::clone(&store), Arc::clone(&clock), advertised);
        let state_log = Arc::new(StateLog::new(journal));
        let topic_changes = Arc::new(TopicChanges::default());
        let topics = TopicTable::new(
            Arc::clone(&state_log),
            Arc::clone(&config),
            Arc::clone(&clock),
            Arc::clone(&topic_changes),
            Arc::clone(&topic_retention),
        );
        let groups = GroupTable::new(Arc::clone(&state_log), Arc::clone(&config), Arc::clone(&clock));
        let (offsets, delays) = (ConsumerOffsets::default(), DelayOffsets::default());
        let pops = Pops::default();
        let timer_table = TimerTable::default();
        let request_modes = RequestModes::new(Arc::clone(&state_log));
        let accounts = Arc::new(Accounts::new(Arc::clone(&state_log)));
        let tables = Tables {
            topics: &topics,
            groups: &groups,
            modes: &request_modes,
            offsets: &offsets,
            delays: &delays,
            pops: &pops.table,
            timers: &timer_table,
            accounts: &accounts,
        };
        let snapshot_files = SnapshotFiles::new(Arc::clone(&files), &root, config.get().enable_lmq);
        let mut loaded = state::load(&snapshot_files, &store, tables)?;
        let filters = RegisteredFilters::default();
        let filter_file = ConfigFile::new(Arc::clone(&files), &root.join("config"), FILTERS_FILE);
        let repair = filter_file::load(&filter_file, &filters, clock.now()).map_err(LoadError::from)?;
        loaded.repairs.extend(repair);
        let snapshots = SnapshotWriter::new(snapshot_files, tables, loaded.versions, loaded.behind);
        snapshots.write(&state_log, &store, tables, state::Which::All, clock.now())?;
        topic_retention.complete();
        store.expire_topics_now().map_err(StartError::Expire)?;
        access::make_first_users(&accounts, &config.get())?;
        for repair in &loaded.repairs {
            tracing::error!(repair, "a file of the broker's state was damaged or missing");
        }
        let timers = Timers::open(&timers::Parts {
            files: &files,
            clock: &*clock,
            store: &store,
            config: &config.get(),
            topics: &topics,
            table: &timer_table,
        })?;
        let broker = Broker {
            stats: Stats::new(clock.now()),
            store,
            files,
            clock,
            advertised,
            topics,
            groups,
            request_modes,
            guard: Guard::new(&config.get(), Arc::clone(&accounts)),
            accounts,
            routes: TopicRoutes::default(),
            offsets,
            delay_offsets: delays,
            clients: Clients::default(),
            late_notices: LateNotices::default(),
            filters,
            filter_file,
            locks: QueueLocks::default(),
            resets: PendingResets::default(),
            holds: Holds::default(),
            pops,
            pop_waits: PopWaits::default(),
            lite: Lite::default(),
            delay_levels,
            schedule: Schedule::default(),
            transactions: Transactions::default(),
            timer_table,
            timers,
            disk_work: DiskWork::default(),
            name_servers,
            registration: Registration::default(),
            topic_changes,
            state_log,
            snapshots,
            config,
            config_version: Mutex::default(),
            tasks: Mutex::new(Some(JoinSet::new())),
        };
        let left = LeftBehind { complete: !recovered.crashed && !loaded.behind, recovered_from };
        let report = StartReport {
            store: recovered,
            repairs: loaded.repairs,
            replayed_changes: loaded.replayed,
            pending_transactions: transactions::rebuild(&broker, left)?,
        };
        let broker = Arc::new(broker);
        broker.store.set_arrival_listener(Arc::new(Arrivals(Arc::downgrade(&broker))));
        Ok((broker, report))
    }

    /// Starts the background tasks on the current tokio runtime.
    pub fn run(self: &Arc<Self>) -> io::Result<()> {
        self.schedule.start(self)?;
        self.transactions.start(self)?;
        self.pops.start(self)?;
        self.timers.start(self)?;
        let mut tasks = self.tasks.lock();
        let Some(tasks) = tasks.as_mut() else { return Ok(()) };
        tasks.spawn(upkeep::log_offsets(Arc::clone(self)));
        tasks.spawn(upkeep::write_definitions(Arc::clone(self)));
        tasks.spawn(upkeep::write_offsets(Arc::clone(self)));
        tasks.spawn(upkeep::write_filters(Arc::clone(self)));
        tasks.spawn(upkeep::note_transactions(Arc::clone(self)));
        tasks.spawn(upkeep::sample_stats(Arc::clone(self)));
        tasks.spawn(upkeep::expire_clients(Arc::clone(self)));
        tasks.spawn(notices::run(Arc::clone(self)));
        tasks.spawn(losses::watch(Arc::clone(self)));
        tasks.spawn(lite::run_deadlines(Arc::clone(self)));
        tasks.spawn(lite::expire_subscriptions(Arc::clone(self)));
        tasks.spawn(lite::expire_topics(Arc::clone(self)));
        tasks.spawn(pull::run_deadlines(Arc::clone(self)));
        tasks.spawn(pop::run_deadlines(Arc::clone(self)));
        tasks.spawn(registration::run(Arc::clone(self)));
        Ok(())
    }

    /// Takes the broker off the name servers' lists, stops the tasks and answers the pulls that wait. What is asked
    /// from then on is still answered. The listeners stop accepting before.
    pub async fn leave(self: &Arc<Self>) {
        let Some(mut tasks) = self.tasks.lock().take() else { return };
        // Who never ran has told nobody: the name servers may know another broker by its address.
        let has_run = !tasks.is_empty();
        tasks.shutdown().await;
        if has_run {
            self.unregister().await;
        }
        self.holds.finish_all(self);
        self.pop_waits.finish_all(self);
        self.lite.close();
    }

    /// Leaves if it has not, writes everything to the disk and closes the store. The listeners have dropped their
    /// connections before.
    pub async fn shutdown(self: &Arc<Self>) {
        self.leave().await;
        let broker = Arc::clone(self);
        if let Err(error) = tokio::task::spawn_blocking(move || upkeep::finish(&broker)).await {
            tracing::error!(%error, "closing the store failed");
        }
    }
}
