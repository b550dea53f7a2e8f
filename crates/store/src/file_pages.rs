//! Pages of a file that is changed here and there: what is being worked on, kept until it is written.
//!
//! A changed page stays here until [`write`](FilePages::write) brings it to the file; nothing else may write there.

use crate::files::{File, ReadMode};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

pub(crate) const PAGE_BYTES: usize = 4096;
/// Pages written by one call, at most.
const RUN_PAGES_MAX: usize = 64;

/// The part of the file that has the pages. They are counted from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub start: u64,
    pub end: u64,
}

#[derive(Debug, Default)]
pub(crate) struct FilePages {
    pages: HashMap<u32, Page, foldhash::fast::RandomState>,
}

#[derive(Debug)]
struct Page {
    bytes: Box<[u8]>,
    changed: bool,
}

impl FilePages {
    /// Copies bytes of the area, from here or from the file. They lie in one page.
    pub fn read(&self, file: &dyn File, area: Area, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (number, within) = place(at);
        match self.pages.get(&number) {
            Some(page) => bytes.copy_from_slice(&page.bytes[within..within + bytes.len()]),
            None => file.read_exact_at(bytes, area.start + at, ReadMode::Blocking)?,
        }
        Ok(())
    }

    /// Bytes of the area that are about to be changed. They lie in one page.
    pub fn change(&mut self, file: &dyn File, area: Area, at: u64, len: usize) -> io::Result<&mut [u8]> {
        let (number, within) = place(at);
        let page = match self.pages.entry(number) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(vacant) => {
                let page_at = area.start + u64::from(number) * PAGE_BYTES as u64;
                let bytes = (area.end - page_at).min(PAGE_BYTES as u64);
                let mut bytes = vec![0; bytes as usize].into_boxed_slice();
                file.read_exact_at(&mut bytes, page_at, ReadMode::Blocking)?;
                vacant.insert(Page { bytes, changed: false })
            }
        };
        page.changed = true;
        Ok(&mut page.bytes[within..within + len])
    }

    /// Writes the changed pages, neighbours together.
    pub fn write(&mut self, file: &dyn File, area: Area) -> io::Result<()> {
        let mut changed: Vec<u32> =
            self.pages.iter().filter(|(_, page)| page.changed).map(|(&number, _)| number).collect();
        changed.sort_unstable();
        let neighbours = |a: &u32, b: &u32| a + 1 == *b;
        for run in changed.chunk_by(neighbours).flat_map(|run| run.chunks(RUN_PAGES_MAX)) {
            let slices: Vec<&[u8]> = run.iter().map(|number| &*self.pages[number].bytes).collect();
            file.write_all_at(&slices, area.start + u64::from(run[0]) * PAGE_BYTES as u64)?;
        }
        for number in changed {
            if let Some(page) = self.pages.get_mut(&number) {
                page.changed = false;
            }
        }
        Ok(())
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Frees everything. The caller has written it.
    pub fn clear(&mut self) {
        self.pages = HashMap::default();
    }
}

/// The page of a position, and the place in it.
fn place(at: u64) -> (u32, usize) {
    ((at / PAGE_BYTES as u64) as u32, (at % PAGE_BYTES as u64) as usize)
}
