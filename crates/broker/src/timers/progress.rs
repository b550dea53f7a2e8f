//! How far timer messages are delivered; kept in the state log and in `config/timercheck`.

use parking_lot::Mutex;
use roxmq_store::timer::TimerCheckpoint;
use roxmq_store::{Millis, PhyOffset, QueueOffset};

/// Messages are delivered in the order of their times, those of one time in the order of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerProgress {
    /// Where in this order delivery goes on.
    pub due: Millis,
    pub phy_offset: PhyOffset,
    /// Which messages of the timer queue this is true of: those before. Nothing is said of the others.
    pub queue_offset: QueueOffset,
}

impl TimerProgress {
    pub(crate) fn next(&self) -> (Millis, PhyOffset) {
        (self.due, self.phy_offset)
    }

    /// Whether a message of the timer queue is done with.
    pub(crate) fn is_behind(&self, queue_offset: QueueOffset, due: Millis, phy_offset: PhyOffset) -> bool {
        queue_offset < self.queue_offset && (due, phy_offset) < self.next()
    }

    /// What a checkpoint of the Java server says: whole slots are done with, up to the one that it reads next.
    fn of_java(checkpoint: &TimerCheckpoint) -> Self {
        TimerProgress {
            due: Millis(checkpoint.read_time.0.saturating_add(1)),
            phy_offset: PhyOffset(0),
            queue_offset: checkpoint.queue_offset,
        }
    }
}

/// A record of the state log that stands before the messages that were delivered with it, so that a start after a
/// crash can tell which of them the log took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimerNote {
    /// When all of them are delivered.
    pub(crate) progress: TimerProgress,
    /// Where in the log they waited, in their order.
    pub(crate) delivered: Vec<i64>,
}

#[derive(Debug, Default)]
pub struct TimerTable {
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) progress: TimerProgress,
    /// The last note of the log that the checkpoint doesn't know, with its place.
    pub(crate) last_note: Option<(PhyOffset, TimerNote)>,
    /// What the file said at the start.
    pub(crate) checkpoint: Option<TimerCheckpoint>,
}

impl TimerTable {
    pub fn progress(&self) -> TimerProgress {
        self.state.lock().progress
    }

    pub(crate) fn set(&self, progress: TimerProgress) {
        self.state.lock().progress = progress;
    }

    /// What a start has found.
    pub(crate) fn found(&self) -> State {
        self.state.lock().clone()
    }

    /// Takes what the file says, and gives the log position from which on it lacks changes. `end` is the log's.
    pub(crate) fn restore_checkpoint(
        &self,
        checkpoint: Option<TimerCheckpoint>,
        end: PhyOffset,
    ) -> PhyOffset {
        let mut state = self.state.lock();
        state.checkpoint = checkpoint;
        let Some(checkpoint) = checkpoint else { return PhyOffset(0) };
        match checkpoint.own {
            Some(own) => {
                state.progress = TimerProgress {
                    due: own.due,
                    phy_offset: own.phy_offset,
                    queue_offset: own.noted_queue_offset,
                };
                own.log_offset.min(end)
            }
            // It stands for the moment of the start, as the Java server's other files do.
            None => {
                state.progress = TimerProgress::of_java(&checkpoint);
                end
            }
        }
    }

    pub(crate) fn restore(&self, at: PhyOffset, note: TimerNote) {
        let mut state = self.state.lock();
        state.progress = note.progress;
        state.last_note = Some((at, note));
    }
}
