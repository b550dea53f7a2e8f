//! The store is crashed at every sync and at many writes, recovered, and checked against a ledger of what was sent
//! and what was acknowledged.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may, too")]

mod asynchronous;
mod broken_disk;
mod ledger;
mod recovery;
mod synchronous;
mod workload;

use ledger::Ledger;
use roxmq_store::clock::Clock;
use roxmq_store::files::FileSystem;
use roxmq_store::{FlushMode, Millis, OpenError, RecoveryReport, Store, StoreOptions};
use roxmq_testkit::{Crash, FaultFiles, TestClock};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const ROOT: &str = "/store";

/// Everything is small, so that files of every kind roll.
fn options(flush: FlushMode) -> StoreOptions {
    StoreOptions {
        commit_log_file_bytes: 8 * 1024,
        queue_file_bytes: 10 * 20,
        index_slots: 31,
        index_entries: 40,
        flush,
        flush_interval: Duration::from_millis(1),
        tail_bytes_max: 16 * 1024,
        allocate_ahead_bytes: 4 * 1024,
        ..StoreOptions::new(PathBuf::from(ROOT))
    }
}

fn open(files: &Arc<FaultFiles>, flush: FlushMode) -> Result<(Arc<Store>, RecoveryReport), OpenError> {
    let fs: Arc<dyn FileSystem> = Arc::clone(files) as _;
    let clock: Arc<dyn Clock> = Arc::new(TestClock::at(Millis(1_795_000_000_000)));
    Store::open(fs, clock, options(flush))
}

/// A store on these files is sent to until the workload is done or the power goes.
fn run(files: &Arc<FaultFiles>, flush: FlushMode, seed: u64) -> Ledger {
    let mut ledger = Ledger::default();
    if let Ok((store, _)) = open(files, flush) {
        workload::run(&store, &mut ledger, seed);
        if !files.is_off() {
            store.shutdown().unwrap_or_else(|_| assert!(files.is_off()));
        }
    }
    ledger
}

/// The files crash, and a store opens on them: it must hold what was promised, nothing else, and go on from there.
#[track_caller]
fn check_recovers(
    files: &Arc<FaultFiles>,
    ledger: &Ledger,
    flush: FlushMode,
    mode: Crash,
    seed: u64,
    story: &str,
) {
    let story = format!("{story}, {flush:?} flush, {mode:?}, seed {seed}");
    let min = if mode == Crash::Process { ledger.acknowledged } else { ledger.durable };
    let crashed = files.crash(mode, seed);
    let (store, _) = open(&crashed, flush).unwrap_or_else(|error| panic!("{story}: {error}"));
    let n = ledger.check(&store, min, &story);
    let mut ledger = ledger.first(n);
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..3 {
        workload::send(&store, &mut ledger, &mut rng)
            .unwrap_or_else(|_| panic!("{story}: sending on failed"));
    }
    ledger.check(&store, ledger.events.len(), &format!("{story}, sent on"));
    store.shutdown().unwrap();
    drop(store);
    let (store, report) = open(&crashed.crash(Crash::LoseUnsynced, 0), flush).unwrap();
    let story = format!("{story}, stopped and started");
    assert!(!report.crashed, "{story}");
    ledger.check(&store, ledger.events.len(), &story);
}

const POWER_LOSSES: [(Crash, u64); 3] =
    [(Crash::LoseUnsynced, 0), (Crash::ScatterUnsynced, 1), (Crash::ScatterUnsynced, 2)];
