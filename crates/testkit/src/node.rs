//! A file or a directory: how it is now, how the disk has it, and what happened in between.

use crate::sparse::Sparse;
use std::collections::{BTreeMap, BTreeSet};

/// The disk writes this much whole or not at all.
const SECTOR_BYTES: u64 = 512;

pub type NodeId = u64;

#[derive(Clone, Debug)]
pub enum Node {
    File(FileNode),
    Dir(DirNode),
}

#[derive(Clone, Debug, Default)]
pub struct FileNode {
    pub live: Sparse,
    durable: Sparse,
    unsynced: Vec<Change>,
    /// Pages that have disk blocks.
    pub blocks: BTreeSet<u64>,
    /// Whoever had the file open at a failed sync is told at the next own one.
    pub failed_syncs: u64,
    pub modified_ms: i64,
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Clear { at: u64, bytes: u64 },
    SetLen(u64),
}

impl FileNode {
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        self.change(Change::Write { at, bytes: bytes.to_vec() });
    }

    pub fn clear(&mut self, at: u64, bytes: u64) {
        self.change(Change::Clear { at, bytes });
    }

    pub fn set_len(&mut self, bytes: u64) {
        self.change(Change::SetLen(bytes));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.unsynced.push(change);
    }

    pub fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// What Linux does when it can't write: the pages count as clean from then on, and stay as they are in memory. The
    /// length goes to the disk another way.
    pub fn fail_sync(&mut self) {
        self.unsynced.retain(|change| matches!(change, Change::SetLen(_)));
        self.failed_syncs += 1;
    }

    pub fn lose_unsynced(&mut self) {
        self.unsynced.clear();
        self.live = self.durable.clone();
    }

    /// Each sector keeps the changes up to a random one, so that changes are torn and reordered. Lengths change in
    /// order, and what is written behind the end is lost with the new length.
    pub fn scatter_unsynced(&mut self, rng: &mut fastrand::Rng) {
        let changes = std::mem::take(&mut self.unsynced);
        let lengths_kept = random_limit(rng, changes.len());
        let mut limits = BTreeMap::new();
        for (number, change) in changes.iter().enumerate() {
            if let Change::SetLen(bytes) = change {
                if number < lengths_kept {
                    self.durable.set_len(*bytes);
                }
                continue;
            }
            for (sector, part) in change.sectors(self.durable.len()) {
                let limit = limits.entry(sector).or_insert_with(|| random_limit(rng, changes.len()));
                if number < *limit {
                    part.apply(&mut self.durable);
                }
            }
        }
        self.live = self.durable.clone();
    }
}

impl Change {
    fn apply(&self, file: &mut Sparse) {
        match self {
            Change::Write { at, bytes } => file.write(*at, bytes),
            Change::Clear { at, bytes } => file.clear(*at, *bytes),
            Change::SetLen(bytes) => file.set_len(*bytes),
        }
    }

    /// The change cut into sectors, as far as it is inside the file.
    fn sectors(&self, file_bytes: u64) -> Vec<(u64, Change)> {
        let (at, len) = match self {
            Change::Write { at, bytes } => (*at, bytes.len() as u64),
            Change::Clear { at, bytes } => (*at, *bytes),
            Change::SetLen(_) => return Vec::new(),
        };
        let end = at.saturating_add(len).min(file_bytes);
        let mut out = Vec::new();
        let mut from = at;
        while from < end {
            let sector = from / SECTOR_BYTES;
            let to = end.min((sector + 1) * SECTOR_BYTES);
            let part = match self {
                Change::Write { bytes, .. } => Change::Write {
                    at: from,
                    bytes: bytes[(from - at) as usize..(to - at) as usize].to_vec(),
                },
                _ => Change::Clear { at: from, bytes: to - from },
            };
            out.push((sector, part));
            from = to;
        }
        out
    }
}

#[derive(Clone, Debug, Default)]
pub struct DirNode {
    pub live: BTreeMap<String, NodeId>,
    durable: BTreeMap<String, NodeId>,
    unsynced: Vec<NameChange>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, NodeId),
    Remove(String),
    Rename(String, String),
}

impl DirNode {
    pub fn add(&mut self, name: &str, node: NodeId) {
        self.change(NameChange::Add(name.to_owned(), node));
    }

    pub fn remove(&mut self, name: &str) {
        self.change(NameChange::Remove(name.to_owned()));
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        self.change(NameChange::Rename(from.to_owned(), to.to_owned()));
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.unsynced.push(change);
    }

    pub fn sync(&mut self) {
        self.unsynced.clear();
        self.durable = self.live.clone();
    }

    pub fn fail_sync(&mut self) {
        self.unsynced.clear();
    }

    pub fn lose_unsynced(&mut self) {
        self.unsynced.clear();
        self.live = self.durable.clone();
    }

    /// Any of the changes may have reached the disk, each whole.
    pub fn scatter_unsynced(&mut self, rng: &mut fastrand::Rng) {
        for change in self.unsynced.drain(..) {
            if rng.bool() {
                change.apply(&mut self.durable);
            }
        }
        self.live = self.durable.clone();
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, NodeId>) {
        match self {
            NameChange::Add(name, node) => {
                names.insert(name.clone(), *node);
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
            NameChange::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }
}

/// None, all, or a part of the changes.
fn random_limit(rng: &mut fastrand::Rng, changes: usize) -> usize {
    match rng.u8(0..3) {
        0 => 0,
        1 => changes,
        _ => rng.usize(0..=changes),
    }
}
