//! One index file.
//!
//! On disk, always: the entries that a header counts are whole, and so are those that slots point to. A crash may
//! leave slots that point behind what the header counts; opening takes them back.

use crate::files::{File, FileSystem, OpenMode, ReadMode};
use crate::index::IndexKey;
use crate::index::layout::{ENTRY_BYTES, HEADER_BYTES, Header, IndexEntry, Layout};
use crate::index::slot_pages::SlotPages;
use crate::position::{Millis, PhyOffset};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Entries read at once where many are needed.
const BLOCK_ENTRIES: u32 = 204;

/// A query gives up in a slot after so many entries. They are some four a slot unless one key is used all the time.
const CHAIN_ENTRIES_MAX: usize = 1_000_000;

#[derive(Debug)]
pub(super) struct IndexFile {
    pub(super) path: PathBuf,
    /// The digits of its name.
    pub(super) name: u64,
    layout: Layout,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Arc<dyn File>,
    header: Header,
    pages: SlotPages,
    /// Entries were written since the file was last durable.
    changed: bool,
    /// What the first failed sync said. The system may have dropped what it couldn't write and call the next sync a
    /// success, so there is none.
    failed: Option<(io::ErrorKind, String)>,
}

impl IndexFile {
    pub(super) fn create(
        files: &dyn FileSystem,
        dir: &Path,
        name: u64,
        layout: Layout,
    ) -> io::Result<IndexFile> {
        let path = dir.join(format!("{name:017}"));
        let file = files.open(&path, OpenMode::Create)?;
        if let Err(e) = file.set_len(layout.file_bytes()) {
            // A file of another length would keep the store from opening.
            files.remove_file(&path)?;
            return Err(e);
        }
        Ok(IndexFile::new(path, name, layout, file, Header::EMPTY, false))
    }

    pub(super) fn open(
        files: &dyn FileSystem,
        path: PathBuf,
        name: u64,
        layout: Layout,
    ) -> io::Result<IndexFile> {
        let file = files.open(&path, OpenMode::Write)?;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0, ReadMode::Blocking)?;
        let header = Header::decode(&bytes, &layout);
        // Nobody knows what a killed process left to the system to write.
        Ok(IndexFile::new(path, name, layout, file, header, true))
    }

    fn new(
        path: PathBuf,
        name: u64,
        layout: Layout,
        file: Arc<dyn File>,
        header: Header,
        changed: bool,
    ) -> IndexFile {
        let inner = Inner { file, header, pages: SlotPages::default(), changed, failed: None };
        IndexFile { path, name, layout, inner: Mutex::new(inner) }
    }

    pub(super) fn header(&self) -> Header {
        self.inner.lock().header
    }

    /// How many more entries fit.
    pub(super) fn room(&self) -> usize {
        (self.layout.entries - self.inner.lock().header.next) as usize
    }

    /// Adds keys, at most as many as there is [`room`](Self::room) for. They can be found, but aren't durable.
    pub(super) fn append(&self, keys: &[IndexKey]) -> io::Result<()> {
        let mut inner = self.inner.lock();
        let before = inner.header;
        let mut replaced = Vec::with_capacity(keys.len());
        let result = inner.append(&self.layout, keys, &mut replaced);
        if result.is_err() {
            // The entries aren't in the file, so nothing may point to them.
            let Inner { file, header, pages, .. } = &mut *inner;
            *header = before;
            for (slot, number) in replaced.into_iter().rev() {
                pages.replace(&**file, &self.layout, slot, number)?;
            }
        }
        result
    }

    /// Makes it durable, so that a crash in between leaves what [`repair`](Self::repair) can mend: first the entries,
    /// then the slots that point to them, then the header that counts them.
    pub(super) fn sync(&self) -> io::Result<()> {
        let (file, changed) = {
            let inner = self.inner.lock();
            if let Some((kind, text)) = &inner.failed {
                let path = self.path.display();
                let text =
                    format!("an earlier sync of {path} failed ({text}); a restart repairs the key index");
                return Err(io::Error::new(*kind, text));
            }
            (Arc::clone(&inner.file), inner.changed)
        };
        if !changed {
            return Ok(());
        }
        self.sync_step(&*file)?;
        self.inner.lock().pages.write(&*file, &self.layout)?;
        self.sync_step(&*file)?;
        let header = self.header();
        file.write_all_at(&[&header.encode()], 0)?;
        self.sync_step(&*file)?;
        self.inner.lock().changed = false;
        Ok(())
    }

    fn sync_step(&self, file: &dyn File) -> io::Result<()> {
        let result = file.sync();
        if let Err(e) = &result {
            self.inner.lock().failed = Some((e.kind(), e.to_string()));
        }
        result
    }

    pub(super) fn free_memory(&self) {
        let mut inner = self.inner.lock();
        if !inner.changed {
            inner.pages.clear();
        }
    }

    /// Takes back slots that point to entries which the header doesn't count: new entries will take those places.
    pub(super) fn repair(&self) -> io::Result<()> {
        let mut inner = self.inner.lock();
        let Inner { file, header, pages, .. } = &mut *inner;
        let mut repaired = false;
        let mut from = header.next;
        while from < self.layout.entries {
            let block =
                read_block(&**file, &self.layout, from, BLOCK_ENTRIES.min(self.layout.entries - from))?;
            if block.as_flattened().iter().all(|&byte| byte == 0) {
                break;
            }
            for bytes in &block {
                let slot = self.layout.slot_of(IndexEntry::decode(bytes).hash);
                let mut number = pages.peek(&**file, &self.layout, slot)?;
                if number < header.next {
                    continue;
                }
                while number >= header.next {
                    number = previous(&**file, &self.layout, number)?;
                }
                pages.replace(&**file, &self.layout, slot, number)?;
                repaired = true;
            }
            from += block.len() as u32;
        }
        if repaired {
            pages.write(&**file, &self.layout)?;
            file.sync()?;
        }
        pages.clear();
        Ok(())
    }

    /// Takes back the entries of records at or above `log_end`, durably.
    pub(super) fn truncate(&self, log_end: PhyOffset) -> io::Result<()> {
        let mut inner = self.inner.lock();
        let Inner { file, header, pages, .. } = &mut *inner;
        let mut last = None;
        while header.next > 1 {
            let number = header.next - 1;
            let entry = read_entry(&**file, &self.layout, number)?;
            if entry.phy_offset < log_end {
                last = Some(entry);
                break;
            }
            let slot = self.layout.slot_of(entry.hash);
            let before = if entry.previous < number { entry.previous } else { 0 };
            if pages.peek(&**file, &self.layout, slot)? >= number {
                pages.replace(&**file, &self.layout, slot, before)?;
            }
            header.used_slots = header.used_slots.saturating_sub(u32::from(before == 0));
            header.next = number;
        }
        match last {
            Some(entry) => {
                header.end_phy = entry.phy_offset;
                header.end_time = entry.store_time(header.begin_time);
            }
            None => *header = Header::EMPTY,
        }
        inner.changed = true;
        drop(inner);
        self.sync()
    }

    /// Appends to `places` where records with this hash are, newest first, until there are `max`.
    pub(super) fn collect(
        &self,
        hash: u32,
        begin: Millis,
        end: Millis,
        max: usize,
        places: &mut Vec<PhyOffset>,
    ) -> io::Result<()> {
        let (file, header, newest) = {
            let inner = self.inner.lock();
            let newest = inner.pages.peek(&*inner.file, &self.layout, self.layout.slot_of(hash))?;
            (Arc::clone(&inner.file), inner.header, newest)
        };
        let mut number = if newest < header.next { newest } else { 0 };
        for _ in 0..CHAIN_ENTRIES_MAX {
            if number == 0 || places.len() >= max {
                break;
            }
            let entry = read_entry(&*file, &self.layout, number)?;
            let stored = entry.store_time(header.begin_time);
            // The file counts in seconds: the record may have been stored anywhere in this one.
            if stored.0.saturating_add(999) < begin.0 {
                break;
            }
            if entry.hash == hash && stored <= end {
                add_place(places, entry.phy_offset);
            }
            // Numbers fall along a chain; in a damaged one this ends a loop.
            number = if entry.previous < number { entry.previous } else { 0 };
        }
        Ok(())
    }

    /// Whether records of these times may be in the file.
    pub(super) fn covers(&self, begin: Millis, end: Millis) -> bool {
        let header = self.header();
        !header.is_empty() && begin <= header.end_time && header.begin_time <= end
    }
}

impl Inner {
    /// Notes in `replaced` what was in each slot that it changes, in order.
    fn append(
        &mut self,
        layout: &Layout,
        keys: &[IndexKey],
        replaced: &mut Vec<(u32, u32)>,
    ) -> io::Result<()> {
        let first = self.header.next;
        let mut bytes = Vec::with_capacity(keys.len() * ENTRY_BYTES);
        for key in keys {
            let number = self.header.next;
            let slot = layout.slot_of(key.hash);
            let before = self.pages.replace(&*self.file, layout, slot, number)?;
            replaced.push((slot, before));
            let before = if before < number { before } else { 0 };
            self.header.extend(key);
            self.header.used_slots += u32::from(before == 0);
            self.header.next += 1;
            bytes.extend_from_slice(&IndexEntry::new(key, self.header.begin_time, before).encode());
        }
        self.file.write_all_at(&[&bytes], layout.entry_at(first))?;
        self.changed = true;
        Ok(())
    }
}

/// Places come newest first; one that isn't older than the last was there already.
pub(super) fn add_place(places: &mut Vec<PhyOffset>, place: PhyOffset) {
    if places.last().is_none_or(|&last| place < last) {
        places.push(place);
    }
}

fn read_block(file: &dyn File, layout: &Layout, from: u32, count: u32) -> io::Result<Vec<[u8; ENTRY_BYTES]>> {
    let mut block = vec![[0; ENTRY_BYTES]; count as usize];
    file.read_exact_at(block.as_flattened_mut(), layout.entry_at(from), ReadMode::Blocking)?;
    Ok(block)
}

fn read_entry(file: &dyn File, layout: &Layout, number: u32) -> io::Result<IndexEntry> {
    let mut bytes = [0; ENTRY_BYTES];
    file.read_exact_at(&mut bytes, layout.entry_at(number), ReadMode::Blocking)?;
    Ok(IndexEntry::decode(&bytes))
}

/// The entry before a numbered one in its slot; numbers out of the file have none.
fn previous(file: &dyn File, layout: &Layout, number: u32) -> io::Result<u32> {
    if number >= layout.entries {
        return Ok(0);
    }
    let entry = read_entry(file, layout, number)?;
    Ok(if entry.previous < number { entry.previous } else { 0 })
}
