//! Enters records of the log into the queues and the index that lack them.

use crate::core::LastRecord;
use crate::dispatch::{Tombstone, queue_entry, record_hashes};
use crate::index::{IndexKey, KeyIndex};
use crate::multi_dispatch::{self, LMQ_QUEUE};
use crate::position::{Millis, PhyOffset, QueueId, QueueOffset};
use crate::queue::{ConsumeQueue, QueueTable, names};
use roxmq_protocol::record::Record;
use std::io;
use std::sync::Arc;

/// How many entries or keys may be in memory only before they are written.
const UNWRITTEN_MAX: usize = 1 << 20;
/// Keys that go to the index in one call.
const KEYS_MAX: usize = 4096;

pub(crate) struct Replay<'a> {
    queues: &'a QueueTable,
    index: Option<&'a KeyIndex>,
    delay_levels_ms: &'a [i64],
    keys: Vec<IndexKey>,
    hashes: Vec<u32>,
    redispatched: u64,
    /// Entries since queues were last written.
    unwritten: usize,
    /// The queue of the record before, as records of one queue often follow each other.
    queue: Option<Arc<ConsumeQueue>>,
    last_start: i64,
    last_time: i64,
}

impl<'a> Replay<'a> {
    pub fn new(queues: &'a QueueTable, index: Option<&'a KeyIndex>, delay_levels_ms: &'a [i64]) -> Self {
        Replay {
            queues,
            index,
            delay_levels_ms,
            keys: Vec::with_capacity(KEYS_MAX),
            hashes: Vec::new(),
            redispatched: 0,
            unwritten: 0,
            queue: None,
            last_start: 0,
            last_time: 0,
        }
    }

    pub fn take(&mut self, record: &Record<'_>) -> io::Result<()> {
        let entered = self.enter(record)?;
        self.redispatched += u64::from(entered > 0);
        self.unwritten += entered;
        if let Some(tombstone) = Tombstone::read(record) {
            self.bury(tombstone)?;
        }
        self.take_keys(record)?;
        (self.last_start, self.last_time) = (record.phy_offset, record.store_timestamp);
        if self.unwritten > UNWRITTEN_MAX {
            self.queues.write_behind()?;
            self.unwritten = 0;
        }
        Ok(())
    }

    /// Where the last record starts and when it was stored.
    pub fn last(&self) -> LastRecord {
        let last = LastRecord::default();
        last.set(self.last_start, self.last_time);
        last
    }

    /// How many records were missing in their queues.
    pub fn finish(mut self) -> io::Result<u64> {
        self.put_keys()?;
        Ok(self.redispatched)
    }

    /// How many queues lacked it. A record's CRC doesn't cover its header: one that says impossible things of its
    /// queue is left out of it, and the log goes on.
    fn enter(&mut self, record: &Record<'_>) -> io::Result<usize> {
        let Some(entry) = queue_entry(record, self.delay_levels_ms) else { return Ok(0) };
        let own = match self.queue_of(record) {
            Ok(queue) => queue.replay(QueueOffset(record.queue_offset), entry),
            Err(error) => Err(error),
        };
        let mut entered = usize::from(possible(own, record)?);
        for (name, offset) in multi_dispatch::places(record) {
            let queue = self.queues.get_or_create(name, LMQ_QUEUE);
            entered += usize::from(possible(queue.replay(QueueOffset(offset), entry), record)?);
        }
        Ok(entered)
    }

    fn queue_of(&mut self, record: &Record<'_>) -> io::Result<&Arc<ConsumeQueue>> {
        let id = QueueId(record.queue_id);
        let same = self.queue.take().filter(|queue| queue.id() == id && queue.topic() == record.topic);
        let queue = match same {
            Some(queue) => queue,
            None => {
                names::check(record.topic, id)?;
                self.queues.get_or_create(record.topic, id)
            }
        };
        Ok(self.queue.insert(queue))
    }

    fn bury(&mut self, tombstone: Tombstone<'_>) -> io::Result<()> {
        self.queue = None;
        match self.queues.remove_topic(tombstone.topic) {
            // A topic without a directory had no queues.
            Err(error) if is_impossible(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    fn take_keys(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.index.is_none() {
            return Ok(());
        }
        self.hashes.clear();
        record_hashes(record, &mut self.hashes);
        let (phy_offset, store_time) = (PhyOffset(record.phy_offset), Millis(record.store_timestamp));
        self.keys.extend(self.hashes.iter().map(|&hash| IndexKey { hash, phy_offset, store_time }));
        if self.keys.len() >= KEYS_MAX { self.put_keys() } else { Ok(()) }
    }

    fn put_keys(&mut self) -> io::Result<()> {
        let Some(index) = self.index else { return Ok(()) };
        index.put_all(&self.keys);
        self.keys.clear();
        if index.pending() > UNWRITTEN_MAX { index.write_behind() } else { Ok(()) }
    }
}

/// A record's entry where there can't be one is none.
fn possible(entered: io::Result<bool>, record: &Record<'_>) -> io::Result<bool> {
    match entered {
        Err(error) if is_impossible(&error) => {
            tracing::warn!(%error, position = record.phy_offset, "a record that can't be in a queue is left out of it");
            Ok(false)
        }
        result => result,
    }
}

fn is_impossible(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}
