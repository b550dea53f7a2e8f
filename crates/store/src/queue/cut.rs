//! Cutting queues: at the end after the log was cut, at the front after its oldest files went, and in the middle
//! where the log has a gap.

use crate::position::{PhyOffset, QueueOffset};
use crate::queue::entry::{ENTRY_BYTES, QueueEntry};
use crate::queue::queue_files::QueueFiles;
use crate::queue::{ConsumeQueue, write_behind};
use std::io;
use std::sync::Arc;

/// Offsets from here on are no message's: their bytes in a queue file couldn't be counted.
const OFFSET_END: i64 = i64::MAX / (2 * ENTRY_BYTES as i64);

const FILLERS_PER_WRITE: i64 = 3 * 1024;

/// Drops the entries of records that end behind `log_end`. The caller holds the maintenance lock and syncs.
pub(super) fn truncate(files: &QueueFiles, queue: &Arc<ConsumeQueue>, log_end: PhyOffset) -> io::Result<()> {
    let (min, next) = (queue.min_offset().0, queue.next_offset().0);
    let cut = first_where(min, next, |at| {
        let entry = queue.entry(at)?;
        Ok(!entry.is_valid() || entry.end() > log_end)
    })?;
    let last_end = if cut > min { queue.entry(cut - 1)?.end() } else { PhyOffset(0) };
    let (first_file, written) = {
        let state = queue.state.lock();
        (state.first_file, state.tail.written())
    };
    if cut < written {
        // From the last file on, so that a crash leaves no gap. The first stays: its name is the queue's offset.
        let mut file = files.file_of(written - 1);
        while file >= cut && file > first_file {
            files.remove(queue, file)?;
            file -= files.file_entries();
        }
        if file == files.file_of(cut) {
            files.clear_rest(queue, cut)?;
        }
        queue.state.lock().dirty_rest = false;
    }
    queue.set_next(cut, last_end);
    Ok(())
}

/// Moves the minimum offset to the first entry whose record is at or above `log_min`, or to the end.
pub(super) fn trim(files: &QueueFiles, queue: &Arc<ConsumeQueue>, log_min: PhyOffset) -> io::Result<()> {
    let (min, next) = (queue.min_offset().0, queue.next_offset().0);
    if min == next || queue.state.lock().first_phy >= log_min {
        return Ok(());
    }
    let mut new_min = next;
    if queue.entry(next - 1)?.phy_offset >= log_min {
        new_min = first_where(min, next - 1, |at| Ok(queue.entry(at)?.phy_offset >= log_min))?;
    }
    move_min(files, queue, new_min)
}

/// Moves the minimum offset forward to this one, at most to the end.
pub(super) fn trim_before(files: &QueueFiles, queue: &Arc<ConsumeQueue>, offset: i64) -> io::Result<()> {
    let offset = offset.min(queue.next_offset().0);
    if offset <= queue.min_offset().0 { Ok(()) } else { move_min(files, queue, offset) }
}

fn move_min(files: &QueueFiles, queue: &Arc<ConsumeQueue>, new_min: i64) -> io::Result<()> {
    let next = queue.next_offset().0;
    let first_phy = if new_min < next { queue.entry(new_min)?.phy_offset } else { PhyOffset(i64::MAX) };
    queue.set_min(new_min, first_phy);
    let (mut file, written) = {
        let state = queue.state.lock();
        (state.first_file, state.tail.written())
    };
    let last_file = files.file_of(written - 1);
    while file + files.file_entries() <= new_min && file < last_file {
        files.remove(queue, file)?;
        file += files.file_entries();
        queue.state.lock().first_file = file;
    }
    Ok(())
}

/// Makes `offset` the next one of a queue that ends before it, or begins behind it. What the log had between is gone:
/// fillers take its place, unless nothing before it can be read or the gap is longer than a file. Then the queue begins
/// anew, and so it does if it begins behind.
pub(super) fn skip_to(queue: &Arc<ConsumeQueue>, offset: QueueOffset) -> io::Result<()> {
    let files = &*queue.files;
    let offset = offset.0;
    if !(0..OFFSET_END).contains(&offset) {
        let text = format!("{queue:?} can't have a message with the queue offset {offset}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let _maintenance = files.maintenance.lock();
    let (min, next) = (queue.min_offset().0, queue.next_offset().0);
    let far = if min == next { files.file_of(offset) > next } else { offset - next > files.file_entries() };
    let anew = offset < min || far;
    if anew {
        restart(files, queue, files.file_of(offset))?;
    } else {
        write_behind::write_queue(files, queue)?;
    }
    let from = queue.next_offset().0;
    fill(files, queue, from, offset)?;
    queue.jump(offset, anew || min == next);
    Ok(())
}

/// Empties a queue, and lets it go on with the file that begins at `start`.
fn restart(files: &QueueFiles, queue: &Arc<ConsumeQueue>, start: i64) -> io::Result<()> {
    let (first_file, written) = {
        let state = queue.state.lock();
        (state.first_file, state.tail.written())
    };
    let mut file = files.file_of(written);
    while file >= first_file {
        files.remove(queue, file)?;
        file -= files.file_entries();
    }
    queue.set_next(first_file, PhyOffset(0));
    queue.jump(start, true);
    let mut state = queue.state.lock();
    state.first_file = start;
    state.dirty_rest = false;
    Ok(())
}

fn fill(files: &QueueFiles, queue: &Arc<ConsumeQueue>, from: i64, to: i64) -> io::Result<()> {
    let fillers = QueueEntry::FILLER.encode().repeat(FILLERS_PER_WRITE.min(to - from) as usize);
    let mut at = from;
    while at < to {
        let end = to.min(at + FILLERS_PER_WRITE).min(files.file_of(at) + files.file_entries());
        files.write(queue, at, &fillers[..(end - at) as usize * ENTRY_BYTES])?;
        at = end;
    }
    Ok(())
}

/// The first of the offsets from `low` to `high` for which the test holds, or `high`; once it holds it does for all
/// that follow.
pub(super) fn first_where(
    low: i64,
    high: i64,
    mut test: impl FnMut(i64) -> io::Result<bool>,
) -> io::Result<i64> {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if test(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
