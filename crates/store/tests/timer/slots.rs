//! What the files hold while all goes well, and how one server hands them to another.

use crate::*;
use roxmq_store::files::{OpenMode, ReadMode};

#[test]
fn messages_are_found_in_their_slots_before_and_after_a_restart() {
    let files = FaultFiles::new();
    let (mut timers, recovery) = open(&files, &known(0, 0));
    assert_eq!(recovery, TimerRecovery { read: known(0, 0).read, ..TimerRecovery::default() });
    assert_eq!(timers.next_slot(Millis(START)), None);
    add(&mut timers, 0..300);
    check(&timers, 300, "new");
    let end = timers.flush().unwrap();
    drop(timers);
    let (mut timers, recovery) = open(&files, &known(300, end));
    assert_eq!((recovery.last, recovery.lost), (Some(PhyOffset(299 * RECORD_BYTES)), false));
    check_counts(&recovery, (0..300).map(entry), "restarted");
    check(&timers, 300, "restarted");
    add(&mut timers, 300..350);
    check(&timers, 350, "gone on");
}

#[test]
fn slots_that_are_over_are_not_found() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    add(&mut timers, 0..50);
    let first = timers.next_slot(Millis(START)).unwrap();
    timers.close_slot(first);
    assert!(timers.next_slot(Millis(START)).unwrap() > first);
    let end = timers.flush().unwrap();
    let read = (Millis(first.0 + PRECISION_MS + 1), PhyOffset(0));
    let (timers, recovery) = open(&files, &Known { read, ..known(50, end) });
    assert!(timers.next_slot(first).unwrap() > first);
    check_counts(&recovery, (0..50).map(entry).filter(|entry| entry.slot > first), "one is over");
}

/// Slots a whole turn of the wheel apart have one place.
#[test]
fn moments_that_share_a_place_are_told_apart() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    let (near, turn) = (entry(0), i64::from(SLOTS) * PRECISION_MS);
    timers.add(&near, true).unwrap();
    let far = Millis(near.slot.0 + turn);
    assert_eq!(timers.conflict(near.slot).unwrap(), None);
    assert_eq!(timers.conflict(far).unwrap(), Some(near.slot));
    assert_eq!(timers.entries(far).unwrap(), []);
    timers.close_slot(near.slot);
    assert_eq!(timers.conflict(far).unwrap(), None);
    let late = TimerEntry { slot: far, due: Millis(far.0 + 5), ..entry(1) };
    timers.add(&late, true).unwrap();
    assert_eq!(timers.entries(far).unwrap().len(), 1);
    // What was late leaves the wheel to who waits.
    timers.add(&TimerEntry { phy_offset: PhyOffset(900), ..near }, false).unwrap();
    assert_eq!(timers.next_slot(Millis(near.slot.0 + 1_000)), Some(far));
}

#[test]
fn a_slot_is_handed_over_without_what_is_delivered() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    add(&mut timers, 0..200);
    let slot = entry(3).slot;
    let before = timers.entries(slot).unwrap();
    let stays = |entry: &TimerEntry| entry.due.0 % 4 == 0;
    timers.keep_only(slot, stays).unwrap();
    let expected: Vec<_> = before.into_iter().filter(stays).collect();
    assert!(expected.len() > 3);
    assert_eq!(timers.entries(slot).unwrap(), expected);
    let end = timers.flush().unwrap();
    let (mut timers, _) = open(&files, &known(200, end));
    assert_eq!(timers.entries(slot).unwrap(), expected);
    timers.keep_only(slot, |_| false).unwrap();
    assert_eq!(timers.entries(slot).unwrap(), []);
    assert_ne!(timers.next_slot(slot), Some(slot));
}

#[test]
fn lost_files_are_noticed() {
    for loss in ["wheel", "log", "both"] {
        let files = FaultFiles::new();
        let (mut timers, _) = open(&files, &known(0, 0));
        add(&mut timers, 0..200);
        let end = timers.flush().unwrap();
        if loss != "log" {
            files.remove_file(Path::new("/store/timerwheel")).unwrap();
        }
        if loss != "wheel" {
            files.remove_dir_all(Path::new("/store/timerlog")).unwrap();
        }
        let (timers, recovery) = open(&files, &known(200, end));
        assert_eq!(recovery.lost, loss != "wheel", "{loss}");
        check(&timers, if loss == "wheel" { 200 } else { 0 }, loss);
    }
}

/// A power failure may take the end of the commit log and leave the timer log.
#[test]
fn messages_that_the_commit_log_lost_are_dropped() {
    for left in [0, 1, 77, 78, 79, 150, 199] {
        let files = FaultFiles::new();
        let (mut timers, _) = open(&files, &known(0, 0));
        add(&mut timers, 0..200);
        let end = timers.flush().unwrap();
        let (mut timers, recovery) = open(&files, &known(left, end));
        let story = format!("{left} are left");
        assert!(recovery.dropped > 0, "{story}");
        assert_eq!(recovery.last, (left > 0).then(|| PhyOffset((left - 1) * RECORD_BYTES)), "{story}");
        check(&timers, left, &story);
        add(&mut timers, left..220);
        check(&timers, 220, &story);
    }
}

#[test]
fn log_files_go_with_their_messages() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    add(&mut timers, 0..200);
    let end = timers.flush().unwrap();
    timers.remove_before(PhyOffset(78 * RECORD_BYTES)).unwrap();
    let names: Vec<_> =
        files.list(Path::new("/store/timerlog")).unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let slot = entry(0).slot;
    let there = |entry: &TimerEntry| entry.phy_offset.0 >= 78 * RECORD_BYTES;
    assert!(timers.entries(slot).unwrap().iter().all(there));
    let (timers, recovery) = open(&files, &known(200, end));
    assert_eq!(recovery.last, Some(PhyOffset(199 * RECORD_BYTES)));
    assert!(!timers.entries(slot).unwrap().is_empty());
}

/// After a Java server the wheel may be behind the log by as much as a file.
#[test]
fn a_wheel_that_is_behind_is_brought_up() {
    let files = FaultFiles::new();
    let (mut timers, _) = open(&files, &known(0, 0));
    add(&mut timers, 0..60);
    timers.flush().unwrap();
    let wheel = files.open(Path::new("/store/timerwheel"), OpenMode::Write).unwrap();
    let mut behind = vec![0; wheel.len().unwrap() as usize];
    wheel.read_exact_at(&mut behind, 0, ReadMode::Blocking).unwrap();
    add(&mut timers, 60..120);
    let end = timers.flush().unwrap();
    wheel.write_all_at(&[&behind], 0).unwrap();
    let (timers, _) = open(&files, &Known { by_java: true, ..known(120, end) });
    check(&timers, 120, "after Java");
}
