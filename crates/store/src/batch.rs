//! The records of a burst, encoded outside of the log's lock, with what the lock needs to place them.

use crate::append::{AppendError, NewMessage, Stored};
use crate::commit_log::Appending;
use crate::core::Core;
use crate::index::IndexKey;
use crate::multi_dispatch::{Dispatches, LMQ_QUEUE, lmq_names};
use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
use crate::queue::{ConsumeQueue, Pushing, QueueEntry};
use crate::store::Store;
use bytes::Bytes;
use roxmq_protocol::record::{self, FILLER_BYTES, RecordFields, TooLong};
use roxmq_protocol::sys_flag;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Queues that a batch remembers from one burst to the next.
const QUEUES_KEPT_MAX: usize = 16;
/// The most room that a batch makes for its next burst, going by the last one.
const ROOM_BYTES_MAX: usize = 256 << 10;

/// Kept and reused by its connection: it remembers the queues, so that the next burst needn't look them up.
#[derive(Debug, Default)]
pub struct AppendBatch {
    bytes: Vec<u8>,
    records: Vec<Pending>,
    keys: Vec<u32>,
    targets: Vec<Target>,
    /// How many topics had been deleted when the targets were looked up.
    deletions: u64,
    stored: Vec<Stored>,
    index_keys: Vec<IndexKey>,
    /// The records that go to light queues, too.
    dispatches: Dispatches,
    last_bytes: usize,
}

/// A record without a place.
#[derive(Debug)]
struct Pending {
    bytes: usize,
    target: usize,
    /// Half messages that are only prepared take no part in a queue's numbering.
    queued: bool,
    /// Known once it is placed.
    queue_offset: i64,
    tags_code: i64,
    keys: usize,
}

/// A queue that records go to. What it is found by is kept beside it: the queue itself is written to by other threads,
/// and to look into it would cost as much as to fetch it from memory.
#[derive(Debug)]
struct Target {
    topic: Arc<str>,
    id: QueueId,
    queue: Arc<ConsumeQueue>,
    /// The offset of the next record of this batch; known while it is placed.
    next: Option<i64>,
}

impl AppendBatch {
    pub fn new() -> Self {
        AppendBatch::default()
    }

    /// Encodes a message behind those already there; what has no room in a record is refused and the batch
    /// stays as it was. Limits below the format's are the caller's.
    pub fn push(&mut self, store: &Store, message: &NewMessage<'_>) -> Result<(), TooLong> {
        self.push_for(store.core(), message)
    }

    pub(crate) fn push_for(&mut self, core: &Core, message: &NewMessage<'_>) -> Result<(), TooLong> {
        if self.records.is_empty() {
            self.prepare(core);
        }
        let target = self.target(core, message.topic, message.queue_id);
        let mut record = Pending {
            bytes: 0,
            target,
            queued: sys_flag::is_queued(message.sys_flag),
            queue_offset: 0,
            tags_code: message.tags_code,
            keys: message.key_hashes.len(),
        };
        record.bytes = record::encode(&mut self.bytes, &fields(message))?;
        self.keys.extend_from_slice(message.key_hashes);
        self.records.push(record);
        Ok(())
    }

    /// [`push`](Self::push) of a message whose properties name light queues: those of the list that are some.
    pub fn push_dispatched(
        &mut self,
        store: &Store,
        message: &NewMessage<'_>,
        list: &str,
    ) -> Result<(), TooLong> {
        let core = store.core();
        if !sys_flag::is_queued(message.sys_flag) || lmq_names(list).next().is_none() {
            return self.push_for(core, message);
        }
        Dispatches::check_room(list, message.properties.len())?;
        self.push_for(core, message)?;
        let Some(record) = self.records.last() else { return Ok(()) };
        let (number, bytes) = (self.records.len() - 1, record.bytes);
        let mut dispatches = std::mem::take(&mut self.dispatches);
        dispatches
            .push(number, bytes, message.properties.len(), list, |name| self.target(core, name, LMQ_QUEUE));
        self.dispatches = dispatches;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Encoded bytes so far.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of these records together.
    pub fn bytes_of(&self, records: Range<usize>) -> usize {
        self.records[records].iter().map(|record| record.bytes).sum()
    }

    /// After a successful append: the places, in the order of the pushes.
    pub fn stored(&self) -> &[Stored] {
        &self.stored
    }

    /// Empties the batch for the next burst and keeps its room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.keys.clear();
        self.stored.clear();
        self.dispatches.clear();
    }

    fn prepare(&mut self, core: &Core) {
        let deletions = core.deletions();
        if self.deletions != deletions || self.targets.len() > QUEUES_KEPT_MAX {
            self.targets.clear();
            self.deletions = deletions;
        }
        if self.bytes.capacity() == 0 {
            self.bytes = core.log.tail.spare().unwrap_or_default();
        }
        self.bytes.reserve(self.last_bytes.min(ROOM_BYTES_MAX));
    }

    /// The queue's place among the targets. Bursts have few, mostly the same as before, so looking through them
    /// beats hashing the topic.
    fn target(&mut self, core: &Core, topic: &str, id: QueueId) -> usize {
        let is_it = |target: &Target| target.id == id && *target.topic == *topic;
        if let Some(last) = self.records.last()
            && is_it(&self.targets[last.target])
        {
            return last.target;
        }
        self.targets.iter().position(is_it).unwrap_or_else(|| {
            let queue = core.queues.get_or_create(topic, id);
            self.targets.push(Target { topic: queue.shared_topic(), id, queue, next: None });
            self.targets.len() - 1
        })
    }

    /// The largest record, if a file of so many bytes can't hold it.
    pub(crate) fn check_sizes(&self, file_bytes: u64) -> Result<(), AppendError> {
        let largest = self.records.iter().map(|record| record.bytes).max().unwrap_or(0);
        let largest = largest.max(self.dispatches.largest());
        if (largest + FILLER_BYTES) as u64 > file_bytes {
            return Err(AppendError::TooLarge { bytes: largest, limit: file_bytes });
        }
        Ok(())
    }

    /// Under the log's lock: gives each record its place, writes all of them, and enters them into queues and index.
    pub(crate) fn write(&mut self, core: &Core, log: &mut Appending<'_>) -> Result<(), AppendError> {
        self.look_up_again(core);
        let now = core.clock.now();
        self.stored.clear();
        self.number();
        let (records, stored) = (&self.records, &mut self.stored);
        let parts = log.place(records.iter().map(|record| record.bytes), |at| {
            stored.push(Stored {
                queue_offset: QueueOffset(records[stored.len()].queue_offset),
                phy_offset: PhyOffset(at),
                store_time: now,
            });
        });
        self.patch();
        if let Err(error) = log.write(&self.bytes, &parts) {
            self.stored.clear();
            return Err(error);
        }
        let (bytes, room) = self.take_bytes();
        log.keep(bytes, room, &parts);
        self.enter(core, now);
        Ok(())
    }

    /// A topic may have been deleted since its queue was looked up. It is a new topic now.
    fn look_up_again(&mut self, core: &Core) {
        if self.deletions == core.deletions() {
            return;
        }
        for target in &mut self.targets {
            target.queue = core.queues.get_or_create(&target.topic, target.id);
        }
        self.deletions = core.deletions();
    }

    /// Gives each record its offsets.
    fn number(&mut self) {
        let targets = &mut self.targets;
        targets.iter_mut().for_each(|target| target.next = None);
        let mut dispatched = 0;
        for (at, record) in self.records.iter_mut().enumerate() {
            if record.queued {
                record.queue_offset = targets[record.target].take_next();
            }
            if self.dispatches.record(dispatched) == Some(at) {
                self.dispatches.number(dispatched, |target| targets[target].take_next());
                dispatched += 1;
            }
        }
        if !self.dispatches.is_empty() {
            let sizes = self.records.iter_mut().map(|record| &mut record.bytes);
            self.dispatches.write_offsets(&mut self.bytes, sizes);
        }
    }

    fn patch(&mut self) {
        let mut rest = &mut self.bytes[..];
        for (record, stored) in self.records.iter().zip(&self.stored) {
            let (bytes, behind) = rest.split_at_mut(record.bytes);
            record::patch(bytes, stored.queue_offset.0, stored.phy_offset.0, stored.store_time.0);
            rest = behind;
        }
    }

    /// The records for the log's tail, and how much room their buffer has besides. What is little in a large buffer
    /// is copied, so that the tail doesn't hold the buffer for it.
    fn take_bytes(&mut self) -> (Bytes, usize) {
        self.last_bytes = self.bytes.len();
        if self.bytes.len() < self.bytes.capacity() / 4 {
            return (Bytes::copy_from_slice(&self.bytes), 0);
        }
        let bytes = std::mem::take(&mut self.bytes);
        let room = bytes.capacity() - bytes.len();
        (Bytes::from(bytes), room)
    }

    /// Enters the records into queues and index. Each queue is held until all are in: other threads want them, too, and
    /// to take one again costs more than to wait.
    fn enter(&mut self, core: &Core, now: Millis) {
        let targets = &self.targets;
        let mut queues: SmallVec<[Option<Pushing<'_>>; QUEUES_KEPT_MAX]> =
            targets.iter().map(|_| None).collect();
        let mut push = |target: usize, entry| {
            queues[target].get_or_insert_with(|| targets[target].queue.pushing()).push(entry);
        };
        let mut keys = self.keys.iter();
        self.index_keys.clear();
        let mut dispatched = 0;
        for (at, (record, stored)) in self.records.iter().zip(&self.stored).enumerate() {
            let phy_offset = stored.phy_offset;
            let (bytes, tags_code) = (record.bytes as i32, record.tags_code);
            let entry = QueueEntry { phy_offset, bytes, tags_code };
            if record.queued {
                push(record.target, entry);
            }
            if self.dispatches.record(dispatched) == Some(at) {
                self.dispatches.targets(dispatched).for_each(|target| push(target, entry));
                dispatched += 1;
            }
            let hashes = keys.by_ref().take(record.keys);
            self.index_keys.extend(hashes.map(|&hash| IndexKey { hash, phy_offset, store_time: now }));
        }
        drop(queues);
        if let (Some(index), false) = (&core.index, self.index_keys.is_empty()) {
            index.put_all(&self.index_keys);
        }
    }

    /// The queues that the last write entered something into.
    pub(crate) fn queues_written(&self) -> impl Iterator<Item = &Arc<ConsumeQueue>> {
        self.targets.iter().filter(|target| target.next.is_some()).map(|target| &target.queue)
    }

    pub(crate) fn last_stored(&self) -> Option<&Stored> {
        self.stored.last()
    }
}

impl Target {
    fn take_next(&mut self) -> i64 {
        let offset = self.next.unwrap_or_else(|| self.queue.next_offset().0);
        self.next = Some(offset + 1);
        offset
    }
}

fn fields<'a>(message: &NewMessage<'a>) -> RecordFields<'a> {
    RecordFields {
        topic: message.topic,
        queue_id: message.queue_id.0,
        flag: message.flag,
        sys_flag: message.sys_flag,
        born_timestamp: message.born.0,
        born_host: message.born_host,
        store_host: message.store_host,
        reconsume_times: message.reconsume_times,
        prepared_transaction_offset: message.prepared_transaction_offset,
        body: message.body,
        properties: message.properties,
    }
}
