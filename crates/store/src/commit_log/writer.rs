//! Places bursts in the files and writes them. What it knows is under the log's lock.
//!
//! A burst is written as a whole or not at all: until everything is written the position stays, and whatever a
//! failed write left behind it is cleared before the next one.

use super::ahead::Ahead;
use super::flush::Flusher;
use super::segments::Segments;
use crate::append::AppendError;
use crate::files::File;
use roxmq_protocol::record::{FILLER_BYTES, filler};
use smallvec::SmallVec;
use std::io;
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Writer {
    /// The file last written to, and where it starts.
    file: Arc<dyn File>,
    start: i64,
    position: i64,
    /// How far a failed write may have got. Bytes from `position` to here must be cleared.
    unclean: i64,
}

/// A stretch of a burst that lies in one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its position in the log.
    pub at: i64,
    /// Its bytes in the burst.
    pub bytes: Range<usize>,
    /// The rest of the file behind it is filled, as the next record doesn't fit.
    pub fill: Option<[u8; FILLER_BYTES]>,
}

pub(crate) type Parts = SmallVec<[Part; 2]>;

/// Where records of these lengths come to lie behind `position`, in files of so many bytes that start at multiples
/// of it from `start`: calls `placed` with each position, in order. No record may be longer than a file can hold.
pub(crate) fn place(
    start: i64,
    file_bytes: i64,
    position: i64,
    lengths: impl Iterator<Item = usize>,
    mut placed: impl FnMut(i64),
) -> Parts {
    let mut parts = Parts::new();
    let mut part = Part { at: position, bytes: 0..0, fill: None };
    let mut at = position;
    let mut file_end = start + file_bytes;
    if at >= file_end {
        file_end += file_bytes;
    }
    for length in lengths {
        if at + (length + FILLER_BYTES) as i64 > file_end {
            part.fill = Some(filler((file_end - at) as usize));
            let next = part.bytes.end;
            parts.push(std::mem::replace(&mut part, Part { at: file_end, bytes: next..next, fill: None }));
            at = file_end;
            file_end += file_bytes;
        }
        placed(at);
        at += length as i64;
        part.bytes.end += length;
    }
    parts.push(part);
    parts
}

impl Writer {
    /// A writer that goes on at `position`, in the file that holds it or that follows the one it ends.
    pub fn open(segments: &Segments, flusher: &Flusher, position: i64) -> io::Result<Writer> {
        let start = segments.start_of(position);
        let file = segments.writer_telling(start, |error| flusher.fail_sync(error))?;
        flusher.add(start, &file);
        Ok(Writer { file, start, position, unclean: position })
    }

    pub fn position(&self) -> i64 {
        self.position
    }

    /// Where records of these lengths will lie if they are written next.
    pub fn place(
        &self,
        segments: &Segments,
        lengths: impl Iterator<Item = usize>,
        placed: impl FnMut(i64),
    ) -> Parts {
        place(self.start, segments.file_bytes(), self.position, lengths, placed)
    }

    /// Writes the burst that lies in these parts, and moves the position behind it.
    pub fn write(
        &mut self,
        segments: &Segments,
        flusher: &Flusher,
        ahead: &Ahead,
        burst: &[u8],
        parts: &[Part],
    ) -> Result<(), AppendError> {
        let (mut file, mut start) = (self.file.clone(), self.start);
        let result = self.clean(segments, ahead).and_then(|()| {
            for part in parts {
                if segments.start_of(part.at) != start {
                    start = segments.start_of(part.at);
                    file = segments.writer_telling(start, |error| flusher.fail_sync(error))?;
                    flusher.add(start, &file);
                }
                let filler = part.fill.as_ref().map_or(&[][..], |filler| &filler[..]);
                let end = part.at + (part.bytes.len() + filler.len()) as i64;
                ahead.claim(end);
                self.unclean = self.unclean.max(end);
                file.write_all_at(&[&burst[part.bytes.clone()], filler], (part.at - start) as u64)?;
                self.unclean = end;
            }
            Ok(())
        });
        if let Err(source) = result {
            return Err(self.refuse(segments, flusher, ahead, start, source));
        }
        (self.file, self.start) = (file, start);
        self.position = parts.last().map_or(self.position, |part| part.at + part.bytes.len() as i64);
        self.unclean = self.position;
        Ok(())
    }

    fn refuse(
        &mut self,
        segments: &Segments,
        flusher: &Flusher,
        ahead: &Ahead,
        start: i64,
        source: io::Error,
    ) -> AppendError {
        let path = segments.path(start);
        if !is_full(&source) {
            flusher.fail(&source);
            return AppendError::Io { path, source };
        }
        // If clearing fails too, the next write begins with it.
        if let Err(error) = self.clean(segments, ahead) {
            tracing::warn!(%error, path = %path.display(), "what a full disk cut off isn't cleared yet");
        }
        AppendError::NoSpace { path, source }
    }

    /// Clears what a failed write left behind the position: records that were refused must not come back.
    fn clean(&mut self, segments: &Segments, ahead: &Ahead) -> io::Result<()> {
        while self.unclean > self.position {
            let start = segments.start_of(self.unclean - 1);
            let from = start.max(self.position);
            if from < segments.end() {
                segments.writer(start)?.clear((from - start) as u64, (self.unclean - from) as u64)?;
            }
            self.unclean = from;
            ahead.restart(self.position);
        }
        Ok(())
    }
}

/// Whether a write failed for want of space, which may be back later.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::WriteZero
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part with the number of bytes that its filler says.
    type Expected = (i64, Range<usize>, Option<usize>);

    fn placed(position: i64, lengths: &[usize]) -> (Vec<i64>, Vec<Expected>) {
        let mut places = Vec::new();
        let start = position / 100 * 100;
        let parts = place(start, 100, position, lengths.iter().copied(), |at| places.push(at));
        let parts = parts
            .into_iter()
            .map(|part| {
                let left =
                    part.fill.map(|filler| u32::from_be_bytes(*filler.first_chunk().unwrap()) as usize);
                (part.at, part.bytes, left)
            })
            .collect();
        (places, parts)
    }

    #[test]
    fn a_record_that_leaves_no_room_for_the_filler_goes_to_the_next_file() {
        assert_eq!(placed(0, &[92]), (vec![0], vec![(0, 0..92, None)]));
        assert_eq!(placed(0, &[92, 1]), (vec![0, 100], vec![(0, 0..92, Some(8)), (100, 92..93, None)]));
        assert_eq!(placed(8, &[85]), (vec![100], vec![(8, 0..0, Some(92)), (100, 0..85, None)]));
        assert_eq!(placed(8, &[84]), (vec![8], vec![(8, 0..84, None)]));
    }

    #[test]
    fn a_burst_may_lie_in_many_files() {
        let (places, parts) = placed(250, &[20, 60, 60, 92]);
        assert_eq!(places, [250, 300, 400, 500]);
        assert_eq!(
            parts,
            [
                (250, 0..20, Some(30)),
                (300, 20..80, Some(40)),
                (400, 80..140, Some(40)),
                (500, 140..232, None)
            ]
        );
    }
}
