//! What is appended is read, at the offsets that were promised.

use crate::fixture::{Fixture, append, bodies, fill, message, numbers, read};
use roxmq_protocol::record::Records;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{NoFilter, ReadFilter, ReadLimits, ReadResult, ReadStatus};
use roxmq_store::{AppendBatch, AppendError, QueueId, QueueOffset};
use roxmq_testkit::FaultFiles;

#[test]
fn a_burst_to_several_queues_is_read_at_once() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    for n in 0..6 {
        batch.push(&store, &message("T", n % 2, format!("{n}").as_bytes())).unwrap();
    }
    let end = store.append(&mut batch).unwrap();
    assert_eq!(end, store.max_phy_offset());
    let offsets: Vec<i64> = batch.stored().iter().map(|stored| stored.queue_offset.0).collect();
    assert_eq!(offsets, [0, 0, 1, 1, 2, 2]);
    assert_eq!(read(&store, "T", 0, 0).1, ["0", "2", "4"]);
    assert_eq!(read(&store, "T", 1, 1).1, ["3", "5"]);
    batch.clear();
    batch.push(&store, &message("T", 1, b"6")).unwrap();
    store.append(&mut batch).unwrap();
    assert_eq!(batch.stored()[0].queue_offset, QueueOffset(3));
}

#[test]
fn records_that_left_the_memory_come_from_the_files() {
    let mut fixture = Fixture::new();
    fixture.options.tail_bytes_max = 0;
    let store = fixture.open();
    fill(&store, "T", 300);
    assert_eq!(bodies(&store, "T"), numbers(0..300));
    assert!(store.max_phy_offset().0 > 3 * 8192, "several files");
    drop(store);
    assert!(fixture.log_file(8192).exists());
}

/// Several queues that are read behind the memory are read by blocks, in files whose ends are no blocks' ends.
#[test]
fn interleaved_queues_come_from_the_files_whole_and_in_order() {
    const QUEUES: usize = 5;
    let mut fixture = Fixture::new();
    fixture.options.tail_bytes_max = 0;
    fixture.options.commit_log_file_bytes = 200_000;
    let store = fixture.open();
    let body = |n: usize| format!("{n:0width$}", width = 40 + n % 300);
    let mut batch = AppendBatch::new();
    for n in 0..2_000 {
        batch.push(&store, &message("T", (n % QUEUES) as i32, body(n).as_bytes())).unwrap();
        if batch.len() == 32 {
            store.append(&mut batch).unwrap();
            batch.clear();
        }
    }
    store.append(&mut batch).unwrap();
    for round in 0..2 {
        for queue in 0..QUEUES {
            let expected: Vec<String> = (queue..2_000).step_by(QUEUES).map(body).collect();
            assert_eq!(read(&store, "T", queue as i32, 0).1, expected, "queue {queue}, round {round}");
        }
    }
}

#[test]
fn limits_end_a_read_within_a_block_too() {
    const QUEUES: i32 = 5;
    let mut fixture = Fixture::new();
    fixture.options.tail_bytes_max = 0;
    fixture.options.commit_log_file_bytes = 1 << 20;
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    for n in 0..2_000 {
        batch.push(&store, &message("T", n % QUEUES, &[b'x'; 100])).unwrap();
    }
    store.append(&mut batch).unwrap();
    let queue = store.queue("T", QueueId(3)).unwrap();
    let check = |count_max: usize, bytes_max: usize, expected: usize| {
        let limits = ReadLimits { count_max, bytes_max, scan_max: 800 };
        let mut from = 0;
        while from < 2_000 / i64::from(QUEUES) - 50 {
            let mut out = Vec::new();
            let read = store.read(&queue, QueueOffset(from), limits, &NoFilter, ReadMode::Cached, &mut out);
            let ReadResult { status, next_offset, count, .. } = read.unwrap();
            assert_eq!((status, count, out.len()), (ReadStatus::Found, expected, expected * 192), "{from}");
            from += expected as i64;
            assert_eq!(next_offset, QueueOffset(from));
        }
    };
    check(32, 1 << 20, 32);
    check(7, 1 << 20, 7);
    check(50, 10 * 192, 10);
    check(50, 11 * 192 - 1, 10);
    check(50, 191, 1);
    check(1, 1 << 20, 1);
}

/// A pull stopped at a record that lies in two blocks of which one is in memory: it goes on there from the disk.
#[test]
fn on_a_cold_disk_interleaved_queues_come_piece_by_piece_and_nothing_is_lost() {
    const QUEUES: usize = 3;
    let mut fixture = Fixture::new();
    let files = FaultFiles::new();
    fixture.files = files.clone();
    fixture.options.tail_bytes_max = 0;
    fixture.options.commit_log_file_bytes = 1 << 20;
    let store = fixture.open();
    let body = |n: usize| format!("{n:0width$}", width = 900 + n % 300);
    for n in 0..600 {
        let mut batch = AppendBatch::new();
        batch.push(&store, &message("T", (n % QUEUES) as i32, body(n).as_bytes())).unwrap();
        store.append(&mut batch).unwrap();
    }
    let limits = ReadLimits { count_max: 7, bytes_max: 1 << 20, scan_max: 800 };
    for queue in 0..QUEUES {
        let queue_id = QueueId(queue as i32);
        let expected: Vec<String> = (queue..600).step_by(QUEUES).map(body).collect();
        let queue = store.queue("T", queue_id).unwrap();
        let mut out = Vec::new();
        let mut next = QueueOffset(0);
        while next.0 < expected.len() as i64 {
            files.set_cold(true);
            let cached = store.read(&queue, next, limits, &NoFilter, ReadMode::Cached, &mut out).unwrap();
            files.set_cold(false);
            assert_eq!(cached.next_offset.0 - next.0, cached.count as i64);
            next = cached.next_offset;
            if cached.status == ReadStatus::Cold {
                let read = store.read(&queue, next, limits, &NoFilter, ReadMode::Blocking, &mut out).unwrap();
                next = read.next_offset;
            }
        }
        let bodies: Vec<_> = Records::new(&out).map(|record| record.unwrap().body.to_vec()).collect();
        assert!(bodies.iter().eq(expected.iter().map(|body| body.as_bytes())), "{queue_id}");
    }
}

#[test]
fn reads_out_of_range_say_where_to_go_on() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let check = |from: i64, status: ReadStatus, next: i64| {
        let (result, _) = read(&store, "T", 0, from);
        assert_eq!((result.status, result.next_offset.0), (status, next), "{from}");
    };
    check(5, ReadStatus::NoMessageInQueue, 0);
    fill(&store, "T", 3);
    check(0, ReadStatus::Found, 3);
    check(3, ReadStatus::OffsetOverflowOne, 3);
    check(4, ReadStatus::OffsetOverflowBadly, 3);
    check(-1, ReadStatus::OffsetTooSmall, 0);
}

struct Tagged(i64);

impl ReadFilter for Tagged {
    fn may_match(&self, tags_code: i64) -> bool {
        tags_code == self.0
    }
}

#[test]
fn limits_and_filters_move_the_next_offset() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    for n in 0..10 {
        let body = [b'x'; 100];
        let message = roxmq_store::NewMessage { tags_code: n % 2, ..message("T", 0, &body) };
        batch.push(&store, &message).unwrap();
    }
    store.append(&mut batch).unwrap();
    let queue = store.queue("T", QueueId(0)).unwrap();
    let check = |tag: i64,
                 count_max: usize,
                 bytes_max: usize,
                 scan_max: usize,
                 expected: (ReadStatus, usize, i64)| {
        let mut out = Vec::new();
        let limits = ReadLimits { count_max, bytes_max, scan_max };
        let result =
            store.read(&queue, QueueOffset(0), limits, &Tagged(tag), ReadMode::Cached, &mut out).unwrap();
        assert_eq!((result.status, result.count, result.next_offset.0), expected);
        assert_eq!(out.len(), result.count * 192);
    };
    check(0, 32, 10_000, 800, (ReadStatus::Found, 5, 10));
    check(1, 2, 10_000, 800, (ReadStatus::Found, 2, 5));
    // At least one, whatever its size.
    check(1, 32, 1, 800, (ReadStatus::Found, 1, 3));
    check(0, 32, 400, 800, (ReadStatus::Found, 2, 4));
    check(0, 32, 10_000, 4, (ReadStatus::Found, 2, 4));
    check(7, 32, 10_000, 4, (ReadStatus::NoMatchedMessage, 0, 4));
    check(7, 32, 10_000, 800, (ReadStatus::NoMatchedMessage, 0, 10));
}

#[test]
fn a_record_that_fits_no_file_is_refused_and_others_go_on() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let error = append(&store, "T", &[0; 8192]).unwrap_err();
    assert!(matches!(error, AppendError::TooLarge { limit: 8192, .. }), "{error}");
    fill(&store, "T", 1);
    assert_eq!(bodies(&store, "T"), ["0"]);
}

#[test]
fn a_record_is_found_at_its_place_only() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let (at, end) = append(&store, "T", b"one").unwrap();
    assert!(store.record(at).unwrap().is_some());
    let nowhere = |position: i64| assert_eq!(store.record(roxmq_store::PhyOffset(position)).unwrap(), None);
    nowhere(at.0 + 1);
    nowhere(end.0);
    nowhere(-1);
    nowhere(i64::MAX);
}

#[test]
fn after_the_shutdown_nothing_is_taken() {
    let fixture = Fixture::new();
    let store = fixture.open();
    store.shutdown().unwrap();
    assert!(matches!(append(&store, "T", b"late"), Err(AppendError::ShutDown)));
    assert!(!fixture.path("abort").exists());
}
