//! What the store asks of a file system. The tests put one behind it that loses unsynced writes.

mod os;

pub use os::OsFiles;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by path. A rename, a creation and a removal are durable only after `sync_dir` of their directory.
pub trait FileSystem: Debug + Send + Sync + 'static {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// The names in a directory, unsorted. An absent directory is an error of kind `NotFound`.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// A directory and everything in it; an absent one is no error.
    fn remove_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Replaces what is at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes everything written so far to any file durable; one call where single syncs would be thousands.
    fn sync_all(&self, root: &Path) -> io::Result<()>;
    /// Total, free and available bytes of the file system that holds the path.
    fn space(&self, path: &Path) -> io::Result<Space>;
    /// Takes the exclusive lock on a file (made if absent), held until the value is dropped.
    /// Somebody else's lock is an error of kind `WouldBlock`.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync + Debug>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An absent file is an error.
    Read,
    /// An absent file is an error.
    Write,
    /// An absent file is made.
    Create,
    /// An absent file is made, and nobody but its owner may read it.
    CreatePrivate,
}

impl OpenMode {
    pub fn creates(self) -> bool {
        matches!(self, OpenMode::Create | OpenMode::CreatePrivate)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub name: String,
    pub path: PathBuf,
    pub is_dir: bool,
    /// 0 for a directory.
    pub bytes: u64,
    /// Milliseconds since the epoch.
    pub modified_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub total: u64,
    pub free: u64,
    /// What an ordinary user may still take.
    pub available: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Only what is in memory; an error of kind `WouldBlock` if the disk would have to be waited for.
    Cached,
    /// Waits for the disk.
    Blocking,
}

pub trait File: Debug + Send + Sync + 'static {
    /// Fills `bytes` from `at`, or fails with `UnexpectedEof`.
    fn read_exact_at(&self, bytes: &mut [u8], at: u64, mode: ReadMode) -> io::Result<()>;
    /// Writes all of the slices, one after the other, from `at`.
    fn write_all_at(&self, bytes: &[&[u8]], at: u64) -> io::Result<()>;
    /// Makes the written data durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// Takes disk blocks for the range, so that writing to it can't find the disk full. The length doesn't change.
    fn allocate(&self, at: u64, bytes: u64) -> io::Result<()>;
    /// Makes the range read as zeros; the length doesn't change. A file system that can gives the blocks back.
    fn clear(&self, at: u64, bytes: u64) -> io::Result<()> {
        write_zeros(self, at, bytes)
    }
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

pub(crate) fn write_zeros(file: &(impl File + ?Sized), at: u64, bytes: u64) -> io::Result<()> {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let end = at.saturating_add(bytes);
    let mut at = at;
    while at < end {
        let part = (end - at).min(ZEROS.len() as u64);
        file.write_all_at(&[&ZEROS[..part as usize]], at)?;
        at += part;
    }
    Ok(())
}
