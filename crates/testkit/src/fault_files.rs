//! Files in memory that lose what wasn't synced, run full, and fail, when and how a test says.
//!
//! Without a planned fault they are just files in memory. The same seed gives the same crash.

use crate::TestClock;
use crate::disk::{Crash, Disk, Operation};
use crate::node::NodeId;
use crate::sparse::{PAGE_BYTES, parts};
use parking_lot::{Mutex, MutexGuard};
use roxmq_store::Millis;
use roxmq_store::clock::Clock;
use roxmq_store::files::{DirEntry, File, FileSystem, OpenMode, ReadMode, Space};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of the disk unless a test sets one.
const DISK_BYTES: u64 = 1 << 50;

pub struct FaultFiles {
    disk: Arc<Mutex<Disk>>,
    clock: Arc<TestClock>,
    /// Syncs of files pass it.
    gate: Arc<Mutex<()>>,
}

impl FaultFiles {
    pub fn new() -> Arc<FaultFiles> {
        FaultFiles::with_clock(Arc::new(TestClock::at(Millis(0))))
    }

    /// Files are modified at the time of this clock.
    pub fn with_clock(clock: Arc<TestClock>) -> Arc<FaultFiles> {
        Arc::new(FaultFiles { disk: Arc::new(Mutex::new(Disk::new())), clock, gate: Arc::default() })
    }

    /// What a restart after a crash at this moment finds. These files stay as they are, so that one run can crash in
    /// several ways.
    pub fn crash(&self, mode: Crash, seed: u64) -> Arc<FaultFiles> {
        let disk = self.disk.lock().crash(mode, seed);
        Arc::new(FaultFiles {
            disk: Arc::new(Mutex::new(disk)),
            clock: Arc::clone(&self.clock),
            gate: Arc::default(),
        })
    }

    /// Changes and syncs so far.
    pub fn operations(&self) -> u64 {
        self.disk.lock().operations
    }

    pub fn syncs(&self) -> u64 {
        self.disk.lock().syncs
    }

    /// The change or sync with this number, counted from 0, and everything after it fails without any effect.
    pub fn turn_off_at_operation(&self, number: u64) {
        self.disk.lock().off_at_operation = Some(number);
    }

    /// The sync with this number, counted from 0, and everything after it fails without any effect.
    pub fn turn_off_at_sync(&self, number: u64) {
        self.disk.lock().off_at_sync = Some(number);
    }

    /// Syncs of files wait until this is dropped.
    pub fn hold_syncs(&self) -> MutexGuard<'_, ()> {
        self.gate.lock()
    }

    pub fn turn_off(&self) {
        self.disk.lock().off = true;
    }

    pub fn is_off(&self) -> bool {
        self.disk.lock().off
    }

    /// The change or sync with this number fails; what follows works.
    pub fn fail_at_operation(&self, number: u64) {
        self.disk.lock().fail_at_operation = Some(number);
    }

    /// The sync with this number fails, and what it should have made durable never is, though later syncs succeed. As
    /// with Linux, each other one that has the file open is told of the failure once.
    pub fn fail_at_sync(&self, number: u64) {
        self.disk.lock().fail_at_sync = Some(number);
    }

    /// How many bytes of blocks there are; a write that needs more finds the disk full.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.disk.lock().capacity_bytes = bytes;
    }

    /// Whether reads that don't want to wait for the disk would have to.
    pub fn set_cold(&self, cold: bool) {
        self.disk.lock().cold = cold;
    }
}

impl FileSystem for FaultFiles {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Read)?;
        let id = match disk.find(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && mode.creates() => {
                disk.begin(Operation::Change)?;
                let id = disk.create_file(path)?;
                disk.file_mut(id)?.modified_ms = self.clock.now().0;
                id
            }
            found => found?,
        };
        let file = FaultFile {
            disk: Arc::clone(&self.disk),
            clock: Arc::clone(&self.clock),
            gate: Arc::clone(&self.gate),
            id,
            writable: mode != OpenMode::Read,
            told_failures: AtomicU64::new(disk.file(id)?.failed_syncs),
        };
        Ok(Arc::new(file))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Read)?;
        let id = disk.find(dir)?;
        let entry = |(name, &node): (&String, &NodeId)| {
            let file = disk.file(node).ok();
            DirEntry {
                name: name.clone(),
                path: dir.join(name),
                is_dir: file.is_none(),
                bytes: file.map_or(0, |file| file.live.len()),
                modified_ms: file.map_or(0, |file| file.modified_ms),
            }
        };
        Ok(disk.dir(id)?.live.iter().map(entry).collect())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        if disk.find(dir).is_ok_and(|id| disk.dir(id).is_ok()) {
            return disk.begin(Operation::Read);
        }
        disk.begin(Operation::Change)?;
        disk.create_dir_all(dir)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        let id = disk.find(path)?;
        disk.file(id)?;
        let (dir, name) = disk.parent(path)?;
        disk.dir_mut(dir)?.remove(name);
        Ok(())
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        let id = match disk.find(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        disk.empty_dir(id)?;
        let (parent, name) = disk.parent(dir)?;
        disk.dir_mut(parent)?.remove(name);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        disk.find(from)?;
        let (from_dir, from_name) = disk.parent(from)?;
        let (to_dir, to_name) = disk.parent(to)?;
        if from_dir != to_dir {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "renaming works within a directory only"));
        }
        disk.dir_mut(from_dir)?.rename(from_name, to_name);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let begun = disk.begin(Operation::Sync);
        let id = disk.find(dir)?;
        let failed = begun.is_err() && !disk.off;
        let dir = disk.dir_mut(id)?;
        if failed {
            dir.fail_sync();
        }
        begun?;
        dir.sync();
        Ok(())
    }

    fn sync_all(&self, _root: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Sync)?;
        disk.sync_all();
        Ok(())
    }

    fn space(&self, _path: &Path) -> io::Result<Space> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Read)?;
        let total = disk.capacity_bytes.unwrap_or(DISK_BYTES);
        let free = total.saturating_sub(disk.used_bytes());
        Ok(Space { total, free, available: free })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync + fmt::Debug>> {
        let mut disk = self.disk.lock();
        if disk.find(path).is_err() {
            disk.begin(Operation::Change)?;
            disk.create_file(path)?;
        }
        if !disk.locked.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(Lock { disk: Arc::clone(&self.disk), path: path.to_owned() }))
    }
}

impl fmt::Debug for FaultFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultFiles after {} operations", self.operations())
    }
}

#[derive(Debug)]
struct Lock {
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.disk.lock().locked.remove(&self.path);
    }
}

struct FaultFile {
    disk: Arc<Mutex<Disk>>,
    clock: Arc<TestClock>,
    gate: Arc<Mutex<()>>,
    id: NodeId,
    writable: bool,
    told_failures: AtomicU64,
}

impl FaultFile {
    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl File for FaultFile {
    fn read_exact_at(&self, bytes: &mut [u8], at: u64, mode: ReadMode) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Read)?;
        if disk.cold && mode == ReadMode::Cached {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let inside = disk.file(self.id)?.live.read(at, bytes);
        if inside { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn write_all_at(&self, bytes: &[&[u8]], at: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        let bytes = bytes.concat();
        disk.take_blocks(self.id, pages(at, bytes.len() as u64))?;
        let now = self.clock.now().0;
        let file = disk.file_mut(self.id)?;
        file.write(at, &bytes);
        file.modified_ms = now;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        drop(self.gate.lock());
        let mut disk = self.disk.lock();
        let begun = disk.begin(Operation::Sync);
        let failed = begun.is_err() && !disk.off;
        let file = disk.file_mut(self.id)?;
        if failed {
            file.fail_sync();
        }
        let told = self.told_failures.swap(file.failed_syncs, Ordering::Relaxed);
        begun?;
        if told != file.failed_syncs {
            return Err(io::Error::other("an earlier sync of this file failed, as planned"));
        }
        file.sync();
        Ok(())
    }

    fn allocate(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        disk.take_blocks(self.id, pages(at, bytes))
    }

    fn clear(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        let file = disk.file_mut(self.id)?;
        let end = at.saturating_add(bytes);
        file.clear(at, end.min(file.live.len()).saturating_sub(at));
        file.blocks.retain(|page| page * PAGE_BYTES < at || (page + 1) * PAGE_BYTES > end);
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        disk.begin(Operation::Change)?;
        let now = self.clock.now().0;
        let file = disk.file_mut(self.id)?;
        file.set_len(bytes);
        file.blocks.retain(|page| page * PAGE_BYTES < bytes);
        file.modified_ms = now;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut disk = self.disk.lock();
        disk.begin(Operation::Read)?;
        Ok(disk.file(self.id)?.live.len())
    }
}

impl fmt::Debug for FaultFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultFile {}", self.id)
    }
}

fn pages(at: u64, bytes: u64) -> impl Iterator<Item = u64> + Clone {
    parts(at, bytes).map(|(page, _, _)| page).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/dir/file";

    /// A durable file of 4 KiB of 1s, over which 2s were written.
    fn overwritten() -> Arc<FaultFiles> {
        let files = FaultFiles::new();
        files.create_dir_all(Path::new("/dir")).unwrap();
        let file = files.open(Path::new(FILE), OpenMode::Create).unwrap();
        file.set_len(4096).unwrap();
        file.write_all_at(&[&[1; 4096]], 0).unwrap();
        file.sync().unwrap();
        files.sync_dir(Path::new("/dir")).unwrap();
        files.sync_dir(Path::new("/")).unwrap();
        file.write_all_at(&[&[2; 4096]], 0).unwrap();
        files
    }

    fn content(files: &FaultFiles) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let file = files.open(Path::new(FILE), OpenMode::Read).unwrap();
        file.read_exact_at(&mut bytes, 0, ReadMode::Blocking).unwrap();
        bytes
    }

    #[test]
    fn a_crash_of_the_process_loses_nothing_and_one_of_the_power_what_was_not_synced() {
        let files = overwritten();
        assert_eq!(content(&files.crash(Crash::Process, 0)), [2; 4096]);
        assert_eq!(content(&files.crash(Crash::LoseUnsynced, 0)), [1; 4096]);
    }

    #[test]
    fn a_scattered_write_is_torn_at_sectors_in_some_run_and_the_same_with_the_same_seed() {
        let files = overwritten();
        let torn = (0..20).map(|seed| content(&files.crash(Crash::ScatterUnsynced, seed))).find(|bytes| {
            assert!(bytes.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            bytes.contains(&1) && bytes.contains(&2)
        });
        assert!(torn.is_some());
        let again = |seed| content(&files.crash(Crash::ScatterUnsynced, seed));
        assert_eq!(again(3), again(3));
    }

    #[test]
    fn a_name_is_durable_only_with_its_directory() {
        let files = overwritten();
        files.rename(Path::new(FILE), Path::new("/dir/other")).unwrap();
        let names = |files: &FaultFiles| -> Vec<String> {
            files.list(Path::new("/dir")).unwrap().into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&files.crash(Crash::LoseUnsynced, 0)), ["file"]);
        files.sync_dir(Path::new("/dir")).unwrap();
        assert_eq!(names(&files.crash(Crash::LoseUnsynced, 0)), ["other"]);
    }

    #[test]
    fn what_a_failed_sync_dropped_is_never_durable() {
        let files = overwritten();
        files.fail_at_sync(files.syncs());
        let file = files.open(Path::new(FILE), OpenMode::Write).unwrap();
        assert!(file.sync().is_err());
        file.sync().unwrap();
        assert_eq!(content(&files), [2; 4096]);
        assert_eq!(content(&files.crash(Crash::LoseUnsynced, 0)), [1; 4096]);
    }

    #[test]
    fn a_full_disk_takes_what_was_allocated_and_no_more() {
        let files = FaultFiles::new();
        files.set_capacity(Some(8192));
        let file = files.open(Path::new("/file"), OpenMode::Create).unwrap();
        file.set_len(1 << 30).unwrap();
        file.allocate(0, 8192).unwrap();
        file.write_all_at(&[&[1; 8192]], 0).unwrap();
        let full = file.write_all_at(&[&[1]], 8192).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        files.set_capacity(None);
        file.write_all_at(&[&[1]], 8192).unwrap();
    }

    #[test]
    fn without_power_nothing_works_and_a_lock_holds_until_it_is_dropped() {
        let files = overwritten();
        let lock = files.lock(Path::new("/lock")).unwrap();
        assert_eq!(files.lock(Path::new("/lock")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        files.lock(Path::new("/lock")).unwrap();
        files.turn_off_at_sync(files.syncs());
        assert!(files.sync_all(Path::new("/")).is_err());
        assert!(files.is_off());
        assert!(files.open(Path::new(FILE), OpenMode::Read).is_err());
    }
}
