//! The broker's state: topics, groups, offsets, progress of delays and timers.
//!
//! The log is the truth. Each change is a record of [`STATE_TOPIC`] before it is made in memory; at a start the newest
//! snapshot is read and what the log has beyond it is made again. The snapshots are the Java server's files in
//! `config/`, with the log position up to which they hold everything as one more field.

mod change;
mod config_file;
mod delay_offsets;
mod flight_file;
mod journal;
mod load;
mod offset_batches;
mod offset_files;
mod replay;
mod snapshot;
mod unlogged;
mod writer;

#[cfg(test)]
mod tests;

pub use delay_offsets::DelayOffsets;
pub use roxmq_store::STATE_TOPIC;

pub use load::LoadError;
pub use replay::ReplayError;
pub use writer::WriteError;

pub(crate) use change::{Change, commit_changes};
pub(crate) use config_file::{ConfigFile, Found};
pub(crate) use journal::{StateLog, StoreJournal, Turn, push_change};
pub(crate) use load::load;
pub(crate) use offset_batches::log_offsets;
pub(crate) use replay::{Tables, first_at_or_after};
pub(crate) use unlogged::Unlogged;
pub(crate) use writer::{SnapshotFiles, SnapshotWriter, Which};

#[cfg(test)]
pub(crate) use journal::memory;

use roxmq_store::AppendError;

/// A change that could not be made because the log did not take it.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the change was not made, the state log did not take it: {0}")]
    Append(#[from] AppendError),
    #[error("the change was not made, it is too large for a record of the state log: {0}")]
    TooLong(#[from] roxmq_store::TooLong),
}
