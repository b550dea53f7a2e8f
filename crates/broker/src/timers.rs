//! Timer messages: delivered at a time of their own, or taken back before it.
//!
//! A message that asks for a time is stored in `rmq_sys_wheel_timer`, queue 0, with its real topic in its properties.
//! One thread enters the messages of that queue in the wheel ([`TimerFiles`]), in the queue's order; when a slot's moment
//! comes it reads the slot, and delivers each of its messages when it is due, to the millisecond. What waits longer than
//! the wheel reaches is stored anew (it *rolls*) until it doesn't.
//!
//! # What is promised
//!
//! Never early; on time while the server runs, and at once after a start for what was due meanwhile. Each message is
//! delivered once, also when the process is killed: messages are delivered in batches, one append each, and a batch
//! begins with a record of the state log that says how far delivery is when all of it is in the log, and which messages
//! these are. A kill in the middle of an append leaves the beginning of the batch: the next start compares the record
//! with what stands behind it, and delivers the rest. When power fails the end of the log is lost, with asynchronous
//! flush, and record and messages share that fate. A message is delivered twice only if the Java server takes the store
//! over from a killed process.
//!
//! A recall that was acknowledged is in the queue before the slot of its message comes, and whatever the queue has is
//! entered before anything is delivered.
//!
//! The log and the records in it are the truth: wheel and timer log are derived, continued after a kill from where they
//! were, and made anew from the queue when they are gone.

mod admin;
mod advance;
mod deliver;
mod engine;
mod enter;
mod metrics;
mod open_slot;
mod progress;
mod recall;
mod resume;
mod start;
mod timing;

pub use progress::{TimerProgress, TimerTable};

pub(crate) use admin::{checkpoint as show_checkpoint, metrics as show_metrics, runtime};
pub(crate) use progress::TimerNote;
pub(crate) use recall::handle as recall;
pub(crate) use start::Parts;
pub(crate) use timing::{Asked, Timing, timing};

use crate::Broker;
use crate::alarm::Alarm;
use crate::refusal::Refusal;
use crate::replaced_file::ReplacedFile;
use crate::thread::Thread;
use engine::Engine;
use metrics::Metrics;
use parking_lot::Mutex;
use roxmq_protocol::json::ToJson;
use roxmq_store::timer::TimerFiles;
use roxmq_store::{Millis, PhyOffset, QueueId, QueueOffset};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The queue of the timer topic.
pub(crate) const QUEUE: QueueId = QueueId(0);
/// What [`Timers::first_due`] says when nothing waits.
const NEVER: i64 = i64::MAX;

pub(crate) struct Timers {
    alarm: Alarm,
    thread: Thread,
    /// None while timer messages are switched off (`timerWheelEnable`).
    files: Mutex<Option<TimerFiles>>,
    /// Held while a recall is checked and stored, and while the engine looks at clock and queue, so that a recall either
    /// is in the queue by then or comes too late.
    recalls: Mutex<()>,
    metrics: Metrics,
    metrics_file: ReplacedFile,
    /// Where delivery goes on after the start.
    resumes_at: (Millis, PhyOffset),
    /// The first message of the queue that is not entered yet.
    entered: AtomicI64,
    /// When the next message is due.
    first_due: AtomicI64,
}

impl Timers {
    /// How many messages wait for their time.
    pub(crate) fn waiting(&self) -> i64 {
        self.metrics.total()
    }

    pub(crate) fn start(&self, broker: &Arc<Broker>) -> io::Result<()> {
        if self.files.lock().is_none() {
            return Ok(());
        }
        let broker = Arc::clone(broker);
        self.thread.start("roxmq-timers", move || Engine::new(&broker).run())
    }

    /// Returns when nothing is being delivered any more and the files are written.
    pub(crate) fn stop(&self) {
        self.alarm.stop();
        self.thread.join();
    }

    /// A timer message was stored. Wakes the thread if it sleeps; else it looks by itself before it does.
    pub(crate) fn arrived(&self) {
        self.alarm.set_for(Millis(0));
    }

    /// The clock was set.
    pub(crate) fn look_now(&self) {
        self.alarm.wake();
    }

    /// Whether a slot takes one more message (`timerCongestNumEachSlot`).
    pub(crate) fn check_room(&self, slot: Millis, limit: i32) -> Result<(), Refusal> {
        if limit == i32::MAX {
            return Ok(());
        }
        let waiting = self.files.lock().as_ref().map_or(Ok(0), |files| files.waiting_in(slot))?;
        let (waiting, limit) = (i64::from(waiting), i64::from(limit));
        // From the limit on the more are refused the more there are.
        let dice = (RandomState::new().hash_one(waiting) % 1_000) as i64;
        if waiting <= limit || (waiting < limit * 2 && dice > (waiting - limit) * 1_000 / limit) {
            return Ok(());
        }
        Err(Refusal::failed(format!(
            "timer message is under flow control: {waiting} wait for this second, the limit is {limit} (timerCongestNumEachSlot), and beyond it some are refused, from {} on all",
            limit * 2
        )))
    }

    pub(crate) fn forget_topic(&self, topic: &str) {
        self.metrics.remove(topic);
    }

    /// How many messages of the queue are not entered yet.
    fn behind(&self, end: QueueOffset) -> i64 {
        (end.0 - self.entered.load(Ordering::Relaxed)).max(0)
    }

    /// For the Java server, which has no other way to know.
    fn save_metrics(&self) {
        if let Err(error) = self.metrics_file.write(self.metrics.to_json_text().as_bytes()) {
            tracing::warn!(%error, "the counts of timer messages could not be written");
        }
    }
}
