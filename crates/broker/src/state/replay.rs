//! Makes again what the log has beyond the snapshots.

use super::journal::{POP_RECORD_TAG, RECORD_TAG};
use super::{Change, STATE_TOPIC};
use crate::access::Accounts;
use crate::assignment::RequestModes;
use crate::groups::GroupTable;
use crate::offsets::ConsumerOffsets;
use crate::pop::{PopChange, PopRecordError, PopTable};
use crate::state::DelayOffsets;
use crate::timers::TimerTable;
use crate::topics::TopicTable;
use roxmq_protocol::java_hash;
use roxmq_protocol::json::{FromJson, JsonError};
use roxmq_protocol::record::{Record, RecordError};
use roxmq_store::{ConsumeQueue, PhyOffset, QueueEntry, QueueId, QueueOffset, Store};
use std::collections::BTreeSet;
use std::io;

/// Entries read at a time.
const PAGE_ENTRIES: usize = 512;

/// The tables that the state is kept in.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub topics: &'a TopicTable,
    pub groups: &'a GroupTable,
    pub modes: &'a RequestModes,
    pub offsets: &'a ConsumerOffsets,
    pub delays: &'a DelayOffsets,
    pub pops: &'a PopTable,
    pub timers: &'a TimerTable,
    pub accounts: &'a Accounts,
}

/// For each table the log position from which on it lacks changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions {
    pub topics: PhyOffset,
    pub groups: PhyOffset,
    pub modes: PhyOffset,
    pub offsets: PhyOffset,
    pub delays: PhyOffset,
    pub orders: PhyOffset,
    pub flight: PhyOffset,
    pub timers: PhyOffset,
    pub accounts: PhyOffset,
}

impl Positions {
    fn first(&self) -> PhyOffset {
        let definitions = self.topics.min(self.groups).min(self.modes).min(self.accounts);
        definitions.min(self.delays).min(self.timers).min(self.pops())
    }

    /// From where on some table lacks what records of messages in flight say.
    fn pops(&self) -> PhyOffset {
        self.orders.min(self.flight).min(self.offsets)
    }
}

/// Why a change can't be made again. Going on without it would lose what was acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("reading the state log failed: {0}")]
    Io(#[from] io::Error),
    #[error("the state log has a record at {at} that can't be read: {source}")]
    Record { at: PhyOffset, source: RecordError },
    #[error("the state log has a change at {at} that this version doesn't know: {source}")]
    Change { at: PhyOffset, source: JsonError },
    #[error("the state log has a record of what is in flight at {at} that this version can't read: {source}")]
    Pop { at: PhyOffset, source: PopRecordError },
}

/// What was made again.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    pub changes: usize,
    /// Topics that were deleted, and perhaps made again later.
    pub deleted_topics: BTreeSet<String>,
}

/// Makes the changes from the positions on, in order.
pub(super) fn replay(store: &Store, tables: Tables<'_>, from: &Positions) -> Result<Replayed, ReplayError> {
    let mut made = Replayed::default();
    let Some(queue) = store.queue(STATE_TOPIC, QueueId(0)) else { return Ok(made) };
    let [change_tag, pop_tag] = [RECORD_TAG, POP_RECORD_TAG].map(java_hash::tags_code);
    let mut next = first_at_or_after(store, &queue, from.first())?;
    loop {
        let entries = store.entries(&queue, next, PAGE_ENTRIES)?;
        if entries.is_empty() {
            return Ok(made);
        }
        // Of what is in flight there are many records; those that no table lacks are not read.
        let is_lacked = |entry: &&QueueEntry| {
            entry.tags_code == change_tag || (entry.tags_code == pop_tag && entry.phy_offset >= from.pops())
        };
        for entry in entries.iter().filter(is_lacked) {
            let Some(bytes) = store.record(entry.phy_offset)? else {
                // Retention took it since the entry was read.
                continue;
            };
            let at = entry.phy_offset;
            let record = Record::decode(&bytes).map_err(|source| ReplayError::Record { at, source })?;
            if entry.tags_code == pop_tag {
                replay_pop(tables, from, at, record.body)?;
            } else {
                let change = Change::from_json_bytes(record.body);
                let change = change.map_err(|source| ReplayError::Change { at, source })?;
                if let Change::DeleteTopic(topic) = &change {
                    made.deleted_topics.insert(topic.clone());
                }
                make(tables, from, at, change);
            }
            made.changes += 1;
        }
        next = QueueOffset(next.0 + entries.len() as i64);
    }
}

/// The first entry of the queue that isn't before the position.
pub(crate) fn first_at_or_after(
    store: &Store,
    queue: &ConsumeQueue,
    position: PhyOffset,
) -> io::Result<QueueOffset> {
    let (mut low, mut high) = (queue.min_offset().0, queue.max_offset().0);
    while low < high {
        let middle = low + (high - low) / 2;
        match store.entries(queue, QueueOffset(middle), 1)?.first() {
            Some(entry) if entry.phy_offset < position => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(QueueOffset(low))
}

/// Makes again what happened to messages in flight, and commits where the groups went on by that.
fn replay_pop(tables: Tables<'_>, from: &Positions, at: PhyOffset, body: &[u8]) -> Result<(), ReplayError> {
    let wanted = |change: &PopChange| {
        at >= match change {
            PopChange::Ordered { .. } | PopChange::OrderForgotten => from.orders,
            _ => from.flight,
        }
    };
    let replayed = tables.pops.replay(body, wanted, |queue, next| {
        if at >= from.offsets {
            tables.offsets.commit_recorded(queue.group, queue.topic, queue.id, next);
        }
    });
    replayed.map_err(|source| ReplayError::Pop { at, source })
}

/// Makes a change in the tables that don't have it yet.
fn make(tables: Tables<'_>, from: &Positions, at: PhyOffset, change: Change) {
    match change {
        Change::PutTopic(config) if at >= from.topics => {
            tables.topics.restore(config);
            tables.topics.changed();
        }
        Change::DeleteTopic(topic) => {
            if at >= from.topics {
                tables.topics.restore_removed(&topic);
                tables.topics.changed();
            }
            if at >= from.groups && tables.groups.restore_removed_topic(&topic) {
                tables.groups.changed();
            }
            if at >= from.modes {
                tables.modes.remove_topic(&topic);
            }
            if at >= from.offsets {
                tables.offsets.remove_topic(&topic);
            }
            if at >= from.flight.min(from.orders) {
                tables.pops.remove_topic(&topic);
            }
        }
        Change::PutGroup(config) if at >= from.groups => {
            tables.groups.restore(config);
            tables.groups.changed();
        }
        Change::DeleteGroup { group, clean_offset } => {
            if at >= from.groups {
                tables.groups.restore_removed(&group);
                tables.groups.changed();
            }
            if at >= from.modes {
                tables.modes.remove_group(&group);
            }
            if at >= from.flight.min(from.orders) {
                tables.pops.remove_group(&group);
            }
            if clean_offset && at >= from.offsets {
                tables.offsets.remove_group(&group);
            }
        }
        Change::Forbid { group, topic, bits } if at >= from.groups => {
            tables.groups.restore_forbidden(&group, &topic, bits);
            tables.groups.changed();
        }
        Change::PutRequestMode(setting) if at >= from.modes => tables.modes.restore(setting),
        Change::CommitOffsets(offsets) if at >= from.offsets => tables.offsets.restore(&offsets),
        Change::DelayOffsets(offsets) if at >= from.delays => tables.delays.restore(&offsets),
        Change::TimerProgress(note) if at >= from.timers => tables.timers.restore(at, note),
        Change::PutUser(user) if at >= from.accounts => tables.accounts.restore(user),
        Change::DeleteUser(user) if at >= from.accounts => tables.accounts.restore_removed(&user),
        Change::PutPolicies { user, policies } if at >= from.accounts => {
            tables.accounts.restore_policies(&user, Some(policies));
        }
        Change::DeletePolicies(user) if at >= from.accounts => tables.accounts.restore_policies(&user, None),
        Change::PutTopic(_)
        | Change::PutGroup(_)
        | Change::PutUser(_)
        | Change::DeleteUser(_)
        | Change::PutPolicies { .. }
        | Change::DeletePolicies(_)
        | Change::Forbid { .. }
        | Change::PutRequestMode(_)
        | Change::CommitOffsets(_)
        | Change::DelayOffsets(_)
        | Change::TimerProgress(_) => {}
    }
}
