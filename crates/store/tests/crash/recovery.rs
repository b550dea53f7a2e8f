//! Recovery itself is crashed, at any of its operations, more than once; and derived files go missing.

use crate::*;
use roxmq_store::files::FileSystem;
use std::path::Path;

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    for flush in [FlushMode::Sync, FlushMode::Async] {
        for seed in 0..40 {
            let files = FaultFiles::new();
            files.turn_off_at_operation(60 + seed * 11);
            let ledger = run(&files, flush, seed);
            let mut files = files.crash(Crash::ScatterUnsynced, seed);
            for again in 0..3 {
                files.turn_off_at_operation(seed % 13 + again * 5);
                drop(open(&files, flush));
                files = files.crash(Crash::ScatterUnsynced, seed + again);
            }
            check_recovers(&files, &ledger, flush, Crash::LoseUnsynced, 0, &format!("workload {seed}"));
        }
    }
}

/// What is derived from the log comes back from it: after a clean stop, which leaves no other reason to read the log.
#[test]
fn queues_and_index_that_were_removed_come_back() {
    for missing in [&["consumequeue"][..], &["index"], &["consumequeue", "index"], &["checkpoint"]] {
        let files = FaultFiles::new();
        let ledger = run(&files, FlushMode::Async, 5);
        for name in missing {
            let path = Path::new(ROOT).join(name);
            files.remove_file(&path).or_else(|_| files.remove_dir_all(&path)).unwrap();
        }
        let (store, report) = open(&files, FlushMode::Async).unwrap();
        assert!(!report.crashed);
        ledger.check(&store, ledger.events.len(), &format!("without {missing:?}"));
    }
}

#[test]
fn the_newest_queue_file_that_was_removed_comes_back() {
    let files = FaultFiles::new();
    let ledger = run(&files, FlushMode::Async, 6);
    let dir = Path::new(ROOT).join("consumequeue/TopicA/0");
    let newest = files.list(&dir).unwrap().into_iter().map(|entry| entry.path).max().unwrap();
    files.remove_file(&newest).unwrap();
    let (store, report) = open(&files, FlushMode::Async).unwrap();
    assert_eq!(report.rebuilt_queues, 1);
    ledger.check(&store, ledger.events.len(), "without the newest file of TopicA/0");
}
