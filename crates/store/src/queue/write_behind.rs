//! Bringing the tails of queues into their files, and freeing the memory of those that are idle.

use crate::queue::ConsumeQueue;
use crate::queue::entry::ENTRY_BYTES;
use crate::queue::queue_files::QueueFiles;
use std::io;
use std::sync::Arc;

/// What a busy queue keeps in memory for readers.
const TAIL_ENTRIES_MAX: usize = 4096;

/// What all queues together keep, as far as it is written: 5 MiB.
const TAILS_ENTRIES_MAX: usize = 256 * 1024;

/// A queue without a push for this many rounds keeps nothing.
const IDLE_ROUNDS: u8 = 2;

/// Entries copied and written at a time.
const WRITE_ENTRIES_MAX: i64 = 3 * 1024;

/// One round: writes what is unwritten. After an error the rest stays in memory for the next round.
pub(super) fn round(files: &QueueFiles) -> io::Result<()> {
    let active = files.take_active();
    let keep = TAIL_ENTRIES_MAX.min(TAILS_ENTRIES_MAX / active.len().max(1));
    let mut buffer = Vec::new();
    let result = clear_rests(files, &active)
        .and_then(|()| active.iter().try_for_each(|queue| write(files, queue, &mut buffer)));
    let still_active = active.into_iter().filter(|queue| settle(files, queue, keep)).collect();
    files.put_back_active(still_active);
    result
}

/// Writes what is unwritten of one queue.
pub(super) fn write_queue(files: &QueueFiles, queue: &Arc<ConsumeQueue>) -> io::Result<()> {
    clear_rests(files, std::slice::from_ref(queue))?;
    write(files, queue, &mut Vec::new())
}

/// Before the first entry goes behind those that loading found, what is there must be zeros, and durably so. Else
/// what an earlier crash or cut left there would some day continue the queue.
fn clear_rests(files: &QueueFiles, active: &[Arc<ConsumeQueue>]) -> io::Result<()> {
    let mut cleared = false;
    for queue in active {
        let state = queue.state.lock();
        let (dirty, written) = (state.dirty_rest && !state.removed, state.tail.written());
        drop(state);
        if dirty {
            files.clear_rest(queue, written)?;
            cleared = true;
        }
    }
    if cleared {
        files.sync()?;
        for queue in active {
            queue.state.lock().dirty_rest = false;
        }
    }
    Ok(())
}

fn write(files: &QueueFiles, queue: &Arc<ConsumeQueue>, buffer: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let written = {
            let state = queue.state.lock();
            let written = state.tail.written();
            let file_end = files.file_of(written) + files.file_entries();
            state.tail.unwritten(file_end.min(written + WRITE_ENTRIES_MAX), buffer);
            written
        };
        if buffer.is_empty() {
            return Ok(());
        }
        files.write(queue, written, buffer)?;
        let entries = (buffer.len() / ENTRY_BYTES) as i64;
        queue.state.lock().tail.set_written(written + entries);
    }
}

/// Frees what a queue needn't keep, and says whether it still keeps something.
fn settle(files: &QueueFiles, queue: &ConsumeQueue, keep: usize) -> bool {
    let mut state = queue.state.lock();
    state.idle_rounds = state.idle_rounds.saturating_add(1);
    let keep = if state.idle_rounds > IDLE_ROUNDS { 0 } else { keep };
    let limit = if queue.last_end() <= files.visible() {
        i64::MAX
    } else {
        state.tail.visible_until(files.visible())
    };
    state.tail.shrink(keep, limit);
    state.active = state.tail.len() > 0;
    state.active
}
