//! The index is crashed at every sync and in the middle of what is unsynced. Recovery does what the store does: replay
//! the log from where the index says it ends, or from what was known to be durable if that is earlier.

use crate::{DIR, RECORD_BYTES, find, key, make_root};
use roxmq_store::files::FileSystem;
use roxmq_store::{IndexKey, KeyIndex, PhyOffset};
use roxmq_testkit::Crash;
use roxmq_testkit::FaultFiles;
use std::path::Path;
use std::sync::Arc;

/// Slots and entries have several sectors, which a disk writes one by one, and the index has several files.
const SLOTS: u32 = 300;
const ENTRIES: u32 = 70;

const ROUNDS: i64 = 8;
const ROUND_RECORDS: i64 = 16;

fn load(files: &Arc<FaultFiles>) -> KeyIndex {
    make_root(files);
    let fs: Arc<dyn FileSystem> = Arc::clone(files) as _;
    KeyIndex::load(fs, Path::new(DIR), SLOTS, ENTRIES).unwrap()
}

/// Two keys for each record: one shared with others, one of its own.
fn keys(n: i64) -> [IndexKey; 2] {
    [key(n, n as u32 % 3), key(n, 1000 + n as u32)]
}

/// Puts and flushes until the power goes. Returns how many records there are, and how many were said to be durable.
fn run(files: &Arc<FaultFiles>) -> (i64, i64) {
    let index = load(files);
    let (mut log, mut durable) = (0, 0);
    for _ in 0..ROUNDS {
        for n in log..log + ROUND_RECORDS {
            index.put_all(&keys(n));
        }
        log += ROUND_RECORDS;
        if index.flush().is_err() {
            break;
        }
        durable = log;
    }
    (log, durable)
}

fn recover(index: &KeyIndex, durable: i64, log: i64) {
    index.truncate(PhyOffset(log * RECORD_BYTES)).unwrap();
    let from = (index.end().0 / RECORD_BYTES).min(durable);
    for n in from..log {
        index.put_all(&keys(n));
    }
}

#[track_caller]
fn check_complete(index: &KeyIndex, log: i64, story: &str) {
    for hash in 0..3 {
        let expected: Vec<i64> = (0..log).filter(|n| n % 3 == hash).collect();
        assert_eq!(find(index, hash as u32, 1000), expected, "hash {hash}, {story}");
    }
    for n in 0..ROUNDS * ROUND_RECORDS {
        let expected: Vec<i64> = (n..n + 1).filter(|&n| n < log).collect();
        assert_eq!(find(index, 1000 + n as u32, 1000), expected, "{story}");
    }
}

#[test]
fn every_crash_leaves_an_index_that_the_log_completes() {
    let whole = FaultFiles::new();
    run(&whole);
    let syncs = whole.syncs();
    assert!(syncs > 30, "{syncs}");
    for sync in 1..syncs {
        let files = FaultFiles::new();
        load(&files);
        files.turn_off_at_sync(sync);
        let (log, durable) = run(&files);
        for seed in 0..20 {
            for mode in [Crash::Process, Crash::LoseUnsynced, Crash::ScatterUnsynced] {
                for log in [log, durable] {
                    let crashed = files.crash(mode, seed);
                    let story = format!("sync {sync}, {mode:?}, seed {seed}, log {log} of {durable} durable");
                    let index = load(&crashed);
                    recover(&index, durable, log);
                    check_complete(&index, log, &story);
                    index.flush().unwrap();
                    check_complete(&index, log, &story);
                    let index = load(&crashed.crash(Crash::LoseUnsynced, 0));
                    check_complete(&index, log, &format!("{story}, again"));
                }
            }
        }
    }
}

/// What a first crash left uncounted is partly overwritten when the second comes.
#[test]
fn a_crash_after_a_crash_leaves_an_index_that_the_log_completes() {
    let whole = FaultFiles::new();
    run(&whole);
    for seed in 0..200 {
        let files = FaultFiles::new();
        load(&files);
        files.turn_off_at_sync(1 + seed % (whole.syncs() - 1));
        let (log, durable) = run(&files);
        let second = files.crash(Crash::ScatterUnsynced, seed);
        let index = load(&second);
        second.turn_off_at_operation(second.operations() + seed % 7);
        for n in durable..log {
            index.put_all(&keys(n));
        }
        let _ = index.flush();
        let third = second.crash(Crash::ScatterUnsynced, seed);
        let index = load(&third);
        recover(&index, durable, log);
        index.flush().unwrap();
        check_complete(&load(&third), log, &format!("seed {seed}"));
    }
}

#[test]
fn after_a_failed_sync_nothing_is_called_durable_any_more() {
    let files = FaultFiles::new();
    let index = load(&files);
    index.put_all(&keys(0));
    index.flush().unwrap();
    index.put_all(&keys(1));
    files.fail_at_sync(files.syncs());
    assert!(index.flush().is_err());
    let error = index.flush().unwrap_err();
    assert!(error.to_string().contains("an earlier sync"), "{error}");
    assert_eq!(find(&index, 1001, 9), [1]);
}
