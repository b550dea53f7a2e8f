//! The thread that writes behind what the append path leaves in memory, makes checkpoints, and deletes what has
//! expired. Without appends it sleeps but for a look at the disk every ten seconds, or every second while it is full.

use crate::append::AppendError;
use crate::checkpoint::Checkpoint;
use crate::core::Core;
use crate::index::KeyIndex;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often entries are written behind while there are appends.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// A restart reads the log from the last checkpoint on: no more than so much of it,
const CHECKPOINT_BYTES: i64 = 256 << 20;
/// and no more than was written in so long.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);
/// `cleanResourceInterval` of the Java server.
const RETENTION_INTERVAL: Duration = Duration::from_secs(10);

/// What the thread has done so far.
struct Progress {
    checkpoint: i64,
    checkpoint_at: Instant,
    retention_at: Option<Instant>,
    /// The last round failed, which was said then.
    failing: bool,
}

/// The thread's life.
pub(crate) fn run(core: &Core) {
    let now = Instant::now();
    let end = core.log.marks.appended();
    let mut progress = Progress { checkpoint: end, checkpoint_at: now, retention_at: None, failing: false };
    loop {
        progress.round(core);
        let idle = progress.checkpoint == core.log.marks.appended();
        // Messages are to be taken again soon after there is room for them.
        let is_full = core.disk.refused().is_some();
        let goes_on = if idle && !is_full {
            core.behind_signal.wait_for(RETENTION_INTERVAL)
        } else {
            !core.behind_signal.is_stopped()
        };
        if !goes_on || !core.behind_signal.pause(WRITE_INTERVAL) {
            return;
        }
    }
}

impl Progress {
    fn round(&mut self, core: &Core) {
        let result = self.write(core);
        match &result {
            Err(error) if !self.failing => tracing::warn!(%error, "writing queues and index behind failed"),
            Ok(()) if self.failing => tracing::info!("queues and index are written behind again"),
            _ => {}
        }
        self.failing = result.is_err();
        if self.retention_at.is_none_or(|at| at.elapsed() >= RETENTION_INTERVAL) {
            self.retention_at = Some(Instant::now());
            core.apply_retention();
        } else if core.disk.refused().is_some() {
            core.look_at_disk();
        }
    }

    fn write(&mut self, core: &Core) -> io::Result<()> {
        let appended = core.log.marks.appended();
        // Also when there is nothing new: what is idle of log, queues and index gives its memory back.
        core.log.blocks.release_idle();
        core.queues.write_behind()?;
        core.index.as_ref().map_or(Ok(()), KeyIndex::write_behind)?;
        let due = appended - self.checkpoint >= CHECKPOINT_BYTES
            || self.checkpoint_at.elapsed() >= CHECKPOINT_INTERVAL;
        if appended != self.checkpoint && due {
            self.checkpoint_at = Instant::now();
            self.checkpoint = core.checkpoint()?;
        }
        Ok(())
    }
}

impl Core {
    /// Makes log, queues and index durable, in this order, and then says so in the checkpoint. Gives up to where.
    pub fn checkpoint(&self) -> io::Result<i64> {
        let _one_at_a_time = self.checkpointing.lock();
        let (end, start, time) = {
            let log = self.log.appending().map_err(failure)?;
            let last = &self.last;
            (log.position(), last.start.load(Ordering::Acquire), last.store_time.load(Ordering::Acquire))
        };
        self.sync_log(end)?;
        self.queues.sync()?;
        if let Some(index) = &self.index {
            index.flush()?;
        }
        let checkpoint = Checkpoint {
            log_time: time,
            queue_time: time,
            index_time: time,
            master_flushed: 0,
            confirmed: end,
            dispatched: start,
            index_end: self.index.as_ref().map_or(0, |index| index.written_end().0 + 1),
        };
        checkpoint.write(&*self.files, &self.options.root.join("checkpoint"))?;
        Ok(end)
    }
}

fn failure(error: AppendError) -> io::Error {
    match error {
        AppendError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}
