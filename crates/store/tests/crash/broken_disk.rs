//! A disk that fails once, and one that is full.

use crate::*;

/// The sync that fails is never taken for a success later: what it should have made durable isn't acknowledged.
#[test]
fn nothing_is_acknowledged_that_a_failed_sync_lost() {
    let whole = FaultFiles::new();
    run(&whole, FlushMode::Sync, 7);
    for sync in 0..whole.syncs() {
        let files = FaultFiles::new();
        files.fail_at_sync(sync);
        let mut ledger = Ledger::default();
        if let Ok((store, _)) = open(&files, FlushMode::Sync) {
            workload::run(&store, &mut ledger, 7);
        }
        for (mode, seed) in POWER_LOSSES {
            check_recovers(&files, &ledger, FlushMode::Sync, mode, seed, &format!("sync {sync} failed"));
        }
    }
}

#[test]
fn a_failed_operation_loses_nothing_that_was_acknowledged() {
    let whole = FaultFiles::new();
    run(&whole, FlushMode::Async, 8);
    for operation in (0..whole.operations()).step_by(5) {
        let files = FaultFiles::new();
        files.fail_at_operation(operation);
        let mut ledger = Ledger::default();
        if let Ok((store, _)) = open(&files, FlushMode::Async) {
            workload::run(&store, &mut ledger, 8);
        }
        let story = format!("operation {operation} failed");
        for (mode, seed) in POWER_LOSSES {
            check_recovers(&files, &ledger, FlushMode::Async, mode, seed + operation, &story);
        }
        // A kill: all of it is in memory still, but what a failed sync dropped is only there.
        let (store, _) = open(&files.crash(Crash::Process, 0), FlushMode::Async).unwrap();
        ledger.check(&store, ledger.acknowledged, &format!("{story}, killed"));
    }
}

#[test]
fn a_full_disk_refuses_and_heals() {
    for flush in [FlushMode::Sync, FlushMode::Async] {
        let files = FaultFiles::new();
        let (store, _) = open(&files, flush).unwrap();
        let mut ledger = Ledger::default();
        let mut rng = fastrand::Rng::with_seed(9);
        for _ in 0..10 {
            workload::send(&store, &mut ledger, &mut rng).unwrap();
        }
        files.set_capacity(Some(0));
        while workload::send(&store, &mut ledger, &mut rng).is_ok() {}
        ledger = ledger.first(ledger.acknowledged);
        ledger.check(&store, ledger.acknowledged, "full");
        files.set_capacity(None);
        for _ in 0..10 {
            workload::send(&store, &mut ledger, &mut rng).unwrap();
        }
        ledger.check(&store, ledger.events.len(), "with room again");
        store.shutdown().unwrap();
        drop(store);
        check_recovers(&files, &ledger, flush, Crash::LoseUnsynced, 0, "was full");
    }
}
