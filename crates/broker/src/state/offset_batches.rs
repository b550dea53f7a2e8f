//! Offsets into the log, many at a time: one record for each would be a second message for each message.

use super::{Change, StateError, StateLog, Tables, commit_changes};

/// Puts what was committed since the last call into the log. What the log doesn't take is tried again with the next.
pub(crate) fn log_offsets(log: &StateLog, tables: Tables<'_>) -> Result<(), StateError> {
    // Taken under the turn, so that a topic or group that is deleted meanwhile isn't committed to after its end.
    let mut turn = log.turn();
    let offsets = tables.offsets.take_changed();
    for change in commit_changes(&offsets) {
        if let Err(error) = turn.record(&change) {
            tables.offsets.put_back(&offsets);
            return Err(error);
        }
    }
    let delays = tables.delays.take_changed();
    if delays.is_empty() {
        return Ok(());
    }
    turn.record(&Change::DelayOffsets(delays.clone())).inspect_err(|_| tables.delays.put_back(&delays))
}
