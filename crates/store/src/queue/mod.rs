//! Consume queues: the places of each queue's messages in the log, in the Java server's files.
//!
//! The recent entries of a queue are in memory, shared by readers, and are written behind. No queue holds an open
//! file. Queues are derived from the log: what is missing here is put back from there.

mod consume_queue;
mod cut;
pub(crate) mod entry;
mod load;
pub(crate) mod names;
mod pages;
mod queue_files;
mod snapshot;
mod table;
mod tail;
mod unsynced;
mod write_behind;

pub use consume_queue::ConsumeQueue;
pub(crate) use consume_queue::Pushing;
pub use entry::QueueEntry;
pub use table::{Incomplete, QueueTable};
