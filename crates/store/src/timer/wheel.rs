//! The file `timerwheel`: a slot for each moment of fourteen days, half of them behind and half ahead.
//!
//! A slot belongs to the moment that it names; moments fourteen days apart share their place. The file is made with the
//! first message. Slots are changed in memory, and the pages that hold them are written by [`write`](Wheel::write).

use super::occupied::Occupied;
use super::slot::{SLOT_BYTES, Slot};
use crate::file_pages::{Area, FilePages};
use crate::files::{File, FileSystem, OpenMode, ReadMode};
use crate::position::Millis;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fourteen days of seconds, whatever the precision is.
pub const WHEEL_SLOTS: u32 = 2 * 7 * 86_400;
/// Pages that are kept when they are written: those of a day and a half, if the precision is a second.
const PAGES_MAX: usize = 1024;
const SCAN_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Wheel {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Option<Arc<dyn File>>,
    pages: FilePages,
    occupied: Occupied,
    slots: i64,
    precision_ms: i64,
}

impl Wheel {
    /// A file of another size is none.
    pub fn load(files: Arc<dyn FileSystem>, path: &Path, slots: u32, precision_ms: i64) -> io::Result<Wheel> {
        let bytes = u64::from(slots) * SLOT_BYTES as u64;
        let file = match files.open(path, OpenMode::Write) {
            Ok(file) if file.len()? == bytes => Some(file),
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (pages, occupied) = (FilePages::default(), Occupied::new(slots as usize));
        let (path, slots) = (path.to_path_buf(), i64::from(slots));
        Ok(Wheel { files, path, file, pages, occupied, slots, precision_ms })
    }

    pub fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// Forgets every slot, in the file, too.
    pub fn reset(&mut self) -> io::Result<()> {
        self.pages.clear();
        self.occupied = Occupied::new(self.slots as usize);
        self.file = None;
        match self.files.remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn number(&self, time: Millis) -> i64 {
        time.0.div_euclid(self.precision_ms)
    }

    fn index(&self, number: i64) -> usize {
        number.rem_euclid(self.slots) as usize
    }

    fn area(&self) -> Area {
        Area { start: 0, end: self.slots as u64 * SLOT_BYTES as u64 }
    }

    /// The slot of a moment, empty if its place is another one's.
    pub fn slot(&self, time: Millis) -> io::Result<Slot> {
        let number = self.number(time);
        let slot = self.at(self.index(number))?;
        Ok(if slot.number == number { slot } else { Slot::empty(number) })
    }

    /// The moment that has messages where the one asked about would have them.
    pub fn conflict(&self, time: Millis) -> io::Result<Option<Millis>> {
        let number = self.number(time);
        let index = self.index(number);
        if !self.occupied.has(index) {
            return Ok(None);
        }
        let other = self.at(index)?.number;
        Ok((other != number).then_some(Millis(other * self.precision_ms)))
    }

    fn at(&self, index: usize) -> io::Result<Slot> {
        let Some(file) = &self.file else { return Ok(Slot::BLANK) };
        let mut bytes = [0; SLOT_BYTES];
        self.pages.read(&**file, self.area(), (index * SLOT_BYTES) as u64, &mut bytes)?;
        Ok(Slot::decode(&bytes))
    }

    pub fn put(&mut self, slot: &Slot) -> io::Result<()> {
        let file = self.made()?;
        let index = self.index(slot.number);
        let area = self.area();
        let bytes = self.pages.change(&*file, area, (index * SLOT_BYTES) as u64, SLOT_BYTES)?;
        bytes.copy_from_slice(&slot.encode());
        Ok(())
    }

    /// Takes a slot out of the file.
    pub fn blank(&mut self, time: Millis) -> io::Result<()> {
        self.clear(time);
        let number = self.number(time);
        if self.at(self.index(number))?.number != number {
            return Ok(());
        }
        let file = self.made()?;
        let (at, area) = (self.index(number) * SLOT_BYTES, self.area());
        let bytes = self.pages.change(&*file, area, at as u64, SLOT_BYTES)?;
        bytes.copy_from_slice(&Slot::BLANK.encode());
        Ok(())
    }

    fn made(&mut self) -> io::Result<Arc<dyn File>> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let file = self.files.open(&self.path, OpenMode::Create)?;
        file.set_len(0)?;
        file.set_len(self.area().end)?;
        if let Some(dir) = self.path.parent() {
            self.files.sync_dir(dir)?;
        }
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Messages wait in this slot.
    pub fn occupy(&mut self, time: Millis) {
        let index = self.index(self.number(time));
        self.occupied.set(index);
    }

    /// None do any more.
    pub fn clear(&mut self, time: Millis) {
        let index = self.index(self.number(time));
        self.occupied.clear(index);
    }

    /// How many moments have a place of their own.
    pub fn turn(&self) -> i64 {
        self.slots
    }

    /// The first moment from here on that has messages, if those that have some are less than a turn from here.
    pub fn next(&self, from: Millis) -> Option<Millis> {
        let from = self.number(from);
        let distance = self.occupied.distance(self.index(from))? as i64;
        Some(Millis((from + distance) * self.precision_ms))
    }

    /// Every slot with messages, in order of moments.
    pub fn waiting(&self, from: Millis) -> io::Result<Vec<Slot>> {
        let mut slots = Vec::new();
        let (mut at, end) = (self.number(from), self.number(from) + self.slots);
        while at < end {
            let Some(distance) = self.occupied.distance(self.index(at)) else { break };
            at += distance as i64;
            if at < end {
                slots.push(self.at(self.index(at))?);
            }
            at += 1;
        }
        Ok(slots)
    }

    /// Finds out which slots of the file have messages: those of no moment before this one. Gives the position of the
    /// last unit that one of them names.
    pub fn scan(&mut self, from: Millis) -> io::Result<i64> {
        let Some(file) = self.file.clone() else { return Ok(-1) };
        let (from, mut last) = (self.number(from), -1);
        let mut bytes = vec![0; SCAN_BYTES];
        let mut index = 0;
        while index < self.slots as usize {
            let part = SCAN_BYTES.min((self.slots as usize - index) * SLOT_BYTES);
            file.read_exact_at(&mut bytes[..part], (index * SLOT_BYTES) as u64, ReadMode::Blocking)?;
            for bytes in bytes[..part].as_chunks::<SLOT_BYTES>().0 {
                let slot = Slot::decode(bytes);
                // A place that was never written has the number 0.
                if slot.number >= from.max(1)
                    && slot.number < from + self.slots
                    && slot.last >= 0
                    && self.index(slot.number) == index
                {
                    self.occupied.set(index);
                    last = last.max(slot.last);
                }
                index += 1;
            }
        }
        Ok(last)
    }

    pub fn is_crowded(&self) -> bool {
        self.pages.len() > PAGES_MAX
    }

    /// Brings what has changed to the file.
    pub fn write(&mut self) -> io::Result<()> {
        let area = self.area();
        let Some(file) = &self.file else { return Ok(()) };
        self.pages.write(&**file, area)?;
        if self.is_crowded() {
            self.pages.clear();
        }
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.sync())
    }
}
