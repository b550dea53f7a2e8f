//! Delivers delayed messages when they are due: one thread that sleeps until the next one is.
//!
//! How far each level is delivered is noted after the append of what was delivered, so a message may come twice
//! after a crash and is never lost.

use super::redelivery::{self, Undeliverable};
use crate::Broker;
use crate::alarm::Alarm;
use crate::lmq;
use crate::thread::Thread;
use crate::topics::Topic;
use roxmq_protocol::names;
use roxmq_protocol::record::Record;
use roxmq_store::{AppendBatch, AppendError, ConsumeQueue, Millis, QueueEntry, QueueId, QueueOffset};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many entries of a level are delivered with one append.
const BATCH_MAX: usize = 64;
/// And how many bytes, of which the last message may be beyond.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// How long to wait after a failure before the same messages are tried again.
const RETRY_MS: i64 = 1_000;

#[derive(Default)]
pub(crate) struct Schedule {
    alarm: Alarm,
    thread: Thread,
}

/// A level's queue and how far it is delivered.
struct Level {
    level: i32,
    delay_ms: i64,
    queue: Arc<ConsumeQueue>,
    next: QueueOffset,
    /// The last attempt failed, which the log has been told.
    failing: bool,
}

impl Schedule {
    pub(crate) fn start(&self, broker: &Arc<Broker>) -> std::io::Result<()> {
        let broker = Arc::clone(broker);
        self.thread.start("roxmq-delay", move || run(&broker))
    }

    /// Returns when nothing is being delivered any more.
    pub(crate) fn stop(&self) {
        self.alarm.stop();
        self.thread.join();
    }

    /// A delayed message was stored. Wakes the thread if it would sleep too long for it.
    pub(crate) fn arrived(&self, broker: &Broker, queue: &ConsumeQueue) {
        let delay_ms = broker.delay_levels.delay_ms(queue.id().0 + 1);
        self.alarm.set_for(Millis(broker.clock.now().0 + delay_ms));
    }

    /// The clock was set.
    pub(crate) fn look_now(&self) {
        self.alarm.wake();
    }
}

fn run(broker: &Broker) {
    let alarm = &broker.schedule.alarm;
    let mut levels = open_levels(broker);
    let mut batch = AppendBatch::new();
    loop {
        alarm.look();
        let next = levels.iter_mut().filter_map(|level| level.deliver(broker, &mut batch)).min();
        let now = broker.clock.now();
        // What was stored while nobody was asleep has told nobody.
        let has_news = |until| levels.iter().any(|level| level.has_news(broker, until));
        if !alarm.sleep(now, next, has_news) {
            return;
        }
    }
}

fn open_levels(broker: &Broker) -> Vec<Level> {
    let levels = &broker.delay_levels;
    let open = |level: i32| {
        let queue = broker.store.queue_or_create(names::SCHEDULE_TOPIC, QueueId(level - 1));
        // This thread waits for messages of the queue as long as it runs.
        queue.waiters.fetch_add(1, Ordering::SeqCst);
        let kept = broker.delay_offsets.get(level).unwrap_or(0);
        let next = QueueOffset(kept).clamp(queue.min_offset(), queue.max_offset().max(queue.min_offset()));
        Level { level, delay_ms: levels.delay_ms(level), queue, next, failing: false }
    };
    (1..=levels.max()).map(open).collect()
}

impl Level {
    /// Whether the level had nothing to wait for and now has.
    fn has_news(&self, broker: &Broker, until: Millis) -> bool {
        self.queue.max_offset() > self.next && broker.clock.now().0 + self.delay_ms < until.0
    }

    /// Delivers everything that is due. Gives the time when to look again, if the queue holds more.
    fn deliver(&mut self, broker: &Broker, batch: &mut AppendBatch) -> Option<Millis> {
        loop {
            let looked = self.deliver_some(broker, batch);
            if looked.is_ok() {
                self.failing = false;
            }
            match looked {
                Ok(Looked::Empty) => return None,
                Ok(Looked::NotDue(due)) => return Some(due),
                Ok(Looked::Delivered) if broker.schedule.alarm.is_stopping() => return None,
                Ok(Looked::Delivered) => {}
                Err(error) => {
                    if !std::mem::replace(&mut self.failing, true) {
                        let (level, offset) = (self.level, self.next.0);
                        tracing::error!(level, offset, %error, "delayed messages can't be delivered; trying again");
                    }
                    return Some(Millis(broker.clock.now().0 + RETRY_MS));
                }
            }
        }
    }

    /// All of the next entries that are due, up to some limits, or none of them.
    fn deliver_some(&mut self, broker: &Broker, batch: &mut AppendBatch) -> Result<Looked, DeliverError> {
        self.next = self.next.max(self.queue.min_offset());
        let entries = broker.store.entries(&self.queue, self.next, BATCH_MAX)?;
        let now = broker.clock.now();
        let due_at = |entry: &QueueEntry| redelivery::due(entry.tags_code, self.delay_ms, now);
        let Some(first) = entries.first() else {
            return Ok(Looked::Empty);
        };
        if due_at(first) > now {
            return Ok(Looked::NotDue(due_at(first)));
        }
        batch.clear();
        let mut topics: Vec<(Arc<Topic>, u64)> = Vec::new();
        let mut done = 0;
        for entry in entries.iter().take_while(|entry| due_at(entry) <= now) {
            let bytes_before = batch.bytes();
            match self.push(broker, entry, batch)? {
                Ok(topic) => topics.push((topic, (batch.bytes() - bytes_before) as u64)),
                Err(reason) => {
                    let (level, phy_offset) = (self.level, entry.phy_offset.0);
                    tracing::warn!(level, phy_offset, %reason, "a delayed message is not delivered");
                }
            }
            done += 1;
            if batch.bytes() >= BATCH_BYTES_MAX {
                break;
            }
        }
        if !batch.is_empty() {
            broker.store.append(batch)?;
        }
        for (topic, bytes) in topics {
            broker.stats.put(&topic.stats, 1, bytes);
        }
        self.next = QueueOffset(self.next.0 + done);
        broker.delay_offsets.set(self.level, self.next.0);
        Ok(Looked::Delivered)
    }

    /// Puts the entry's message into the batch, and gives its topic.
    fn push(
        &self,
        broker: &Broker,
        entry: &QueueEntry,
        batch: &mut AppendBatch,
    ) -> std::io::Result<Result<Arc<Topic>, Undeliverable>> {
        let Some(bytes) = broker.store.record(entry.phy_offset)? else {
            return Ok(Err(Undeliverable::Gone));
        };
        let mut push = || {
            let record = Record::decode(&bytes)?;
            let (topic, queue_id) = redelivery::target(&record)?;
            let known = broker.topics.get(topic).ok_or_else(|| Undeliverable::Deleted(topic.to_owned()))?;
            let lmqs = lmq::list_of(broker, &known, record.properties);
            let properties = record.properties.raw();
            redelivery::with_message(&record, topic, queue_id, properties, |message| {
                batch.push_dispatched(&broker.store, message, lmqs)
            })?;
            Ok(known)
        };
        Ok(push())
    }
}

/// What there was at a level's position.
enum Looked {
    Empty,
    NotDue(Millis),
    Delivered,
}

#[derive(Debug, thiserror::Error)]
enum DeliverError {
    #[error("reading the store failed: {0}")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
}
