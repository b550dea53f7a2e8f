//! How far each delay level is delivered; kept in the state log and in `delayOffset.json`.

use super::Unlogged;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct DelayOffsets {
    levels: Mutex<Levels>,
    unlogged: Unlogged,
}

#[derive(Debug, Default)]
struct Levels {
    offsets: BTreeMap<i32, i64>,
    changed: BTreeSet<i32>,
}

impl DelayOffsets {
    pub fn get(&self, level: i32) -> Option<i64> {
        self.levels.lock().offsets.get(&level).copied()
    }

    /// Notes the next offset of the level's queue to deliver.
    pub fn set(&self, level: i32, offset: i64) {
        let mut levels = self.levels.lock();
        if levels.offsets.insert(level, offset) == Some(offset) {
            return;
        }
        levels.changed.insert(level);
        drop(levels);
        self.unlogged.add();
    }

    /// Level to offset.
    pub fn all(&self) -> BTreeMap<i32, i64> {
        self.levels.lock().offsets.clone()
    }

    pub(crate) fn restore(&self, offsets: &BTreeMap<i32, i64>) {
        self.levels.lock().offsets.extend(offsets);
    }

    /// Waits until something was set since the last [`take_changed`](Self::take_changed).
    pub(crate) async fn wait_changed(&self) {
        self.unlogged.wait().await;
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.unlogged.generation()
    }

    /// What changed since the last call.
    pub(crate) fn take_changed(&self) -> BTreeMap<i32, i64> {
        self.unlogged.take();
        let mut levels = self.levels.lock();
        let changed = std::mem::take(&mut levels.changed);
        changed.into_iter().filter_map(|level| Some((level, *levels.offsets.get(&level)?))).collect()
    }

    /// Puts back what the state log didn't take.
    pub(crate) fn put_back(&self, offsets: &BTreeMap<i32, i64>) {
        self.levels.lock().changed.extend(offsets.keys());
        self.unlogged.put_back();
    }
}
