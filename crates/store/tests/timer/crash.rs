//! The files are crashed at every sync and in the middle of what is unsynced, and opened again.

use crate::*;
use roxmq_testkit::Crash;

const ROUNDS: i64 = 6;
const ROUND_MESSAGES: i64 = 37;

/// Adds and flushes until the power goes. Gives how many messages the queue has, and what the checkpoint says.
fn run(files: &Arc<FaultFiles>) -> (i64, i64) {
    let Ok((mut timers, _)) = try_open(files, &known(0, 0)) else { return (0, 0) };
    let (mut messages, mut flushed) = (0, 0);
    for _ in 0..ROUNDS {
        for n in messages..messages + ROUND_MESSAGES {
            if timers.add(&entry(n), true).is_err() {
                return (n, flushed);
            }
        }
        messages += ROUND_MESSAGES;
        if timers.write().is_err() {
            break;
        }
        match timers.flush() {
            Ok(end) => flushed = end,
            Err(_) => break,
        }
    }
    (messages, flushed)
}

/// The queue goes on being entered behind the last message that is there.
#[track_caller]
fn recover(files: &Arc<FaultFiles>, messages: i64, flushed: i64, story: &str) {
    let (mut timers, recovery) = open(files, &known(messages, flushed));
    let next = recovery.last.map_or(0, |last| last.0 / RECORD_BYTES + 1);
    assert!(!recovery.lost, "{story}");
    check(&timers, next, story);
    check_counts(&recovery, (0..next).map(entry), story);
    add(&mut timers, next..messages + 10);
    check(&timers, messages + 10, &format!("{story}, gone on"));
    let end = timers.flush().unwrap();
    let (timers, _) = open(&files.crash(Crash::LoseUnsynced, 0), &known(messages + 10, end));
    check(&timers, messages + 10, &format!("{story}, again"));
}

#[test]
fn every_crash_leaves_files_that_the_queue_completes() {
    let whole = FaultFiles::new();
    run(&whole);
    let syncs = whole.syncs();
    assert!(syncs > 15, "{syncs}");
    for sync in 1..syncs {
        let files = FaultFiles::new();
        open(&files, &known(0, 0));
        files.turn_off_at_sync(sync);
        let (messages, flushed) = run(&files);
        for mode in [Crash::Process, Crash::LoseUnsynced, Crash::ScatterUnsynced] {
            for seed in 0..if mode == Crash::ScatterUnsynced { 4 } else { 1 } {
                let story = format!("sync {sync}, {mode:?}, seed {seed}, flushed {flushed}");
                recover(&files.crash(mode, seed), messages, flushed, &story);
            }
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_called_durable_any_more() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    add(&mut timers, 0..10);
    files.fail_at_sync(files.syncs() + 3);
    while timers.flush().is_ok() {
        add(&mut timers, 10..11);
        assert!(files.syncs() < 100);
    }
    let error = timers.flush().unwrap_err();
    assert!(error.to_string().contains("an earlier sync"), "{error}");
    assert!(!timers.entries(entry(3).slot).unwrap().is_empty());
}

/// Nothing was delivered yet and no checkpoint taken: delivery went on at a time so long ago that the wheel gave the
/// messages' place to a moment of then, and they were lost.
#[test]
fn messages_are_found_however_long_ago_the_last_was_delivered() {
    let files = FaultFiles::new();
    let (mut timers, recovery) = open(&files, &known(0, 0));
    assert_eq!(recovery.read, known(0, 0).read);
    let (slot, due) = (Millis(1_800_000_000_000), Millis(1_800_000_000_400));
    let far = TimerEntry { slot, due, written: Millis(slot.0 - PRECISION_MS), ..entry(0) };
    timers.add(&far, true).unwrap();
    timers.write().unwrap();
    for read in [known(1, 0).read, (Millis(0), PhyOffset(0))] {
        let known = Known { read, ..known(1, 0) };
        let (timers, recovery) = open(&files.crash(Crash::Process, 0), &known);
        assert!(recovery.read > read && recovery.read.0 < far.slot, "{:?}", recovery.read);
        assert_eq!((recovery.dropped, timers.next_slot(recovery.read.0)), (0, Some(far.slot)));
        assert_eq!(timers.entries(far.slot).unwrap().len(), 1);
    }
}
