//! Reads the state at a start: the files, then the log, then what can be guessed if files are damaged.
//!
//! Never a silent empty start: what could not be read is reported, and what the queues and offsets tell of topics and
//! groups is used.

use super::config_file::Found;
use super::flight_file;
use super::offset_files::{self, decode_lmq_offsets, decode_offsets};
use super::replay::{Positions, ReplayError, Replayed, Tables, replay};
use super::snapshot::{self, Snapshot};
use super::writer::{SnapshotFiles, Versions};
use super::{STATE_TOPIC, StateError};
use crate::groups::SubscriptionGroupConfig;
use crate::pop::PopRecordError;
use crate::replaced_file::FileError;
use crate::timers;
use crate::topics::topic_config;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::{PhyOffset, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// Why a start can't go on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the file popInFlight is of another version: {0}")]
    Flight(#[from] PopRecordError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    State(#[from] StateError),
}

/// What was found at a start.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// A sentence for each thing that was wrong, and what was done.
    pub repairs: Vec<String>,
    /// Changes of the log that the files didn't have.
    pub replayed: usize,
    /// The files don't hold everything up to the log's end. They have to be written before the log grows: a file of
    /// the Java server stands for the moment of the start, and nothing in it says so.
    pub behind: bool,
    pub versions: Versions,
}

/// Fills the tables.
pub(crate) fn load(files: &SnapshotFiles, store: &Store, tables: Tables<'_>) -> Result<Loaded, LoadError> {
    let end = store.max_phy_offset();
    let mut loader = Loader { loaded: Loaded::default(), end };
    let topics = loader.take(files.topics.path(), files.topics.load(snapshot::decode_topics)?);
    let groups = loader.take(files.groups.path(), files.groups.load(snapshot::decode_groups)?);
    let modes = loader.take(files.modes.path(), files.modes.load(snapshot::decode_modes)?);
    let accounts = loader.take(files.accounts.path(), files.accounts.load(snapshot::decode_accounts)?);
    let (plain, lmq) = (files.offsets.load(decode_offsets)?, files.lmq_offsets.load(decode_lmq_offsets)?);
    let (offsets, others) = offset_files::choose(plain, lmq, files.enable_lmq);
    loader.report(&others);
    let offsets = loader.take(files.offsets.path(), offsets);
    let delays = loader.take(files.delays.path(), files.delays.load(snapshot::decode_delays)?);
    let orders = loader.take(files.orders.path(), files.orders.load(snapshot::decode_orders)?);
    let flight = loader.take(files.flight.path(), files.flight.load_bytes(flight_file::decode)?);
    // What was in flight then is in the revive topic, as far as the Java server hasn't seen to it.
    let java_ran = offsets.as_ref().is_some_and(|offsets| offsets.log_offset.is_none());
    let flight = flight.filter(|_| !java_ran);
    let (lost_topics, lost_groups) = (topics.is_none(), groups.is_none());
    let positions = Positions {
        topics: position(&topics, end),
        groups: position(&groups, end),
        modes: position(&modes, end),
        offsets: position(&offsets, end),
        delays: position(&delays, end),
        orders: position(&orders, end),
        flight: if java_ran { end } else { position(&flight, end) },
        timers: timer_position(files, store, tables)?,
        accounts: position(&accounts, end),
    };
    if let Some(snapshot) = topics {
        snapshot.table.into_iter().for_each(|topic| tables.topics.restore(topic));
        tables.topics.restore_version(snapshot.version);
    }
    if let Some(Snapshot { version, table, .. }) = groups {
        table.groups.into_iter().for_each(|group| tables.groups.restore(group));
        for (group, topics) in table.forbidden {
            topics
                .into_iter()
                .for_each(|(topic, bits)| tables.groups.restore_forbidden(&group, &topic, bits));
        }
        tables.groups.restore_version(version);
    }
    if let Some(snapshot) = modes {
        let settings = snapshot.table.into_values().flat_map(BTreeMap::into_values);
        settings.for_each(|setting| tables.modes.restore(setting));
    }
    for (user, policies) in accounts.into_iter().flat_map(|snapshot| snapshot.table) {
        let name = user.name.clone();
        tables.accounts.restore(user);
        tables.accounts.restore_policies(&name, policies);
    }
    if let Some(snapshot) = offsets {
        tables.offsets.restore(&snapshot.table);
        loader.loaded.versions.offsets = snapshot.version;
    }
    if let Some(snapshot) = delays {
        tables.delays.restore(&snapshot.table);
        loader.loaded.versions.delays = snapshot.version;
    }
    if let Some(snapshot) = orders {
        tables.pops.restore_orders(snapshot.table);
    }
    if let Some(snapshot) = flight {
        tables.pops.restore_flight(&snapshot.table)?;
    }
    let mut loaded = loader.loaded;
    let replayed = replay(store, tables, &positions)?;
    loaded.replayed = replayed.changes;
    finish_deletions(store, tables, &replayed)?;
    if lost_topics {
        loaded.repairs.extend(guess_topics(store, tables)?);
    }
    if lost_groups {
        loaded.repairs.extend(guess_groups(tables)?);
    }
    loaded.behind |= loaded.replayed > 0 || !loaded.repairs.is_empty();
    Ok(loaded)
}

struct Loader {
    loaded: Loaded,
    end: PhyOffset,
}

impl Loader {
    /// Notes what was wrong with a file that doesn't count.
    fn report<T>(&mut self, found: &Found<T>) {
        if let Found::Copy(_, repair) | Found::Damaged(repair) = found {
            self.loaded.repairs.push(repair.clone());
        }
    }

    /// The snapshot, with a note of what was wrong.
    fn take<T>(&mut self, path: &Path, found: Found<Snapshot<T>>) -> Option<Snapshot<T>> {
        let snapshot = match found {
            Found::Good(snapshot) => snapshot,
            Found::Copy(snapshot, repair) => {
                self.loaded.repairs.push(repair);
                snapshot
            }
            Found::Damaged(repair) => {
                self.loaded.repairs.push(format!("{repair}; {} is made anew from the log", path.display()));
                return None;
            }
            Found::Nothing => return None,
        };
        // Without a position it is the Java server's. Ahead of the log: a power failure took the log's end, and what is
        // appended next must not be skipped.
        self.loaded.behind |= snapshot.log_offset.is_none_or(|offset| offset > self.end);
        Some(snapshot)
    }
}

/// From where on the log has changes that the snapshot lacks.
fn position<T>(snapshot: &Option<Snapshot<T>>, end: PhyOffset) -> PhyOffset {
    match snapshot {
        Some(snapshot) => snapshot.log_offset.unwrap_or(end),
        None => PhyOffset(0),
    }
}

/// The same for the timers. Without timer messages there is nothing to know of them.
fn timer_position(files: &SnapshotFiles, store: &Store, tables: Tables<'_>) -> Result<PhyOffset, FileError> {
    let end = store.max_phy_offset();
    let position = tables.timers.restore_checkpoint(files.timer_checkpoint()?, end);
    let queue = store.queue(names::TIMER_TOPIC, timers::QUEUE);
    let has_messages = queue.is_some_and(|queue| queue.min_offset() < queue.max_offset());
    Ok(if has_messages { position } else { end })
}

/// Removes the queues of deleted topics that are still there: the deletion was cut short after its record.
fn finish_deletions(store: &Store, tables: Tables<'_>, replayed: &Replayed) -> Result<(), StateError> {
    for topic in &replayed.deleted_topics {
        if tables.topics.get(topic).is_none() && !store.queues(topic).is_empty() {
            store.delete_topic(topic)?;
        }
    }
    Ok(())
}

/// Makes the topics whose queues are there although neither a file nor the log knows them.
fn guess_topics(store: &Store, tables: Tables<'_>) -> Result<Vec<String>, StateError> {
    let mut repairs = Vec::new();
    for topic in store.topics() {
        if *topic == *STATE_TOPIC
            || tables.topics.get(&topic).is_some()
            || names::is_lmq(&topic)
            || names::check_topic(&topic).is_err()
        {
            continue;
        }
        let Some(last) = store.queues(&topic).last().map(|queue| queue.id()) else { continue };
        let queues = last.0.saturating_add(1);
        tables.topics.put(topic_config(&topic, queues, perm::READ | perm::WRITE))?;
        repairs.push(format!(
            "the topic {topic} was made anew with {queues} queues, as many as it has files for"
        ));
    }
    Ok(repairs)
}

/// Makes the groups that have offsets although neither a file nor the log knows them.
fn guess_groups(tables: Tables<'_>) -> Result<Vec<String>, StateError> {
    let mut repairs = Vec::new();
    for group in tables.offsets.all().into_keys() {
        if tables.groups.get(&group).is_some() || names::check_group(&group).is_err() {
            continue;
        }
        tables.groups.put(SubscriptionGroupConfig::new(&group))?;
        repairs.push(format!("the group {group} was made anew with the defaults, because it has offsets"));
    }
    Ok(repairs)
}
