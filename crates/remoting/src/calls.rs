//! Calls to the peer that wait for their answers.

use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

/// How many calls may wait on one connection, as many as the Java client allows.
pub(crate) const CALLS_MAX: usize = 65_535;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("cannot connect to {addr}: {reason}")]
    Connect { addr: String, reason: String },
    #[error("the connection closed before the answer")]
    Closed,
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("too many calls wait for answers on this connection (limit {0})")]
    TooMany(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: Mutex<Waiting>,
    /// How many calls wait that were called off. Mostly none, which is seen without the lock.
    called_off: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    by_opaque: HashMap<i32, WaitingCall, foldhash::fast::RandomState>,
    last_opaque: i32,
    closed: bool,
}

#[derive(Debug)]
struct WaitingCall {
    answer: oneshot::Sender<Command>,
    called_off: bool,
}

/// A call under way. Dropped, it isn't waited for any more.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    calls: &'a Calls,
    pub opaque: i32,
    pub answer: oneshot::Receiver<Command>,
}

impl Calls {
    /// Gives a call its opaque, which no other waiting call of this connection has.
    pub fn begin(&self) -> Result<Call<'_>, CallError> {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(CallError::Closed);
        }
        if waiting.by_opaque.len() >= CALLS_MAX {
            return Err(CallError::TooMany(CALLS_MAX));
        }
        let mut opaque = waiting.last_opaque.wrapping_add(1);
        while waiting.by_opaque.contains_key(&opaque) {
            opaque = opaque.wrapping_add(1);
        }
        waiting.last_opaque = opaque;
        waiting.by_opaque.insert(opaque, WaitingCall { answer: sender, called_off: false });
        Ok(Call { calls: self, opaque, answer })
    }

    /// Takes the call that an answer of this opaque is for.
    pub fn take(&self, opaque: i32) -> Option<oneshot::Sender<Command>> {
        let call = self.waiting.lock().by_opaque.remove(&opaque)?;
        if call.called_off {
            self.called_off.fetch_sub(1, Ordering::SeqCst);
        }
        Some(call.answer)
    }

    /// Marks a call that isn't answered yet. It goes on to wait for its answer.
    pub fn call_off(&self, opaque: i32) {
        if let Some(call) = self.waiting.lock().by_opaque.get_mut(&opaque)
            && !std::mem::replace(&mut call.called_off, true)
        {
            self.called_off.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn is_called_off(&self, opaque: i32) -> bool {
        self.called_off.load(Ordering::SeqCst) > 0
            && self.waiting.lock().by_opaque.get(&opaque).is_some_and(|call| call.called_off)
    }

    /// Ends every call and lets none begin.
    pub fn close(&self) {
        let ended = {
            let mut waiting = self.waiting.lock();
            waiting.closed = true;
            std::mem::take(&mut waiting.by_opaque)
        };
        drop(ended);
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.take(self.opaque);
    }
}

/// An answer that comes in time. It is waited for where it is: moved in here it would take room twice.
pub(crate) async fn in_time(
    timeout: Duration,
    answer: impl Future<Output = Result<Command, RecvError>> + Unpin,
) -> Result<Command, CallError> {
    match tokio::time::timeout(timeout, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(CallError::Closed),
        Err(_) => Err(CallError::Timeout(timeout)),
    }
}
