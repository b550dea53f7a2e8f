//! The files of timer messages over files in memory: what they hold, and after which accidents.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may, too")]

mod crash;
mod slots;

use roxmq_store::files::FileSystem;
use roxmq_store::timer::{Known, TimerEntry, TimerFiles, TimerOptions, TimerRecovery, slot_before};
use roxmq_store::{Millis, OpenError, PhyOffset};
use roxmq_testkit::FaultFiles;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const START: i64 = 1_795_000_000_000;
const PRECISION_MS: i64 = 1_000;
/// Several pages of the wheel.
const SLOTS: u32 = 1_000;
/// Every message has this many bytes.
const RECORD_BYTES: i64 = 100;

/// The n-th message of the queue: in one of ten slots, some of them taking others back.
fn entry(n: i64) -> TimerEntry {
    let due = Millis(START + 1_000 + n * 7 % 10 * 1_000 + n % 1_000 + 1);
    TimerEntry {
        slot: slot_before(due, PRECISION_MS),
        due,
        written: Millis(START),
        phy_offset: PhyOffset(n * RECORD_BYTES),
        record_bytes: RECORD_BYTES as i32,
        topic_hash: (n % 3) as i32,
        rolls: n % 11 == 0,
        recalls: n % 5 == 4,
    }
}

fn known(messages: i64, log_flushed: i64) -> Known {
    Known {
        read: (Millis(START), PhyOffset(0)),
        log_flushed,
        by_java: false,
        commit_log_end: PhyOffset(messages * RECORD_BYTES),
    }
}

/// Log files of 78 units.
fn open(files: &Arc<FaultFiles>, known: &Known) -> (TimerFiles, TimerRecovery) {
    try_open(files, known).unwrap()
}

fn try_open(files: &Arc<FaultFiles>, known: &Known) -> Result<(TimerFiles, TimerRecovery), OpenError> {
    if files.list(Path::new("/store")).is_err() {
        files.create_dir_all(Path::new("/store")).unwrap();
        files.sync_dir(Path::new("/")).unwrap();
    }
    let options = TimerOptions {
        root: PathBuf::from("/store"),
        log_file_bytes: 4_096,
        precision_ms: PRECISION_MS,
        wheel_slots: SLOTS,
    };
    TimerFiles::open(Arc::clone(files) as Arc<dyn FileSystem>, &options, known)
}

fn add(timers: &mut TimerFiles, messages: impl IntoIterator<Item = i64>) {
    for n in messages {
        timers.add(&entry(n), true).unwrap();
    }
}

/// Every slot holds its messages, the newest first, and nothing else.
#[track_caller]
fn check(timers: &TimerFiles, messages: i64, story: &str) {
    let mut found = 0;
    let mut next = timers.next_slot(Millis(START));
    while let Some(slot) = next {
        let expected: Vec<_> = (0..messages).rev().map(entry).filter(|entry| entry.slot == slot).collect();
        assert_eq!(timers.entries(slot).unwrap(), expected, "slot {slot}, {story}");
        let weight: i32 = expected.iter().map(TimerEntry::weight).sum();
        assert_eq!(timers.waiting_in(slot).unwrap(), weight, "slot {slot}, {story}");
        found += expected.len() as i64;
        let turn = i64::from(SLOTS) * PRECISION_MS;
        next = timers.next_slot(Millis(slot.0 + PRECISION_MS)).filter(|next| next.0 < START + turn);
    }
    assert_eq!(found, messages, "{story}");
}

/// The sums by topic.
#[track_caller]
fn check_counts(recovery: &TimerRecovery, entries: impl IntoIterator<Item = TimerEntry>, story: &str) {
    let mut expected = std::collections::HashMap::new();
    for entry in entries {
        *expected.entry(entry.topic_hash).or_default() += i64::from(entry.weight());
    }
    assert_eq!(recovery.counts, expected, "{story}");
}
