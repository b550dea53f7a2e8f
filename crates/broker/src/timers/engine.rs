//! The thread that enters timer messages and delivers them, and what it knows.

use super::open_slot::OpenSlot;
use super::progress::TimerProgress;
use super::{NEVER, QUEUE, Timers};
use crate::Broker;
use crate::state::StateError;
use roxmq_protocol::names;
use roxmq_store::timer::{
    AS_THE_LOG_SAYS, OwnCheckpoint, TimerCheckpoint, TimerEntry, TimerFiles, checkpoint_path, slot_before,
};
use roxmq_store::{AppendBatch, AppendError, ConsumeQueue, Millis, PhyOffset, QueueOffset};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How long to wait after a failure before the same is tried again.
const RETRY_MS: i64 = 1_000;
/// Messages that arrive within this time are entered together.
const ARRIVALS_MS: i64 = 5;
/// How often the counts are written for the Java server, while they change.
const METRICS_INTERVAL_MS: i64 = 10_000;
/// How often the timer log is looked through for files that nobody needs.
const CLEANING_INTERVAL_MS: i64 = 30_000;

/// How far the log may grow before the checkpoint is taken anew although nothing else has changed: the next start reads
/// the state log from there.
const LOG_BEHIND_MAX: i64 = 64 << 20;

pub(super) struct Engine<'a> {
    pub(super) broker: &'a Broker,
    pub(super) timers: &'a Timers,
    pub(super) queue: Arc<ConsumeQueue>,
    pub(super) precision_ms: i64,
    /// The first message of the queue that is not entered yet.
    pub(super) next: QueueOffset,
    /// Where delivery goes on. Messages of times before it are late, and never in the wheel.
    pub(super) read: (Millis, PhyOffset),
    /// What the last note says.
    pub(super) noted: TimerProgress,
    pub(super) open: Option<OpenSlot>,
    /// Messages were stored anew that may not be visible yet.
    pub(super) has_rolled: bool,
    pub(super) batch: AppendBatch,
    pub(super) raw: Vec<u8>,
    /// The files or the progress have changed since the checkpoint was taken.
    pub(super) unsaved: bool,
    /// Waits until the log is on the disk up to its position.
    checkpoint: Option<TimerCheckpoint>,
    checkpoint_path: PathBuf,
    checkpoint_count: i64,
    checkpoint_log_offset: PhyOffset,
    saved_at: Millis,
    metrics_saved: (Millis, i64),
    cleaned_at: Millis,
    failing: bool,
    save_failing: bool,
    /// What a crash cut short is not delivered yet. Until it is, no checkpoint may say otherwise.
    unfinished: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum TimerError {
    #[error("the store failed: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl<'a> Engine<'a> {
    pub(super) fn new(broker: &'a Broker) -> Self {
        let timers = &broker.timers;
        let config = broker.config();
        let queue = broker.store.queue_or_create(names::TIMER_TOPIC, QUEUE);
        // This thread waits for messages of the queue as long as it runs.
        queue.waiters.fetch_add(1, Ordering::SeqCst);
        let noted = broker.timer_table.progress();
        let checkpoint = broker.timer_table.found().checkpoint.unwrap_or_default();
        Engine {
            broker,
            timers,
            queue,
            precision_ms: config.timer_precision_ms,
            next: QueueOffset(timers.entered.load(Ordering::Relaxed)),
            read: timers.resumes_at,
            noted,
            open: None,
            has_rolled: false,
            batch: AppendBatch::new(),
            raw: Vec::new(),
            unsaved: true,
            checkpoint: None,
            checkpoint_path: checkpoint_path(&config.store_root()),
            checkpoint_count: checkpoint.counter,
            checkpoint_log_offset: PhyOffset(0),
            saved_at: Millis(0),
            metrics_saved: (Millis(0), 0),
            cleaned_at: Millis(0),
            failing: false,
            save_failing: false,
            unfinished: true,
        }
    }

    pub(super) fn run(mut self) {
        let alarm = &self.timers.alarm;
        loop {
            alarm.look();
            let worked = if self.unfinished { self.finish_batch() } else { Ok(()) };
            self.unfinished &= worked.is_err();
            let worked = worked.and_then(|()| self.work());
            let now = self.broker.clock.now();
            let next = match &worked {
                Ok(next) => *next,
                Err(_) => Some(Millis(now.0 + RETRY_MS)),
            };
            self.timers.first_due.store(next.map_or(NEVER, |next| next.0), Ordering::Relaxed);
            if let Err(error) = &worked
                && !self.failing
            {
                tracing::error!(%error, "timer messages can't be delivered; trying again");
            }
            self.failing = worked.is_err();
            let save_at = self.save_if_due(now);
            // Nobody says when a brake is released.
            let wake = if self.is_braked() {
                Some(Millis(now.0 + RETRY_MS))
            } else {
                [next, save_at].into_iter().flatten().min()
            };
            let has_news = |_| !self.failing && !self.is_braked() && self.queue.max_offset() > self.next;
            if !alarm.sleep(now, wake, has_news) {
                break;
            }
            self.gather(next);
        }
        if let Err(error) = self.finish() {
            tracing::error!(%error, "the timer files could not be written at the stop; the next start recovers them");
        }
    }

    fn is_braked(&self) -> bool {
        let config = self.broker.config();
        config.timer_stop_enqueue || config.timer_stop_dequeue
    }

    /// Lets some more arrive, unless something is due.
    fn gather(&self, next_due: Option<Millis>) {
        let now = self.broker.clock.now();
        if self.queue.max_offset() > self.next && next_due.is_none_or(|due| due.0 > now.0 + ARRIVALS_MS) {
            std::thread::sleep(std::time::Duration::from_millis(ARRIVALS_MS as u64));
        }
    }

    /// Enters what has arrived and delivers what is due. Gives the time when to look again.
    fn work(&mut self) -> Result<Option<Millis>, TimerError> {
        loop {
            let (now, arrived) = self.look();
            let config = self.broker.config();
            while self.next < arrived && !config.timer_stop_enqueue && !self.timers.alarm.is_stopping() {
                self.enter_some(now)?;
                self.save_if_due(now);
            }
            if config.timer_stop_dequeue {
                return Ok(self.next_due());
            }
            match self.deliver_some(now)? {
                _ if self.timers.alarm.is_stopping() => return Ok(None),
                Some(again) => return Ok(again),
                None => {
                    self.save_if_due(now);
                }
            }
        }
    }

    /// The time, and how far the queue goes: every recall that was taken before this time is in it.
    fn look(&self) -> (Millis, QueueOffset) {
        let _no_recall = self.timers.recalls.lock();
        (self.broker.clock.now(), self.queue.max_offset())
    }

    pub(super) fn with_files<T>(&self, act: impl FnOnce(&mut TimerFiles) -> io::Result<T>) -> io::Result<T> {
        let mut files = self.timers.files.lock();
        act(files.as_mut().ok_or(io::ErrorKind::NotFound)?)
    }

    /// Makes the files durable now and then, and gives the time when that is to be done next. What fails is done
    /// again: nothing depends on it but the time that the next start takes.
    fn save_if_due(&mut self, now: Millis) -> Option<Millis> {
        let interval = self.broker.config().timer_flush_interval_ms as i64;
        let is_crowded = self.timers.files.lock().as_ref().is_some_and(TimerFiles::is_crowded);
        let log_behind = self.broker.store.max_phy_offset().0 - self.checkpoint_log_offset.0;
        self.unsaved |= log_behind > LOG_BEHIND_MAX;
        let is_early = (0..interval).contains(&(now.0 - self.saved_at.0));
        if (self.unsaved || self.checkpoint.is_some()) && (is_crowded || !is_early) {
            self.saved_at = now;
            let saved = self.save();
            if let Err(error) = &saved
                && !self.save_failing
            {
                tracing::warn!(%error, "the timer files could not be written; delivery goes on without");
            }
            self.save_failing = saved.is_err();
            self.clean(now);
        }
        (self.unsaved || self.checkpoint.is_some()).then_some(Millis(self.saved_at.0 + interval))
    }

    fn save(&mut self) -> io::Result<()> {
        if self.unfinished {
            return Ok(());
        }
        if self.checkpoint.is_none() && self.unsaved {
            self.checkpoint = Some(self.take_checkpoint()?);
            self.unsaved = false;
        }
        // What the checkpoint says is delivered must not be lost from the log after it is written.
        if let Some(checkpoint) = self.checkpoint
            && checkpoint.own.is_some_and(|own| own.log_offset <= self.broker.store.flushed_phy_offset())
        {
            checkpoint.write(&*self.broker.files, &self.checkpoint_path)?;
            self.checkpoint = None;
        }
        Ok(())
    }

    /// Everything up to now, made durable but for the log.
    fn take_checkpoint(&mut self) -> io::Result<TimerCheckpoint> {
        let log_offset = self.broker.store.max_phy_offset();
        let log_flushed = self.with_files(TimerFiles::flush)?;
        self.checkpoint_count += 1;
        self.checkpoint_log_offset = log_offset;
        Ok(TimerCheckpoint {
            read_time: slot_before(self.read.0, self.precision_ms),
            log_flushed,
            queue_offset: self.next,
            master_queue_offset: AS_THE_LOG_SAYS,
            state_version: 0,
            timestamp: self.broker.clock.now(),
            counter: self.checkpoint_count,
            own: Some(OwnCheckpoint {
                log_offset,
                due: self.read.0,
                phy_offset: self.read.1,
                noted_queue_offset: self.next,
            }),
        })
    }

    fn clean(&mut self, now: Millis) {
        let (saved_at, version) = self.metrics_saved;
        let changed = self.timers.metrics.version().counter;
        if now.0 - saved_at.0 >= METRICS_INTERVAL_MS && version != changed {
            self.metrics_saved = (now, changed);
            self.timers.save_metrics();
        }
        if now.0 - self.cleaned_at.0 >= CLEANING_INTERVAL_MS {
            self.cleaned_at = now;
            let min = self.broker.store.min_phy_offset();
            if let Err(error) = self.with_files(|files| files.remove_before(min)) {
                tracing::warn!(%error, "files of the timer log that nobody needs could not be removed");
            }
        }
    }

    /// Leaves the files as another server needs them.
    fn finish(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            let read = self.read;
            let stays = |entry: &TimerEntry| entry.recalls || (entry.due, entry.phy_offset) >= read;
            self.with_files(|files| files.keep_only(open.slot, stays))?;
        }
        self.broker.store.flush()?;
        self.unsaved = true;
        self.checkpoint = None;
        self.save()?;
        self.timers.save_metrics();
        Ok(())
    }
}
