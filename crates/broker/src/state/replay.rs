//! Makes again what the log has beyond the snapshots.

use super::journal::RECORD_TAG;
use super::{Change, STATE_TOPIC};
use crate::assignment::RequestModes;
use crate::groups::GroupTable;
use crate::offsets::ConsumerOffsets;
use crate::state::DelayOffsets;
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
}

/// For each table the log position from which on it lacks changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions {
    pub topics: PhyOffset,
    pub groups: PhyOffset,
    pub modes: PhyOffset,
    pub offsets: PhyOffset,
    pub delays: PhyOffset,
}

impl Positions {
    fn first(&self) -> PhyOffset {
        self.topics.min(self.groups).min(self.modes).min(self.offsets).min(self.delays)
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
    let tag = java_hash::tags_code(RECORD_TAG);
    let mut next = first_at_or_after(store, &queue, from.first())?;
    loop {
        let entries = store.entries(&queue, next, PAGE_ENTRIES)?;
        if entries.is_empty() {
            return Ok(made);
        }
        for entry in entries.iter().filter(|entry| entry.tags_code == tag) {
            if let Some(change) = read(store, entry)? {
                if let Change::DeleteTopic(topic) = &change {
                    made.deleted_topics.insert(topic.clone());
                }
                make(tables, from, entry.phy_offset, change);
                made.changes += 1;
            }
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

/// The change behind an entry; none if retention took its record since the entry was read.
fn read(store: &Store, entry: &QueueEntry) -> Result<Option<Change>, ReplayError> {
    let at = entry.phy_offset;
    let Some(bytes) = store.record(at)? else { return Ok(None) };
    let record = Record::decode(&bytes).map_err(|source| ReplayError::Record { at, source })?;
    Change::from_json_bytes(record.body).map(Some).map_err(|source| ReplayError::Change { at, source })
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
        Change::PutTopic(_)
        | Change::PutGroup(_)
        | Change::Forbid { .. }
        | Change::PutRequestMode(_)
        | Change::CommitOffsets(_)
        | Change::DelayOffsets(_) => {}
    }
}
