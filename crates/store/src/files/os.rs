//! The file system of the machine.

use super::{DirEntry, File, FileSystem, OpenMode, ReadMode, Space};
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::{Errno, ReadWriteFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

/// Slices that one `pwritev` takes (`IOV_MAX` is 1,024; nobody here comes near it).
const SLICES_MAX: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
pub struct OsFiles;

impl FileSystem for OsFiles {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create(mode.creates());
        if mode == OpenMode::CreatePrivate {
            options.mode(0o600);
        }
        Ok(Arc::new(OsFile { file: options.open(path)?, nowait: AtomicBool::new(true) }))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        std::fs::read_dir(dir)?.map(|entry| describe(&entry?)).collect()
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(dir)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        std::fs::File::open(dir)?.sync_all()
    }

    fn sync_all(&self, root: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(std::fs::File::open(root)?)?)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let stat = rustix::fs::statvfs(path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Space { total: bytes(stat.f_blocks), free: bytes(stat.f_bfree), available: bytes(stat.f_bavail) })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync + std::fmt::Debug>> {
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        // The Java server locks bytes 0 to 1 by fcntl, so that lock is needed to keep it out and to be kept out by
        // it. It doesn't hold between two stores of one process; flock does.
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                use std::os::unix::fs::FileExt;
                file.write_all_at(b"lock", 0)?;
                Ok(Box::new(file))
            }
            Err(Errno::ACCESS | Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error.into()),
        }
    }
}

fn describe(entry: &std::fs::DirEntry) -> io::Result<DirEntry> {
    let metadata = entry.metadata()?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(DirEntry {
        name: entry.file_name().to_string_lossy().into_owned(),
        path: entry.path(),
        is_dir: metadata.is_dir(),
        bytes: if metadata.is_dir() { 0 } else { metadata.len() },
        modified_ms: modified.as_millis() as i64,
    })
}

#[derive(Debug)]
struct OsFile {
    file: std::fs::File,
    /// Whether the file system knows `RWF_NOWAIT`; cleared when it says no.
    nowait: AtomicBool,
}

impl OsFile {
    fn read_some(&self, bytes: &mut [u8], at: u64, mode: ReadMode) -> io::Result<usize> {
        if mode == ReadMode::Cached && self.nowait.load(Ordering::Relaxed) {
            let slices = &mut [IoSliceMut::new(bytes)];
            match rustix::io::preadv2(&self.file, slices, at, ReadWriteFlags::NOWAIT) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.nowait.store(false, Ordering::Relaxed),
                result => return Ok(result?),
            }
        }
        Ok(rustix::io::pread(&self.file, bytes, at)?)
    }
}

impl File for OsFile {
    fn read_exact_at(&self, bytes: &mut [u8], at: u64, mode: ReadMode) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.read_some(&mut bytes[done..], at + done as u64, mode) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[&[u8]], at: u64) -> io::Result<()> {
        let mut at = at;
        for part in bytes.chunks(SLICES_MAX) {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            for (slice, bytes) in slices.iter_mut().zip(part) {
                *slice = IoSlice::new(bytes);
            }
            let mut rest = &mut slices[..part.len()];
            // What is empty is skipped first, so that a write of nothing can't look like a full disk.
            IoSlice::advance_slices(&mut rest, 0);
            while !rest.is_empty() {
                match rustix::io::pwritev(&self.file, rest, at) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        at += written as u64;
                        IoSlice::advance_slices(&mut rest, written);
                    }
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn allocate(&self, at: u64, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, at, bytes)?)
    }

    fn clear(&self, at: u64, bytes: u64) -> io::Result<()> {
        let bytes = bytes.min(self.len()?.saturating_sub(at));
        if bytes == 0 {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, at, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => super::write_zeros(self, at, bytes),
            result => Ok(result?),
        }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &tempfile::TempDir) -> Arc<dyn File> {
        OsFiles.open(&dir.path().join("f"), OpenMode::Create).unwrap()
    }

    #[test]
    fn slices_are_written_one_behind_the_other_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        file.write_all_at(&[b"", b"ab", b"", b"cde"], 3).unwrap();
        let mut bytes = [9; 8];
        file.read_exact_at(&mut bytes, 0, ReadMode::Blocking).unwrap();
        assert_eq!(&bytes, b"\0\0\0abcde");
        file.read_exact_at(&mut bytes, 0, ReadMode::Cached).unwrap();
        let beyond = file.read_exact_at(&mut bytes, 1, ReadMode::Cached).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_cleared_range_reads_as_zeros_and_the_length_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        file.write_all_at(&[&[7; 10_000]], 0).unwrap();
        file.allocate(10_000, 1 << 20).unwrap();
        file.clear(100, 1 << 30).unwrap();
        assert_eq!(file.len().unwrap(), 10_000);
        let mut bytes = [9; 10_000];
        file.read_exact_at(&mut bytes, 0, ReadMode::Blocking).unwrap();
        assert!(bytes[..100].iter().all(|&byte| byte == 7));
        assert!(bytes[100..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = OsFiles.lock(&path).unwrap();
        assert_eq!(OsFiles.lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        OsFiles.lock(&path).unwrap();
    }
}
