//! What a start makes of what a stop, a crash or an accident left.

use crate::fixture::{Fixture, append, bodies, fill, numbers, overwrite, read};
use roxmq_store::{AppendBatch, Millis, PhyOffset, RecoveryReport, Store};
use std::sync::Arc;

/// Fills a store, ends it, does something to its files, and opens it again.
fn reopen(crash: bool, between: impl Fn(&Fixture, PhyOffset)) -> (Fixture, Arc<Store>, RecoveryReport) {
    let fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 200);
    let end = store.max_phy_offset();
    if !crash {
        store.shutdown().unwrap();
    }
    drop(store);
    between(&fixture, end);
    let (store, report) = fixture.open_reporting();
    assert_eq!(report.crashed, crash);
    (fixture, store, report)
}

fn assert_goes_on(store: &Store, count: usize) {
    assert_eq!(bodies(store, "T"), numbers(0..count));
    append(store, "T", count.to_string().as_bytes()).unwrap();
    assert_eq!(bodies(store, "T"), numbers(0..count + 1));
}

fn overwrite_at(fixture: &Fixture, position: i64, bytes: &[u8]) {
    let start = position as u64 / 8192 * 8192;
    overwrite(&fixture.log_file(start), position as u64 - start, bytes);
}

#[test]
fn after_an_orderly_stop_next_to_nothing_is_read_again() {
    let (_fixture, store, report) = reopen(false, |_, _| {});
    assert_eq!((report.redispatched, report.cut), (0, None));
    assert!(report.scanned_bytes < 200, "{}", report.scanned_bytes);
    assert_goes_on(&store, 200);
}

#[test]
fn after_a_crash_everything_written_is_there() {
    let (_fixture, store, report) = reopen(true, |_, _| {});
    assert_eq!(report.cut, None);
    assert_goes_on(&store, 200);
}

#[test]
fn garbage_behind_the_end_is_cut_and_stays_away() {
    let (fixture, store, report) = reopen(true, |fixture, end| overwrite_at(fixture, end.0, &[0xAB; 64]));
    let (at, reason) = report.cut.expect("cut");
    assert_eq!(at, store.max_phy_offset());
    assert!(reason.contains("0xABABABAB"), "{reason}");
    assert_goes_on(&store, 200);
    drop(store);
    assert_eq!(fixture.open_reporting().1.cut, None);
}

#[test]
fn a_damaged_record_ends_the_log_and_its_queues() {
    let (_fixture, store, report) = reopen(true, |fixture, end| {
        // The body's last byte of the last record: three digits, the topic's length, the topic, no properties.
        overwrite_at(fixture, end.0 - 2 - 1 - 1 - 1, b"x");
    });
    assert!(report.cut.expect("cut").1.contains("CRC"));
    assert_goes_on(&store, 199);
}

#[test]
fn a_torn_record_is_cut() {
    let (_fixture, store, report) = reopen(true, |fixture, end| overwrite_at(fixture, end.0 - 20, &[0; 20]));
    assert!(report.cut.is_some());
    assert_goes_on(&store, 199);
}

#[test]
fn files_behind_a_damaged_record_go() {
    let (fixture, store, report) = reopen(true, |fixture, _| overwrite_at(fixture, 186, &[1; 8]));
    assert!(report.cut.is_some());
    let left = bodies(&store, "T").len();
    assert!(left < 4, "{left}");
    assert!(store.max_phy_offset().0 < 400);
    assert_goes_on(&store, left);
    drop(store);
    assert_goes_on(&fixture.open(), left + 1);
}

#[test]
fn records_behind_a_cut_dont_come_back() {
    let (fixture, store, _) = reopen(true, |fixture, _| overwrite_at(fixture, 0, &[1; 8]));
    assert_eq!(bodies(&store, "T"), Vec::<String>::new());
    // As long as the first one was, so that the second old one would follow it without a seam.
    append(&store, "T", b"n").unwrap();
    drop(store);
    let (store, report) = fixture.open_reporting();
    assert_eq!((bodies(&store, "T"), report.cut), (vec!["n".to_string()], None));
}

#[test]
fn lost_queues_are_rebuilt() {
    for lost in ["consumequeue", "consumequeue/T", "consumequeue/T/0/00000000000000000600"] {
        for crash in [false, true] {
            let (_fixture, store, _) = reopen(crash, |fixture, _| {
                let path = fixture.path(lost);
                if path.is_dir() {
                    std::fs::remove_dir_all(path).unwrap();
                } else if path.exists() {
                    std::fs::remove_file(path).unwrap();
                }
            });
            assert_goes_on(&store, 200);
        }
    }
}

#[test]
fn an_empty_last_file_is_removed() {
    let (_fixture, store, _) = reopen(true, |fixture, _| {
        let files = std::fs::read_dir(fixture.path("commitlog")).unwrap();
        let last = files.map(|file| file.unwrap().path()).max().unwrap();
        let start: u64 = last.file_name().unwrap().to_str().unwrap().parse().unwrap();
        std::fs::write(fixture.log_file(start + 8192), b"").unwrap();
    });
    assert_goes_on(&store, 200);
}

/// After a crash the log was cut shorter than queues and index said, and the start was given up.
#[test]
fn a_last_file_that_was_cut_short_loses_only_what_was_cut() {
    for crash in [false, true] {
        for cut_bytes in [10, 1000, 4000] {
            let (fixture, store, _) = reopen(crash, |fixture, end| {
                let start = end.0 as u64 / 8192 * 8192;
                let _ahead = std::fs::remove_file(fixture.log_file(start + 8192));
                let file = std::fs::File::options().write(true).open(fixture.log_file(start)).unwrap();
                file.set_len((end.0 as u64 - start).saturating_sub(cut_bytes)).unwrap();
            });
            let left = bodies(&store, "T").len();
            assert!((100..200).contains(&left), "{left} with {cut_bytes} bytes cut, crash {crash}");
            assert_goes_on(&store, left);
            drop(store);
            assert_goes_on(&fixture.open(), left + 1);
        }
    }
}

#[test]
fn a_wrong_checkpoint_only_costs_time() {
    for position in [1, 8193, i64::MAX, -1] {
        let (_fixture, store, report) = reopen(false, |fixture, _| {
            overwrite(&fixture.path("checkpoint"), 40, &i64::to_be_bytes(position));
        });
        assert_eq!(report.cut, None, "{position}");
        assert_goes_on(&store, 200);
    }
}

#[test]
fn a_lost_checkpoint_only_costs_time() {
    let (_fixture, store, report) =
        reopen(true, |fixture, _| std::fs::remove_file(fixture.path("checkpoint")).unwrap());
    assert_eq!(report.cut, None);
    assert_goes_on(&store, 200);
}

#[test]
fn keys_are_found_after_a_crash_and_after_the_loss_of_the_index() {
    for (crash, lose) in [(true, false), (false, true), (true, true)] {
        let fixture = Fixture::new();
        let store = fixture.open();
        let mut batch = AppendBatch::new();
        let properties = b"UNIQ_KEY\x01u\x02";
        let hash = roxmq_protocol::java_hash::index_hash("T", "u");
        let mut message = crate::fixture::message("T", 0, b"x");
        (message.properties, message.key_hashes) = (properties, std::slice::from_ref(&hash));
        batch.push(&store, &message).unwrap();
        store.append(&mut batch).unwrap();
        let find = |store: &Store| store.query_key(hash, Millis(0), Millis(i64::MAX), 10).unwrap().places;
        assert_eq!(find(&store), [PhyOffset(0)]);
        if !crash {
            store.shutdown().unwrap();
        }
        drop(store);
        if lose {
            std::fs::remove_dir_all(fixture.path("index")).unwrap_or_default();
        }
        assert_eq!(find(&fixture.open()), [PhyOffset(0)], "{crash} {lose}");
    }
}

#[test]
fn a_log_without_keys_isnt_read_from_its_start_each_time() {
    let fixture = Fixture::new();
    for round in 1..4 {
        let (store, report) = fixture.open_reporting();
        assert!(report.scanned_bytes < 200, "{}", report.scanned_bytes);
        fill(&store, "T", 50);
        assert_eq!(read(&store, "T", 0, 0).0.max_offset.0, round * 50);
        store.shutdown().unwrap();
    }
}

/// A record's CRC covers its body only. A flipped bit of the header made the queue impossible, and the store with it.
#[test]
fn a_record_of_an_impossible_queue_is_left_out() {
    for (at, bytes) in [(12, [0xFF; 4]), (20, [0xFF; 4])] {
        let (_fixture, store, report) = reopen(true, |fixture, _| {
            std::fs::remove_dir_all(fixture.path("consumequeue")).unwrap_or_default();
            overwrite_at(fixture, at, &bytes);
        });
        assert_eq!(report.cut, None);
        let (result, _) = read(&store, "T", 0, 1);
        assert_eq!((result.count, result.max_offset.0), (199, 200));
    }
}
