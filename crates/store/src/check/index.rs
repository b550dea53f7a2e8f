//! Holds index files against the log: each entry must lead to a record with that key, and must itself be found from
//! its slot.

use super::CheckReport;
use crate::commit_log::segments::Segments;
use crate::dispatch::record_hashes;
use crate::files::{File, FileSystem, OpenMode, ReadMode};
use crate::index::layout::{ENTRY_BYTES, HEADER_BYTES, Header, IndexEntry, Layout, SLOT_BYTES};
use crate::options::StoreOptions;
use crate::recovery::scan::{Scan, Step};
use std::io;
use std::path::Path;

/// Entries or slots that are read at once.
const READ_ITEMS: u32 = 16 << 10;
const NAME_DIGITS: usize = 17;
/// Wrong entries of a file that are told one by one.
const WRONG_MAX: u64 = 3;

pub(super) fn check(
    files: &dyn FileSystem,
    options: &StoreOptions,
    segments: &Segments,
    report: &mut CheckReport,
) -> io::Result<()> {
    let layout = Layout { slots: options.index_slots, entries: options.index_entries };
    let mut found = match files.list(&options.root.join("index")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        result => result?,
    };
    found.retain(|entry| !entry.is_dir && entry.name.len() == NAME_DIGITS);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let count = found.len();
    for (at, entry) in found.into_iter().enumerate() {
        report.index_files += 1;
        if entry.bytes != layout.file_bytes() {
            let text = format!(
                "the file has {} bytes; with maxHashSlotNum={} and maxIndexNum={} it would have {}",
                entry.bytes,
                layout.slots,
                layout.entries,
                layout.file_bytes()
            );
            report.add(&entry.path, 0, text);
            continue;
        }
        // The last file of a store that crashed is repaired at the start.
        if !(report.crashed && at + 1 == count) {
            let file = files.open(&entry.path, OpenMode::Read)?;
            IndexCheck { file: &*file, path: &entry.path, layout, segments }.run(report)?;
        }
    }
    Ok(())
}

struct IndexCheck<'a> {
    file: &'a dyn File,
    path: &'a Path,
    layout: Layout,
    segments: &'a Segments,
}

impl IndexCheck<'_> {
    fn run(&self, report: &mut CheckReport) -> io::Result<()> {
        let mut bytes = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, 0, ReadMode::Blocking)?;
        let header = Header::decode(&bytes, &self.layout);
        let previous = self.check_entries(header.next, report)?;
        let reached = self.count_reached(&previous)?;
        let entries = u64::from(header.next - 1);
        if reached != entries {
            let text = format!("of {entries} entries only {reached} are reached from their slots");
            report.add(self.path, HEADER_BYTES as u64, text);
        }
        Ok(())
    }

    /// Looks at each entry's record; gives the number of the entry before it in its slot, by entry.
    fn check_entries(&self, next: u32, report: &mut CheckReport) -> io::Result<Vec<u32>> {
        let mut previous = vec![0; next as usize];
        let mut wrong = 0;
        let mut hashes = Vec::new();
        let mut last_phy = None;
        let mut number = 1;
        while number < next {
            let count = READ_ITEMS.min(next - number);
            let bytes = self.read(self.layout.entry_at(number), count as usize * ENTRY_BYTES)?;
            for bytes in bytes.as_chunks::<ENTRY_BYTES>().0 {
                let entry = IndexEntry::decode(bytes);
                previous[number as usize] = entry.previous;
                // Keys of one record follow each other.
                if last_phy != Some(entry.phy_offset) {
                    self.hashes_at(entry.phy_offset.0, &mut hashes);
                    last_phy = Some(entry.phy_offset);
                }
                if entry.phy_offset < report.log_start || hashes.contains(&entry.hash) {
                    report.keys += 1;
                } else {
                    wrong += 1;
                    if wrong <= WRONG_MAX {
                        let text =
                            format!("entry {number}: no record with its key lies at {}", entry.phy_offset);
                        report.add(self.path, self.layout.entry_at(number), text);
                    }
                }
                number += 1;
            }
        }
        Ok(previous)
    }

    /// The key hashes of the record at a position; none if there is no record.
    fn hashes_at(&self, position: i64, hashes: &mut Vec<u32>) {
        hashes.clear();
        if let Ok(Step::Record(record)) = Scan::of_one(self.segments, position).step() {
            record_hashes(&record, hashes);
        }
    }

    fn count_reached(&self, previous: &[u32]) -> io::Result<u64> {
        let mut reached = 0;
        let mut slot = 0;
        // More than there are would be entries that belong to two slots.
        while slot < self.layout.slots && reached <= previous.len() as u64 {
            let count = READ_ITEMS.min(self.layout.slots - slot);
            let at = HEADER_BYTES as u64 + u64::from(slot) * SLOT_BYTES as u64;
            for bytes in self.read(at, count as usize * SLOT_BYTES)?.as_chunks::<SLOT_BYTES>().0 {
                reached += chain_length(u32::from_be_bytes(*bytes), previous);
                if reached > previous.len() as u64 {
                    break;
                }
            }
            slot += count;
        }
        Ok(reached)
    }

    fn read(&self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut out = vec![0; bytes];
        self.file.read_exact_at(&mut out, at, ReadMode::Blocking)?;
        Ok(out)
    }
}

/// Entries of a slot, from its newest one. Chains go back only, so one that doesn't ends there.
fn chain_length(newest: u32, previous: &[u32]) -> u64 {
    let mut length = 0;
    let mut number = newest;
    while number > 0 && (number as usize) < previous.len() {
        length += 1;
        let before = previous[number as usize];
        if before >= number {
            break;
        }
        number = before;
    }
    length
}
