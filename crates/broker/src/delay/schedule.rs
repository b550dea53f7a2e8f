//! Delivers delayed messages when they are due: one thread that sleeps until the next one is.
//!
//! How far each level is delivered is noted after the append of what was delivered, so a message may come twice
//! after a crash and is never lost.

use super::redelivery;
use crate::Broker;
use parking_lot::{Condvar, Mutex};
use roxmq_protocol::names;
use roxmq_protocol::record::Record;
use roxmq_store::{AppendBatch, ConsumeQueue, Millis, QueueEntry, QueueId, QueueOffset};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How many entries of a level are delivered with one append.
const BATCH_MAX: usize = 64;
/// How long to wait after a failure before the same messages are tried again.
const RETRY_MS: i64 = 1_000;
/// The longest sleep; looking in vain once an hour costs nothing, and an overflow of the clock's types can't happen.
const SLEEP_MS_MAX: i64 = 3_600_000;

#[derive(Default)]
pub(crate) struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    /// When the thread looks next by itself; 0 while it is looking.
    asleep_until: AtomicI64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    stop: bool,
    look_again: bool,
}

/// A level's queue and how far it is delivered.
struct Level {
    level: i32,
    delay_ms: i64,
    queue: Arc<ConsumeQueue>,
    next: QueueOffset,
}

impl Schedule {
    pub(crate) fn start(&self, broker: &Arc<Broker>) -> std::io::Result<()> {
        let broker = Arc::clone(broker);
        let work = move || run(&broker);
        *self.thread.lock() = Some(std::thread::Builder::new().name("roxmq-delay".to_owned()).spawn(work)?);
        Ok(())
    }

    /// Returns when nothing is being delivered any more.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread that delivers delayed messages had panicked");
        }
    }

    /// A delayed message was stored. Wakes the thread if it would sleep too long for it.
    pub(crate) fn arrived(&self, broker: &Broker, queue: &ConsumeQueue) {
        let due = broker.clock.now().0 + broker.delay_levels.delay_ms(queue.id().0 + 1);
        if due < self.asleep_until.load(Ordering::SeqCst) {
            self.state.lock().look_again = true;
            self.changed.notify_one();
        }
    }

    /// Sleeps until the time, or until there may be something earlier. False when it is time to stop.
    fn sleep(&self, wait_ms: i64) -> bool {
        let mut state = self.state.lock();
        if !state.stop && !state.look_again && wait_ms > 0 {
            self.changed.wait_for(&mut state, Duration::from_millis(wait_ms as u64));
        }
        state.look_again = false;
        !state.stop
    }
}

fn run(broker: &Broker) {
    let schedule = &broker.schedule;
    let mut levels = open_levels(broker);
    let mut batch = AppendBatch::new();
    loop {
        schedule.asleep_until.store(0, Ordering::SeqCst);
        let next = levels.iter_mut().filter_map(|level| level.deliver(broker, &mut batch)).min();
        let now = broker.clock.now();
        let until = next.map_or(now.0 + SLEEP_MS_MAX, |due| due.0.min(now.0 + SLEEP_MS_MAX));
        schedule.asleep_until.store(until, Ordering::SeqCst);
        // What was stored while nobody was asleep has told nobody.
        let overlooked = levels.iter().any(|level| level.has_news(broker, Millis(until)));
        if !schedule.sleep(if overlooked { 0 } else { until - now.0 }) {
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
        Level { level, delay_ms: levels.delay_ms(level), queue, next }
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
            self.next = self.next.max(self.queue.min_offset());
            let entries = match broker.store.entries(&self.queue, self.next, BATCH_MAX) {
                Ok(entries) => entries,
                Err(error) => {
                    tracing::error!(level = self.level, offset = self.next.0, %error, "delayed messages can't be read; trying again");
                    return Some(self.retry_at(broker));
                }
            };
            if entries.is_empty() {
                return None;
            }
            let now = broker.clock.now();
            let due_at = |entry: &QueueEntry| redelivery::due(entry.tags_code, self.delay_ms, now);
            let due = entries.iter().take_while(|entry| due_at(entry) <= now).count();
            if due == 0 {
                return Some(due_at(&entries[0]));
            }
            if !self.deliver_entries(broker, &entries[..due], batch) {
                return Some(self.retry_at(broker));
            }
        }
    }

    fn retry_at(&self, broker: &Broker) -> Millis {
        Millis(broker.clock.now().0 + RETRY_MS)
    }

    /// All of the entries, or none; false to try them again.
    fn deliver_entries(&mut self, broker: &Broker, entries: &[QueueEntry], batch: &mut AppendBatch) -> bool {
        batch.clear();
        for entry in entries {
            if let Err(error) = self.take(broker, entry, batch) {
                tracing::error!(level = self.level, phy_offset = entry.phy_offset.0, %error, "a delayed message can't be read; trying again");
                return false;
            }
        }
        if !batch.is_empty()
            && let Err(error) = broker.store.append(batch)
        {
            tracing::warn!(level = self.level, %error, "delayed messages can't be delivered; trying again");
            return false;
        }
        self.next = QueueOffset(self.next.0 + entries.len() as i64);
        broker.delay_offsets.set(self.level, self.next.0);
        true
    }

    /// Puts the entry's message into the batch. What can't be delivered is passed over with a word in the log.
    fn take(&self, broker: &Broker, entry: &QueueEntry, batch: &mut AppendBatch) -> std::io::Result<()> {
        let lost = |reason: &dyn std::fmt::Display| {
            tracing::warn!(level = self.level, phy_offset = entry.phy_offset.0, %reason, "a delayed message is not delivered");
        };
        let Some(bytes) = broker.store.record(entry.phy_offset)? else {
            lost(&"the log no longer has it");
            return Ok(());
        };
        let record = match Record::decode(&bytes) {
            Ok(record) => record,
            Err(error) => {
                lost(&error);
                return Ok(());
            }
        };
        let (topic, queue_id) = match redelivery::target(&record) {
            Ok(target) => target,
            Err(error) => {
                lost(&error);
                return Ok(());
            }
        };
        if broker.topics.get(topic).is_none() {
            lost(&format_args!("its topic {topic} was deleted"));
            return Ok(());
        }
        redelivery::with_message(&record, topic, queue_id, |message| {
            if let Err(error) = batch.push(&broker.store, message) {
                lost(&error);
            }
        });
        Ok(())
    }
}
