//! Asynchronous flush: a killed process loses nothing, a loss of power what came last.

use crate::*;

const FLUSH: FlushMode = FlushMode::Async;

#[test]
fn a_first_part_outlives_a_crash_at_every_sync_and_everything_a_kill() {
    let whole = FaultFiles::new();
    run(&whole, FLUSH, 3);
    assert!(whole.syncs() > 50, "{}", whole.syncs());
    for sync in 0..whole.syncs() {
        let files = FaultFiles::new();
        files.turn_off_at_sync(sync);
        let ledger = run(&files, FLUSH, 3);
        let story = format!("off at sync {sync}");
        for (mode, seed) in POWER_LOSSES {
            check_recovers(&files, &ledger, FLUSH, mode, seed + sync, &story);
        }
        check_recovers(&files, &ledger, FLUSH, Crash::Process, 0, &story);
    }
}

#[test]
fn a_first_part_outlives_a_crash_between_syncs_and_everything_a_kill() {
    let whole = FaultFiles::new();
    run(&whole, FLUSH, 4);
    for operation in (0..whole.operations()).step_by(7) {
        let files = FaultFiles::new();
        files.turn_off_at_operation(operation);
        let ledger = run(&files, FLUSH, 4);
        let story = format!("off at operation {operation}");
        check_recovers(&files, &ledger, FLUSH, Crash::ScatterUnsynced, operation, &story);
        check_recovers(&files, &ledger, FLUSH, Crash::Process, operation, &story);
    }
}
