//! The broker's state in the log.

use roxmq_store::AppendError;

/// The topic of the state records; queue 0 holds all of them, in order.
pub const STATE_TOPIC: &str = "rmq_sys_roxmq_state";

/// A change that could not be made because the log did not take it.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the change was not made, the state log did not take it: {0}")]
    Append(#[from] AppendError),
}

/// How far each delay level is delivered; kept in the state log and in `delayOffset.json`.
#[derive(Default)]
pub struct DelayOffsets {}

impl DelayOffsets {
    pub fn get(&self, level: i32) -> Option<i64> {
        let _ = level;
        unimplemented!()
    }

    /// Notes the next offset of the level's queue to deliver.
    pub fn set(&self, level: i32, offset: i64) {
        let _ = (level, offset);
        unimplemented!()
    }

    /// Level to offset.
    pub fn all(&self) -> std::collections::BTreeMap<i32, i64> {
        unimplemented!()
    }
}
