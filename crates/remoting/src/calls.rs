//! Calls to the peer that wait for their answers.

use crate::connection::CallError;
use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// How many calls may wait on one connection, as many as the Java client allows.
pub(crate) const CALLS_MAX: usize = 65_535;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    by_opaque: HashMap<i32, oneshot::Sender<Command>, foldhash::fast::RandomState>,
    last_opaque: i32,
    closed: bool,
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
        waiting.by_opaque.insert(opaque, sender);
        Ok(Call { calls: self, opaque, answer })
    }

    /// Takes the call that an answer of this opaque is for.
    pub fn take(&self, opaque: i32) -> Option<oneshot::Sender<Command>> {
        self.waiting.lock().by_opaque.remove(&opaque)
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
