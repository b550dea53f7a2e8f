//! Writes the files of `config/` when their tables have changed.

use super::StateLog;
use super::config_file::ConfigFile;
use super::flight_file;
use super::offset_files;
use super::replay::Tables;
use super::snapshot::{self, AccountList, Groups, Snapshot};
use crate::groups::DataVersion;
use crate::offsets::GroupOffsets;
use crate::replaced_file::FileError;
use crate::topics::TopicConfig;
use parking_lot::Mutex;
use roxmq_protocol::body::assignment::RequestModesByTopic;
use roxmq_protocol::body::order_info::OrderInfoTable;
use roxmq_store::files::FileSystem;
use roxmq_store::timer::{self, TimerCheckpoint};
use roxmq_store::{Millis, Store};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that nothing has changed are written with the others so often: a start reads the log from the oldest on.
const REFRESH_MS: i64 = 300_000;

/// Why the files were not written; they stay as they were.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("flushing the log before the files of config/ are written failed: {0}")]
    Flush(#[from] io::Error),
    #[error(transparent)]
    File(#[from] FileError),
}

/// The files of a store.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFiles {
    pub(super) topics: ConfigFile,
    pub(super) groups: ConfigFile,
    pub(super) modes: ConfigFile,
    pub(super) accounts: ConfigFile,
    pub(super) offsets: ConfigFile,
    pub(super) lmq_offsets: ConfigFile,
    /// `enableLmq`: a Java server would keep the offsets in the latter file.
    pub(super) enable_lmq: bool,
    pub(super) delays: ConfigFile,
    pub(super) orders: ConfigFile,
    pub(super) flight: ConfigFile,
    files: Arc<dyn FileSystem>,
    /// Written by the timers themselves.
    timers: PathBuf,
}

impl SnapshotFiles {
    pub(crate) fn new(files: Arc<dyn FileSystem>, store_root: &Path, enable_lmq: bool) -> Self {
        let dir = store_root.join("config");
        let file = |name| ConfigFile::new(Arc::clone(&files), &dir, name);
        SnapshotFiles {
            topics: file(snapshot::TOPICS_FILE),
            groups: file(snapshot::GROUPS_FILE),
            modes: file(snapshot::MODES_FILE),
            // It has passwords.
            accounts: ConfigFile::private(Arc::clone(&files), &dir, snapshot::ACCESS_FILE),
            offsets: file(offset_files::OFFSETS_FILE),
            lmq_offsets: file(offset_files::LMQ_OFFSETS_FILE),
            enable_lmq,
            delays: file(snapshot::DELAYS_FILE),
            orders: file(snapshot::ORDERS_FILE),
            flight: file(flight_file::FLIGHT_FILE),
            timers: timer::checkpoint_path(store_root),
            files,
        }
    }

    pub(super) fn timer_checkpoint(&self) -> Result<Option<TimerCheckpoint>, FileError> {
        let failed = |source| FileError::Io { path: self.timers.clone(), source };
        TimerCheckpoint::read(&*self.files, &self.timers).map_err(failed)
    }
}

/// The versions of the tables that have none of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Versions {
    pub offsets: DataVersion,
    pub delays: DataVersion,
}

/// Which files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those of topics, groups, request modes and users.
    Definitions,
    All,
}

pub(crate) struct SnapshotWriter {
    files: SnapshotFiles,
    written: Mutex<Written>,
}

/// The generations of the tables that the files hold; none for a file that has to be written, changed or not.
struct Written {
    topics: Option<u64>,
    groups: Option<u64>,
    modes: Option<u64>,
    accounts: Option<u64>,
    offsets: Option<u64>,
    delays: Option<u64>,
    /// Of both files of what is in flight.
    pops: Option<u64>,
    /// When all of them were last written together.
    refreshed: Millis,
    versions: Versions,
}

/// Copies, all of one moment, of the tables that have changed.
struct Copies {
    topics: Option<(u64, Snapshot<Vec<TopicConfig>>)>,
    groups: Option<(u64, Snapshot<Groups>)>,
    modes: Option<(u64, Snapshot<RequestModesByTopic>)>,
    accounts: Option<(u64, Snapshot<AccountList>)>,
    offsets: Option<(u64, Snapshot<GroupOffsets>)>,
    pulled: GroupOffsets,
    delays: Option<(u64, Snapshot<BTreeMap<i32, i64>>)>,
    pops: Option<(u64, Snapshot<OrderInfoTable>, Snapshot<Vec<u8>>)>,
}

impl SnapshotWriter {
    /// For files that hold what the tables hold now, or that don't if they are `behind`.
    pub(crate) fn new(files: SnapshotFiles, tables: Tables<'_>, versions: Versions, behind: bool) -> Self {
        let held = |generation: u64| (!behind).then_some(generation);
        let written = Written {
            topics: held(tables.topics.generation()),
            groups: held(tables.groups.generation()),
            modes: held(tables.modes.generation()),
            accounts: held(tables.accounts.generation()),
            offsets: held(tables.offsets.generation()),
            delays: held(tables.delays.generation()),
            pops: held(tables.pops.generation()),
            refreshed: Millis(0),
            versions,
        };
        SnapshotWriter { files, written: Mutex::new(written) }
    }

    /// Whether there is anything to write.
    pub(crate) fn is_behind(&self, tables: Tables<'_>, which: Which) -> bool {
        self.written.lock().is_behind(tables, which)
    }

    /// Writes the files whose tables have changed since they were written. Waits for the disk.
    pub(crate) fn write(
        &self,
        log: &StateLog,
        store: &Store,
        tables: Tables<'_>,
        which: Which,
        now: Millis,
    ) -> Result<(), WriteError> {
        let mut written = self.written.lock();
        if which == Which::All
            && now.0 - written.refreshed.0 >= REFRESH_MS
            && written.is_behind(tables, which)
        {
            written.forget();
            written.refreshed = now;
        }
        let copies = copy(log, tables, &written, which, now);
        if copies.are_none() {
            return Ok(());
        }
        // What the files say is consumed must not be lost from the log after they are written.
        store.flush()?;
        if let Some((generation, topics)) = copies.topics {
            self.files.topics.save(&snapshot::encode_topics(&topics))?;
            written.topics = Some(generation);
        }
        if let Some((generation, groups)) = copies.groups {
            self.files.groups.save(&snapshot::encode_groups(&groups))?;
            written.groups = Some(generation);
        }
        if let Some((generation, modes)) = copies.modes {
            self.files.modes.save(&snapshot::encode_modes(&modes))?;
            written.modes = Some(generation);
        }
        if let Some((generation, accounts)) = copies.accounts {
            self.files.accounts.save(&snapshot::encode_accounts(&accounts))?;
            written.accounts = Some(generation);
        }
        if let Some((generation, offsets)) = copies.offsets {
            self.files.offsets.save(&offset_files::encode_offsets(&offsets, &copies.pulled))?;
            if self.files.enable_lmq {
                let content = offset_files::encode_lmq_offsets(&offsets, &copies.pulled);
                self.files.lmq_offsets.save(&content)?;
            }
            written.offsets = Some(generation);
            written.versions.offsets = offsets.version;
        }
        if let Some((generation, delays)) = copies.delays {
            self.files.delays.save(&snapshot::encode_delays(&delays))?;
            written.delays = Some(generation);
            written.versions.delays = delays.version;
        }
        if let Some((generation, orders, flight)) = copies.pops {
            self.files.orders.save(&snapshot::encode_orders(&orders))?;
            self.files.flight.save(&flight_file::encode(&flight))?;
            written.pops = Some(generation);
        }
        Ok(())
    }
}

impl Written {
    fn is_behind(&self, tables: Tables<'_>, which: Which) -> bool {
        let definitions = self.topics != Some(tables.topics.generation())
            || self.groups != Some(tables.groups.generation())
            || self.modes != Some(tables.modes.generation())
            || self.accounts != Some(tables.accounts.generation());
        let offsets = self.offsets != Some(tables.offsets.generation())
            || self.delays != Some(tables.delays.generation())
            || self.pops != Some(tables.pops.generation());
        definitions || (which == Which::All && offsets)
    }

    /// All files have to be written.
    fn forget(&mut self) {
        let Written { topics, groups, modes, accounts, offsets, delays, pops, .. } = self;
        for held in [topics, groups, modes, accounts, offsets, delays, pops] {
            *held = None;
        }
    }
}

impl Copies {
    fn are_none(&self) -> bool {
        self.topics.is_none()
            && self.groups.is_none()
            && self.modes.is_none()
            && self.accounts.is_none()
            && self.offsets.is_none()
            && self.delays.is_none()
            && self.pops.is_none()
    }
}

fn copy(log: &StateLog, tables: Tables<'_>, written: &Written, which: Which, now: Millis) -> Copies {
    // While this lasts nobody changes topics, groups, request modes or users.
    let turn = log.turn();
    let log_offset = Some(turn.position());
    let changed = |held: Option<u64>, generation: u64| (held != Some(generation)).then_some(generation);
    let all = |_: &u64| which == Which::All;
    let topics = changed(written.topics, tables.topics.generation()).map(|generation| {
        let table = tables.topics.all().iter().map(|topic| topic.config.clone()).collect();
        (generation, Snapshot { version: tables.topics.data_version(), log_offset, table })
    });
    let groups = changed(written.groups, tables.groups.generation()).map(|generation| {
        let groups = tables.groups.all().iter().map(|group| (**group).clone()).collect();
        let table = Groups { groups, forbidden: tables.groups.forbidden_table() };
        (generation, Snapshot { version: tables.groups.data_version(), log_offset, table })
    });
    let modes = changed(written.modes, tables.modes.generation()).map(|generation| {
        let table = tables.modes.all();
        (generation, Snapshot { version: DataVersion::default(), log_offset, table })
    });
    let accounts = changed(written.accounts, tables.accounts.generation()).map(|generation| {
        let table = tables.accounts.all();
        (generation, Snapshot { version: DataVersion::default(), log_offset, table })
    });
    drop(turn);
    // What is committed after the position may be in a copy or not: its record comes after the position, too.
    let offsets = changed(written.offsets, tables.offsets.generation()).filter(all).map(|generation| {
        let version = written.versions.offsets.next(now.0);
        (generation, Snapshot { version, log_offset, table: tables.offsets.all() })
    });
    let delays = changed(written.delays, tables.delays.generation()).filter(all).map(|generation| {
        let version = written.versions.delays.next(now.0);
        (generation, Snapshot { version, log_offset, table: tables.delays.all() })
    });
    let pops = changed(written.pops, tables.pops.generation()).filter(all).map(|generation| {
        let version = DataVersion::default();
        let orders = Snapshot { version, log_offset, table: tables.pops.orders() };
        (generation, orders, Snapshot { version, log_offset, table: tables.pops.flight() })
    });
    let pulled = if offsets.is_some() { tables.offsets.all_pulled() } else { GroupOffsets::new() };
    Copies { topics, groups, modes, accounts, offsets, pulled, delays, pops }
}
