//! How far each delay level is delivered; kept in the state log and in `delayOffset.json`.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct DelayOffsets {
    levels: Mutex<Levels>,
    changed: AtomicBool,
    wake: Notify,
    /// Counts changes, for the snapshots.
    generation: AtomicU64,
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
        self.generation.fetch_add(1, Ordering::Release);
        if !self.changed.swap(true, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// Level to offset.
    pub fn all(&self) -> BTreeMap<i32, i64> {
        self.levels.lock().offsets.clone()
    }

    pub(crate) fn restore(&self, offsets: &BTreeMap<i32, i64>) {
        self.levels.lock().offsets.extend(offsets);
    }

    pub(crate) async fn wait_changed(&self) {
        while !self.has_changed() {
            self.wake.notified().await;
        }
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    /// What changed since the last call.
    pub(crate) fn take_changed(&self) -> BTreeMap<i32, i64> {
        self.changed.store(false, Ordering::Release);
        let mut levels = self.levels.lock();
        let changed = std::mem::take(&mut levels.changed);
        changed.into_iter().filter_map(|level| Some((level, *levels.offsets.get(&level)?))).collect()
    }

    /// Puts back what the state log didn't take.
    pub(crate) fn put_back(&self, offsets: &BTreeMap<i32, i64>) {
        self.levels.lock().changed.extend(offsets.keys());
        self.changed.store(true, Ordering::Release);
    }
}
