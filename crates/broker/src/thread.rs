//! A thread of the broker's, from its start to the stop that waits for its end.

use parking_lot::Mutex;
use std::io;
use std::thread::{Builder, JoinHandle};

#[derive(Default)]
pub(crate) struct Thread(Mutex<Option<JoinHandle<()>>>);

impl Thread {
    pub(crate) fn start(&self, name: &str, life: impl FnOnce() + Send + 'static) -> io::Result<()> {
        *self.0.lock() = Some(Builder::new().name(name.to_owned()).spawn(life)?);
        Ok(())
    }

    /// Returns when the thread has ended, which whoever calls this has told it to do; at once if it never started.
    pub(crate) fn join(&self) {
        let Some(thread) = self.0.lock().take() else {
            return;
        };
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(thread = name, "a thread of the broker had panicked");
        }
    }
}
