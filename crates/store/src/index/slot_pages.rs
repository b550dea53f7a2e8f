//! The hash slots of an index file that are being worked on, a page at a time.
//!
//! A changed page stays here until [`write`](SlotPages::write) brings it to the file; nothing else may write slots.

use crate::files::{File, ReadMode};
use crate::index::layout::{HEADER_BYTES, Layout, SLOT_BYTES};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

const PAGE_BYTES: usize = 4096;
const PAGE_SLOTS: u32 = (PAGE_BYTES / SLOT_BYTES) as u32;

/// Pages written by one call, at most.
const RUN_PAGES_MAX: usize = 64;

/// All pages of a file of default size are 4,883.
const PAGES_MAX: usize = 8192;

#[derive(Debug, Default)]
pub(super) struct SlotPages {
    pages: HashMap<u32, Page, foldhash::fast::RandomState>,
}

#[derive(Debug)]
struct Page {
    bytes: Box<[u8]>,
    changed: bool,
}

impl SlotPages {
    /// The number in a slot, from here or from the file.
    pub(super) fn peek(&self, file: &dyn File, slot: u32) -> io::Result<u32> {
        let (number, at) = place(slot);
        let mut bytes = [0; SLOT_BYTES];
        match self.pages.get(&number) {
            Some(page) => bytes.copy_from_slice(&page.bytes[at..at + SLOT_BYTES]),
            None => file.read_exact_at(&mut bytes, page_at(number) + at as u64, ReadMode::Blocking)?,
        }
        Ok(u32::from_be_bytes(bytes))
    }

    /// Puts a number in a slot and returns the one before it.
    pub(super) fn replace(
        &mut self,
        file: &dyn File,
        layout: &Layout,
        slot: u32,
        entry: u32,
    ) -> io::Result<u32> {
        let (number, at) = place(slot);
        let page = match self.pages.entry(number) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(place) => {
                let bytes =
                    (layout.slots_bytes() - u64::from(number) * PAGE_BYTES as u64).min(PAGE_BYTES as u64);
                let mut bytes = vec![0; bytes as usize].into_boxed_slice();
                file.read_exact_at(&mut bytes, page_at(number), ReadMode::Blocking)?;
                place.insert(Page { bytes, changed: false })
            }
        };
        let slot: &mut [u8] = &mut page.bytes[at..at + SLOT_BYTES];
        let before = slot.iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
        slot.copy_from_slice(&entry.to_be_bytes());
        page.changed = true;
        Ok(before)
    }

    /// Writes the changed pages, neighbours together.
    pub(super) fn write(&mut self, file: &dyn File) -> io::Result<()> {
        let mut changed: Vec<u32> =
            self.pages.iter().filter(|(_, page)| page.changed).map(|(&number, _)| number).collect();
        changed.sort_unstable();
        let neighbours = |a: &u32, b: &u32| a + 1 == *b;
        for run in changed.chunk_by(neighbours).flat_map(|run| run.chunks(RUN_PAGES_MAX)) {
            let slices: Vec<&[u8]> = run.iter().map(|number| &*self.pages[number].bytes).collect();
            file.write_all_at(&slices, page_at(run[0]))?;
        }
        for number in changed {
            if let Some(page) = self.pages.get_mut(&number) {
                page.changed = false;
            }
        }
        if self.pages.len() > PAGES_MAX {
            self.clear();
        }
        Ok(())
    }

    /// Frees everything. The caller has written it.
    pub(super) fn clear(&mut self) {
        self.pages = HashMap::default();
    }
}

/// The page of a slot and the place in it.
fn place(slot: u32) -> (u32, usize) {
    (slot / PAGE_SLOTS, (slot % PAGE_SLOTS) as usize * SLOT_BYTES)
}

/// Pages are counted from the first slot, so that none holds the header.
fn page_at(number: u32) -> u64 {
    HEADER_BYTES as u64 + u64::from(number) * PAGE_BYTES as u64
}
