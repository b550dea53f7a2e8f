//! The pending transactions at a start: the half messages from the committed offset on, without those that a record
//! names as done, and without those whose commit a crash cut off before that record.

mod places;

use super::half::{AskAfter, HalfMessage};
use super::{HALF_QUEUE, counts, later, op, progress};
use crate::Broker;
use crate::state::first_at_or_after;
use places::Places;
use roxmq_protocol::java_hash;
use roxmq_protocol::names;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::{Record, Records};
use roxmq_protocol::sys_flag;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{NoFilter, ReadLimits};
use roxmq_store::{
    AppendBatch, AppendError, ConsumeQueue, Millis, PhyOffset, QueueId, QueueOffset, STATE_TOPIC, TooLong,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;

/// Queue entries, or messages, read at a time.
const PAGE_MAX: usize = 1024;
const PAGE_BYTES_MAX: usize = 1 << 20;
/// How far back from its end the log is searched for commits without the record of their end: a Java server writes
/// that up to 3 s later. What this server leaves in a crash is behind the position where recovery began.
const SEARCH_BACK_BYTES: i64 = 256 << 20;
/// Offsets in one record of those that are done.
const OFFSETS_A_RECORD_MAX: usize = 1024;

#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error("reading the half messages failed: {0}")]
    Read(#[from] io::Error),
    #[error("commits that were cut short can't be completed: {0}")]
    Append(#[from] AppendError),
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// How the last process that had the store left it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftBehind {
    /// A clean stop of this server: the record of each end is there.
    pub(crate) complete: bool,
    /// From here on the log has been read for recovery.
    pub(crate) recovered_from: PhyOffset,
}

/// A half message that was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    phy_offset: PhyOffset,
    stored: Millis,
    ask_after: AskAfter,
    /// How often its producer was asked, and when last.
    checks: u32,
    asked: Option<Millis>,
    first_offset: Option<i64>,
}

type Pending = BTreeMap<i64, Found>;

/// Fills the table; gives how many are pending.
pub(crate) fn rebuild(broker: &Broker, left: LeftBehind) -> Result<usize, RebuildError> {
    let Some(queue) = broker.store.queue(names::TRANS_HALF_TOPIC, HALF_QUEUE) else { return Ok(0) };
    let mut places = Places::find(broker, &queue)?;
    let earlier = take_out_done(broker, &mut places)?;
    let mut pending = read_half_messages(broker, &queue, &places)?;
    pending.retain(|_, found| {
        found.first_offset.is_none_or(|first| !earlier.contains(&first) && !places.is_done(first))
    });
    if !left.complete {
        let committed = committed(broker, &pending, left)?;
        write_done(broker, &committed)?;
        pending.retain(|offset, _| !committed.contains(offset));
    }
    take_counts(broker, &mut pending)?;
    fill(broker, &pending);
    progress::note(broker)?;
    if !pending.is_empty() {
        tracing::info!(pending = pending.len(), "transactions wait for their producers' decisions");
    }
    Ok(pending.len())
}

/// Takes out those that are done; gives the earlier offsets that are named as done, too. A record that names one of
/// them is behind it in the log.
fn take_out_done(broker: &Broker, places: &mut Places) -> io::Result<HashSet<i64>> {
    let mut earlier = HashSet::new();
    let (Some(queue), Some(first)) =
        (broker.store.queue(names::TRANS_OP_HALF_TOPIC, HALF_QUEUE), places.first())
    else {
        return Ok(earlier);
    };
    let from = first_at_or_after(&broker.store, &queue, first)?;
    each_record(broker, &queue, from, |record| {
        if record.properties.get(name::TAGS) == Some(op::DONE_TAG) {
            for offset in op::offsets(record.body) {
                if !places.take_out(offset) {
                    earlier.insert(offset);
                }
            }
        }
    })?;
    Ok(earlier)
}

fn each_record(
    broker: &Broker,
    queue: &ConsumeQueue,
    from: QueueOffset,
    mut each: impl FnMut(&Record<'_>),
) -> io::Result<()> {
    let limits = ReadLimits { count_max: PAGE_MAX, bytes_max: PAGE_BYTES_MAX, scan_max: PAGE_MAX };
    let (mut next, mut bytes) = (from, Vec::new());
    while next < queue.max_offset() {
        bytes.clear();
        let read = broker.store.read(queue, next, limits, &NoFilter, ReadMode::Blocking, &mut bytes)?;
        Records::new(&bytes).flatten().for_each(|record| each(&record));
        if read.next_offset <= next {
            break;
        }
        next = read.next_offset;
    }
    Ok(())
}

fn read_half_messages(broker: &Broker, queue: &ConsumeQueue, places: &Places) -> io::Result<Pending> {
    let mut pending = Pending::new();
    let (mut next, mut bytes) = (places.from, Vec::new());
    while let Some((first, count)) = places.run(next, PAGE_MAX) {
        let limits = ReadLimits { count_max: count, bytes_max: PAGE_BYTES_MAX, scan_max: count };
        bytes.clear();
        let at = QueueOffset(first);
        let read = broker.store.read(queue, at, limits, &NoFilter, ReadMode::Blocking, &mut bytes)?;
        for record in Records::new(&bytes).flatten() {
            pending.insert(record.queue_offset, found(&record));
        }
        // What retention has taken meanwhile is passed over.
        next = read.next_offset.0.max(first + 1);
    }
    Ok(pending)
}

/// What a half message says. One that is broken counts as pending: its check will say so and give it up.
fn found(record: &Record<'_>) -> Found {
    let stored = Millis(record.store_timestamp);
    let mut found = Found {
        phy_offset: PhyOffset(record.phy_offset),
        stored,
        ask_after: AskAfter::Timeout,
        checks: 0,
        asked: None,
        first_offset: None,
    };
    if let Ok(half) = HalfMessage::of(*record) {
        found.ask_after = half.ask_after();
        found.checks = half.check_times();
        // A Java server writes a half message again when it asks.
        found.asked = (found.checks > 0).then_some(stored);
        found.first_offset = half.first_offset();
    }
    found
}

/// The pending ones whose message is in the log: it bears the place of its half message.
fn committed(broker: &Broker, pending: &Pending, left: LeftBehind) -> io::Result<BTreeSet<i64>> {
    let Some(oldest) = pending.values().map(|found| found.phy_offset).min() else {
        return Ok(BTreeSet::new());
    };
    let by_place: HashMap<i64, i64> =
        pending.iter().map(|(offset, found)| (found.phy_offset.0, *offset)).collect();
    let mut committed = BTreeSet::new();
    let back = search_back(broker)?.map_or(left.recovered_from, |back| back.min(left.recovered_from));
    broker.store.scan(oldest.max(back), &mut |record| {
        let is_commit = sys_flag::transaction(record.sys_flag) == sys_flag::TRANSACTION_COMMIT;
        if is_commit && let Some(offset) = by_place.get(&record.prepared_transaction_offset) {
            committed.insert(*offset);
        }
        ControlFlow::Continue(())
    })?;
    Ok(committed)
}

/// A record not much further back than the search goes.
fn search_back(broker: &Broker) -> io::Result<Option<PhyOffset>> {
    let start = PhyOffset(broker.store.max_phy_offset().0 - SEARCH_BACK_BYTES);
    let mut first: Option<PhyOffset> = None;
    for topic in [names::TRANS_HALF_TOPIC, names::TRANS_OP_HALF_TOPIC] {
        let Some(queue) = broker.store.queue(topic, HALF_QUEUE) else { continue };
        let at = first_at_or_after(&broker.store, &queue, start)?;
        let entries = broker.store.entries(&queue, at, 1)?;
        let place = entries.first().filter(|entry| entry.is_valid() && !entry.is_filler());
        first = first.into_iter().chain(place.map(|entry| entry.phy_offset)).min();
    }
    Ok(first)
}

fn write_done(broker: &Broker, offsets: &BTreeSet<i64>) -> Result<(), RebuildError> {
    if offsets.is_empty() {
        return Ok(());
    }
    tracing::warn!(commits = offsets.len(), "commits that were cut short by the last stop are completed");
    let mut batch = AppendBatch::new();
    let offsets: Vec<i64> = offsets.iter().copied().collect();
    for offsets in offsets.chunks(OFFSETS_A_RECORD_MAX) {
        op::push(broker, &mut batch, offsets)?;
    }
    broker.store.append(&mut batch)?;
    Ok(())
}

/// How often producers have been asked, by this server.
fn take_counts(broker: &Broker, pending: &mut Pending) -> io::Result<()> {
    let oldest = pending.values().map(|found| found.phy_offset).min();
    let (Some(queue), Some(oldest)) = (broker.store.queue(STATE_TOPIC, QueueId(0)), oldest) else {
        return Ok(());
    };
    let tag = java_hash::tags_code(counts::TAG);
    let mut next = first_at_or_after(&broker.store, &queue, oldest)?;
    loop {
        let entries = broker.store.entries(&queue, next, PAGE_MAX)?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries.iter().filter(|entry| entry.tags_code == tag) {
            let Some(bytes) = broker.store.record(entry.phy_offset)? else { continue };
            let Ok(record) = Record::decode(&bytes) else { continue };
            for count in counts::decode(record.body) {
                if let Some(found) = pending.get_mut(&count.offset) {
                    found.checks = count.checks;
                    found.asked = Some(Millis(record.store_timestamp));
                }
            }
        }
        next = QueueOffset(next.0 + entries.len() as i64);
    }
}

/// Producers are not asked before they have had the time to connect.
fn fill(broker: &Broker, pending: &Pending) {
    let config = broker.config();
    let interval_ms = config.transaction_check_interval_ms;
    let connected = later(broker.clock.now(), interval_ms);
    for (offset, found) in pending {
        let due = match found.asked {
            Some(asked) => later(asked, interval_ms),
            None => found.ask_after.from(found.stored, &config),
        };
        let table = &broker.transactions.table;
        table.insert(*offset, found.phy_offset, due.max(connected), found.checks);
        if let Some(first) = found.first_offset {
            table.add_alias(first, *offset);
        }
    }
}
