//! Brings the log to the disk: when, and what comes of it for those who wait.

use crate::core::Core;
use crate::options::FlushMode;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    #[error("the disk did not take the message within {0} ms (syncFlushTimeout)")]
    Timeout(u64),
    #[error("flushing the commit log failed: {0}")]
    Failed(String),
}

impl FlushError {
    /// Counts a flush that is only late as made: what it is for may still get there, as the Java server has it.
    pub fn unless_late(flushed: Result<(), FlushError>) -> Result<(), FlushError> {
        match flushed {
            Ok(()) | Err(FlushError::Timeout(_)) => Ok(()),
            failed => failed,
        }
    }
}

/// Flushes a while after something was written, or with synchronous flush as soon as it was.
pub(crate) fn run(core: &Core) {
    let signal = &core.log.flush_signal;
    let interval = core.options.flush_interval;
    while signal.wait() {
        if core.log.mode() == FlushMode::Async && !signal.pause(interval) {
            return;
        }
        // What was written meanwhile is flushed too. The failure was said when it happened, and appends are told.
        let _ = core.sync_log(core.log.marks.appended());
    }
}
