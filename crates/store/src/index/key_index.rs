//! The index as the store uses it.

use crate::files::FileSystem;
use crate::position::{Millis, PhyOffset};
use crate::read::KeyQuery;
use crate::store::OpenError;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A key of a record, before it is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexKey {
    pub hash: u32,
    pub phy_offset: PhyOffset,
    pub store_time: Millis,
}

#[derive(Debug)]
pub struct KeyIndex {}

impl KeyIndex {
    /// Opens the index files under `dir`; each has room for `slots` hash slots and `entries` entries.
    pub fn load(
        files: Arc<dyn FileSystem>,
        dir: &Path,
        slots: u32,
        entries: u32,
    ) -> Result<KeyIndex, OpenError> {
        let _ = (files, dir, slots, entries);
        unimplemented!()
    }

    /// Takes keys in the order of the log; queries see them at once. All keys of a record come in one call. Keys of
    /// records before [`end`](Self::end) are there already and are skipped, so that replaying the log is harmless.
    pub fn put_all(&self, keys: &[IndexKey]) {
        let _ = keys;
        unimplemented!()
    }

    /// Where replaying the log has to start to complete the index: the keys of every record before it are there.
    pub fn end(&self) -> PhyOffset {
        unimplemented!()
    }

    /// Keys that are in memory only. Whoever puts many calls [`flush`](Self::flush) when it grows.
    pub fn pending(&self) -> usize {
        unimplemented!()
    }

    /// Makes every key put before the call durable, and frees the memory of an idle index.
    pub fn flush(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// When the newest record of the last full file was stored, for the checkpoint; 0 if no file is full.
    pub fn full_until(&self) -> Millis {
        unimplemented!()
    }

    /// The places of the newest `max` records with this hash that were stored from `begin` to `end`, to the second;
    /// each place once, ascending.
    pub fn query(&self, hash: u32, begin: Millis, end: Millis, max: usize) -> io::Result<KeyQuery> {
        let _ = (hash, begin, end, max);
        unimplemented!()
    }

    /// Removes leading files that know only records below `log_min`; never the last file.
    pub fn trim(&self, log_min: PhyOffset) -> io::Result<()> {
        let _ = log_min;
        unimplemented!()
    }

    /// Forgets keys of records at or above `log_end`, which recovery cut off.
    pub fn truncate(&self, log_end: PhyOffset) -> io::Result<()> {
        let _ = log_end;
        unimplemented!()
    }
}
