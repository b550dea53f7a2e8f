//! Delayed messages: they wait in `SCHEDULE_TOPIC_XXXX`, one queue a level, until they are due.

mod levels;
pub(crate) mod redelivery;
mod schedule;

pub use levels::{DEFAULT_LEVELS, DelayLevels, LevelError};
pub(crate) use schedule::Schedule;
