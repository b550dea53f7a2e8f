//! Finds single records by their positions in the log.

use crate::core::Core;
use crate::position::PhyOffset;
use roxmq_protocol::record::{FILLER_BYTES, Record, RecordHead, offset};
use std::io;

impl Core {
    /// The record at a position, or none if no record starts there.
    pub fn record(&self, at: PhyOffset) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; offset::SYS_FLAG];
        if at.0 < 0 || !self.fill(&mut head, at.0)? {
            return Ok(None);
        }
        let size = int(&head, offset::TOTAL_SIZE);
        if size < head.len() as i32
            || i64::from(size) > self.log.segments.file_bytes()
            || long(&head, offset::PHY_OFFSET) != at.0
        {
            return Ok(None);
        }
        let mut bytes = vec![0; size as usize];
        if !self.fill(&mut bytes, at.0)? {
            return Ok(None);
        }
        Ok(Record::decode(&bytes).is_ok().then_some(bytes))
    }

    /// The record behind the one at a position, and where it lies.
    pub fn record_after(&self, at: PhyOffset) -> io::Result<Option<(PhyOffset, Vec<u8>)>> {
        let Some(record) = self.record(at)? else { return Ok(None) };
        let mut next = at.0 + record.len() as i64;
        let mut head = [0; FILLER_BYTES];
        if !self.fill(&mut head, next)? {
            return Ok(None);
        }
        if let Some(RecordHead::Filler { bytes }) = RecordHead::read(&head) {
            next += bytes as i64;
        }
        let next = PhyOffset(next);
        Ok(self.record(next)?.map(|record| (next, record)))
    }

    /// Fills the bytes from a position of the log that readers may see; false if the log doesn't have all of them.
    pub fn fill(&self, bytes: &mut [u8], at: i64) -> io::Result<bool> {
        if at.saturating_add(bytes.len() as i64) > self.log.marks.confirmed() {
            return Ok(false);
        }
        match self.log.read(bytes, at) {
            Ok(()) => Ok(true),
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether the log no longer has what was asked for, or doesn't have it yet.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}

/// How long the record at this position says it is; none if it says it lies elsewhere.
pub(crate) fn record_bytes(bytes: &[u8], at: i64) -> Option<usize> {
    let head = bytes.get(..offset::SYS_FLAG)?;
    let size = usize::try_from(int(head, offset::TOTAL_SIZE)).ok()?;
    (size > 0 && long(head, offset::PHY_OFFSET) == at).then_some(size)
}

pub(crate) fn int(bytes: &[u8], at: usize) -> i32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    i32::from_be_bytes(field)
}

pub(crate) fn long(bytes: &[u8], at: usize) -> i64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    i64::from_be_bytes(field)
}
