//! Finds out at a start how far the timer messages are.

use super::metrics::Metrics;
use super::progress::{State, TimerTable};
use super::{NEVER, QUEUE, Timers};
use crate::alarm::Alarm;
use crate::config::BrokerConfig;
use crate::replaced_file::ReplacedFile;
use crate::state::first_at_or_after;
use crate::thread::Thread;
use crate::topics::TopicTable;
use parking_lot::Mutex;
use roxmq_protocol::names;
use roxmq_store::clock::Clock;
use roxmq_store::files::FileSystem;
use roxmq_store::timer::{
    AS_THE_LOG_SAYS, Known, OwnCheckpoint, TimerCheckpoint, TimerFiles, TimerOptions, TimerRecovery,
    WHEEL_SLOTS, checkpoint_path, slot_before,
};
use roxmq_store::{OpenError, PhyOffset, QueueOffset, Store};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

/// What the timers are opened with.
pub(crate) struct Parts<'a> {
    pub(crate) files: &'a Arc<dyn FileSystem>,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) store: &'a Store,
    pub(crate) config: &'a BrokerConfig,
    pub(crate) topics: &'a TopicTable,
    pub(crate) table: &'a TimerTable,
}

impl Timers {
    pub(crate) fn open(parts: &Parts<'_>) -> Result<Timers, OpenError> {
        let root = parts.config.store_root();
        let metrics_file =
            ReplacedFile::new(Arc::clone(parts.files), root.join("config").join("timermetrics"));
        let mut timers = Timers {
            alarm: Alarm::default(),
            thread: Thread::default(),
            files: Mutex::new(None),
            recalls: Mutex::new(()),
            metrics: Metrics::default(),
            metrics_file,
            resumes_at: parts.table.progress().next(),
            entered: AtomicI64::new(0),
            first_due: AtomicI64::new(NEVER),
        };
        if !parts.config.timer_wheel_enable {
            return Ok(timers);
        }
        let options = TimerOptions {
            log_file_bytes: parts.config.mapped_file_size_timer_log,
            precision_ms: parts.config.timer_precision_ms,
            root: root.clone(),
            wheel_slots: WHEEL_SLOTS,
        };
        let found = parts.table.found();
        let known = Known {
            read: found.progress.next(),
            log_flushed: found.checkpoint.map_or(0, |checkpoint| checkpoint.log_flushed),
            by_java: found.checkpoint.is_some_and(|checkpoint| checkpoint.own.is_none()),
            commit_log_end: parts.store.max_phy_offset(),
        };
        let (mut files, recovery) = TimerFiles::open(Arc::clone(parts.files), &options, &known)?;
        let path = checkpoint_path(&root);
        let failed = |source| OpenError::Io { path: path.clone(), source };
        let next = next_to_enter(parts.store, &recovery, parts.table).map_err(failed)?;
        let log_flushed = files.flush().map_err(failed)?;
        let checkpoint = checkpoint(&found, next, log_flushed, options.precision_ms, parts);
        parts.files.create_dir_all(&root.join("config")).map_err(failed)?;
        checkpoint.write(&**parts.files, &path).map_err(failed)?;
        if recovery.lost {
            tracing::warn!(
                "files of timerwheel or timerlog were missing; they are made anew from the timer messages"
            );
        }
        if recovery.dropped > 0 {
            let dropped = recovery.dropped;
            tracing::warn!(dropped, "timer messages are gone: the commit log was cut");
        }
        let names = parts.topics.all().into_iter().map(|topic| topic.topic_name.clone());
        timers.metrics = Metrics::found(&recovery.counts, names, parts.clock.now());
        timers.files = Mutex::new(Some(files));
        timers.resumes_at = recovery.read;
        timers.entered = AtomicI64::new(next.0);
        Ok(timers)
    }
}

/// What the file says from now on. It has to say so before the log grows: a file of the Java server stands for the
/// moment of the start, and nothing in it says so.
fn checkpoint(
    found: &State,
    next: QueueOffset,
    log_flushed: i64,
    precision_ms: i64,
    parts: &Parts<'_>,
) -> TimerCheckpoint {
    let before = found.checkpoint.unwrap_or_default();
    let own = OwnCheckpoint {
        // The last note may speak of messages that are not delivered yet.
        log_offset: found.last_note.as_ref().map_or(parts.store.max_phy_offset(), |(at, _)| *at),
        due: found.progress.due,
        phy_offset: found.progress.phy_offset,
        noted_queue_offset: found.progress.queue_offset,
    };
    TimerCheckpoint {
        read_time: slot_before(found.progress.due, precision_ms),
        log_flushed,
        queue_offset: next,
        master_queue_offset: AS_THE_LOG_SAYS,
        state_version: before.state_version,
        timestamp: parts.clock.now(),
        counter: before.counter + 1,
        own: Some(own),
    }
}

/// The first message of the queue that isn't in the wheel.
fn next_to_enter(store: &Store, recovery: &TimerRecovery, table: &TimerTable) -> io::Result<QueueOffset> {
    let queue = store.queue_or_create(names::TIMER_TOPIC, QUEUE);
    let (min, max) = (queue.min_offset(), queue.max_offset());
    if recovery.lost {
        return Ok(min);
    }
    let noted = table.found().checkpoint.map_or(QueueOffset(0), |checkpoint| checkpoint.queue_offset);
    let behind_last = match recovery.last {
        Some(last) => first_at_or_after(store, &queue, PhyOffset(last.0 + 1))?,
        None => QueueOffset(0),
    };
    Ok(noted.max(behind_last).clamp(min, max.max(min)))
}
