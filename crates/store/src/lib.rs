//! The store of a broker: commit log, consume queues, key index, checkpoint, in the Java server's byte formats.
//!
//! No tokio, no sockets, no consumer groups. Errors of the disk are errors, never a signal and never a panic.

pub mod append;
mod arrivals;
mod batch;
mod behind;
mod by_position;
mod by_time;
pub mod check;
mod checkpoint;
pub mod clock;
mod commit_log;
mod core;
mod dispatch;
mod file_pages;
pub mod files;
mod flush;
pub mod index;
mod index_keys;
pub mod local_time;
pub mod multi_dispatch;
mod open;
pub mod options;
pub mod position;
pub mod queue;
pub mod read;
mod reading;
mod recovery;
mod retention;
mod sift;
mod signal;
pub mod store;
pub mod timer;
mod topic_retention;

pub use append::{AppendBatch, AppendError, NewMessage, Stored, TooLong};
pub use arrivals::ArrivalListener;
pub use flush::FlushError;
pub use index::{IndexKey, KeyIndex};
pub use index_keys::IndexKeys;
pub use open::{OpenError, RecoveryReport};
pub use options::{FlushMode, RetentionOptions, StoreOptions};
pub use position::{Millis, PhyOffset, QueueId, QueueOffset};
pub use queue::{ConsumeQueue, QueueEntry, QueueTable};
pub use store::{STATE_TOPIC, Store};
pub use topic_retention::TopicRetention;
