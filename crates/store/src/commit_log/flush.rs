//! Brings the log to the disk.
//!
//! One `fdatasync` at a time; it covers everything written before it began, so that all who wait meanwhile share the
//! next one. A failed one is final: what the kernel held may be gone although it says nothing the next time.

use super::watermarks::Watermarks;
use crate::files::File;
use parking_lot::Mutex;
use std::io;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(crate) struct Flusher {
    file_bytes: i64,
    /// Held while the disk works.
    turn: Mutex<()>,
    /// The files written to since they were last known to be whole on the disk, by their starts.
    written: Mutex<Vec<(i64, Arc<dyn File>)>>,
    /// Why nothing is written any more.
    failure: OnceLock<String>,
    /// Why nothing becomes durable any more; what was written before a failed write still does.
    sync_failure: OnceLock<String>,
}

impl Flusher {
    pub fn new(file_bytes: i64) -> Self {
        Flusher {
            file_bytes,
            turn: Mutex::default(),
            written: Mutex::default(),
            failure: OnceLock::new(),
            sync_failure: OnceLock::new(),
        }
    }

    /// Names a file before the first byte is written to it.
    pub fn add(&self, start: i64, file: &Arc<dyn File>) {
        let mut written = self.written.lock();
        if !written.iter().any(|(known, _)| *known == start) {
            written.push((start, file.clone()));
        }
    }

    /// Why the log takes no more messages, if it doesn't.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Why nobody needs to wait for the disk, if so.
    pub fn sync_failure(&self) -> Option<&str> {
        self.sync_failure.get().map(String::as_str)
    }

    pub fn fail(&self, error: &io::Error) {
        if self.failure.set(error.to_string()).is_ok() {
            tracing::error!(%error, "the commit log failed; no more messages are taken until a restart");
        }
    }

    /// A sync of a file of the log failed, whoever asked for it.
    pub fn fail_sync(&self, error: &io::Error) {
        // The first failure is the one to tell of.
        let _ = self.sync_failure.set(error.to_string());
        self.fail(error);
    }

    /// Makes everything before `target` durable, and whatever else was written by now.
    pub fn sync(&self, marks: &Watermarks, target: i64) -> io::Result<()> {
        let _turn = self.turn.lock();
        if marks.flushed() >= target {
            return Ok(());
        }
        if let Some(failure) = self.sync_failure() {
            return Err(io::Error::other(failure.to_string()));
        }
        let appended = marks.appended();
        let written: Vec<_> =
            self.written.lock().iter().filter(|(start, _)| *start < appended).cloned().collect();
        for (_, file) in &written {
            if let Err(error) = file.sync() {
                self.fail_sync(&error);
                return Err(error);
            }
        }
        self.written.lock().retain(|(start, _)| start + self.file_bytes > appended);
        marks.advance_flushed(appended);
        Ok(())
    }
}
