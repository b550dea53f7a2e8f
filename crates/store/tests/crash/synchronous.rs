//! Synchronous flush: what was acknowledged outlives the power.

use crate::*;

const FLUSH: FlushMode = FlushMode::Sync;

#[test]
fn what_was_acknowledged_outlives_a_crash_at_every_sync() {
    let whole = FaultFiles::new();
    run(&whole, FLUSH, 1);
    assert!(whole.syncs() > 100, "{}", whole.syncs());
    for sync in 0..whole.syncs() {
        let files = FaultFiles::new();
        files.turn_off_at_sync(sync);
        let ledger = run(&files, FLUSH, 1);
        for (mode, seed) in POWER_LOSSES {
            check_recovers(&files, &ledger, FLUSH, mode, seed + sync, &format!("off at sync {sync}"));
        }
    }
}

#[test]
fn what_was_acknowledged_outlives_a_crash_between_syncs() {
    let whole = FaultFiles::new();
    run(&whole, FLUSH, 2);
    for operation in (0..whole.operations()).step_by(9) {
        let files = FaultFiles::new();
        files.turn_off_at_operation(operation);
        let ledger = run(&files, FLUSH, 2);
        let story = format!("off at operation {operation}");
        check_recovers(&files, &ledger, FLUSH, Crash::ScatterUnsynced, operation, &story);
        check_recovers(&files, &ledger, FLUSH, Crash::Process, operation, &story);
    }
}
