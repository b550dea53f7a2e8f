//! Where a connection's task and everybody else meet.

use crate::output::Output;
use crate::socket::SocketWriter;
use parking_lot::MutexGuard;
use std::task::{Poll, Waker};

/// What others queued, until the connection's task takes it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) output: Output,
    /// What the task took before and couldn't write yet.
    pub(super) unwritten: usize,
    pub(super) stage: Stage,
    pub(super) waker: Option<Waker>,
    /// Where others may write while the task sleeps; none where only the task can, and once it has ended.
    pub(super) writer: Option<SocketWriter>,
    /// The task sleeps, and whoever changes something here has to wake it.
    pub(super) parked: bool,
    /// Answers that somebody has promised for later.
    pub(super) late_answers: usize,
    /// The last of them came, which the task has not looked at yet.
    pub(super) none_late_any_more: bool,
}

/// How far a connection is on its way to the end. Only moves forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    #[default]
    Open,
    /// Closes as soon as nothing is in flight.
    Draining,
    /// The peer has closed its side: closes as soon as it was sent what it was promised.
    PeerClosed,
    /// Closes as soon as what is queued has been sent.
    Closing,
    /// Closes now.
    Aborted(Abort),
}

/// Why a connection was closed before its output was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Abort {
    Idle,
    OutputLimit,
    GraceOver,
    Dropped,
}

impl Queue {
    /// Whether all could be written for the task, which sleeps and needn't know. It finds out itself what is wrong with
    /// the socket when it writes.
    pub(super) fn write_now(&mut self) -> bool {
        let Queue { output, unwritten: 0, stage, writer: Some(writer), parked: true, .. } = self else {
            return false;
        };
        !matches!(stage, Stage::Aborted(_))
            && matches!(output.send(|slices| writer.write(slices)), Poll::Ready(Ok(())))
    }
}

/// Wakes the task if it sleeps, outside the lock: it would want the lock at once.
pub(super) fn wake(mut queue: MutexGuard<'_, Queue>) {
    if std::mem::take(&mut queue.parked) {
        let waker = queue.waker.clone();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
