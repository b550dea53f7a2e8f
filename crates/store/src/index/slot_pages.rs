//! The hash slots of an index file that are being worked on.

use crate::file_pages::{Area, FilePages};
use crate::files::File;
use crate::index::layout::{HEADER_BYTES, Layout, SLOT_BYTES};
use std::io;

/// All pages of a file of default size are 4,883.
const PAGES_MAX: usize = 8192;

#[derive(Debug, Default)]
pub(super) struct SlotPages(FilePages);

impl SlotPages {
    /// The number in a slot, from here or from the file.
    pub(super) fn peek(&self, file: &dyn File, layout: &Layout, slot: u32) -> io::Result<u32> {
        let mut bytes = [0; SLOT_BYTES];
        self.0.read(file, area(layout), at(slot), &mut bytes)?;
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
        let slot = self.0.change(file, area(layout), at(slot), SLOT_BYTES)?;
        let before = slot.iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
        slot.copy_from_slice(&entry.to_be_bytes());
        Ok(before)
    }

    /// Writes what has changed.
    pub(super) fn write(&mut self, file: &dyn File, layout: &Layout) -> io::Result<()> {
        self.0.write(file, area(layout))?;
        if self.0.len() > PAGES_MAX {
            self.clear();
        }
        Ok(())
    }

    /// Frees everything. The caller has written it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// No page holds the header.
fn area(layout: &Layout) -> Area {
    Area { start: HEADER_BYTES as u64, end: HEADER_BYTES as u64 + layout.slots_bytes() }
}

fn at(slot: u32) -> u64 {
    u64::from(slot) * SLOT_BYTES as u64
}
