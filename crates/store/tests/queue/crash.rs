//! The queues are crashed at every sync and in the middle of what is unsynced. Recovery does what the store does: cut
//! to what was known to be durable, replay the log from there, cut to the log's end.

use crate::*;
use roxmq_testkit::Crash;

/// A file has several sectors, which a disk writes one by one, and a queue several files.
const FILE_BYTES: u64 = 80 * 20;

const QUEUES: i64 = 3;
const ROUNDS: i64 = 10;
const ROUND_RECORDS: i64 = 100;

fn open(files: &Arc<FaultFiles>) -> QueueTable {
    let fs: Arc<dyn FileSystem> = Arc::clone(files) as _;
    QueueTable::load(fs, Path::new(ROOT), FILE_BYTES, Arc::new(AtomicI64::new(i64::MAX))).unwrap()
}

/// The queue and the offset of the n-th record of the log.
fn place(n: i64) -> (QueueId, QueueOffset) {
    (QueueId((n % QUEUES) as i32), QueueOffset(n / QUEUES))
}

/// Pushes rounds of records, each made durable, until the power goes. Returns how many records are in the log, and up
/// to which one the queues said they are durable.
fn run(files: &Arc<FaultFiles>) -> (i64, i64) {
    let (mut log, mut durable) = (0, 0);
    let table = open(files);
    for _ in 0..ROUNDS {
        for n in log..log + ROUND_RECORDS {
            table.get_or_create(TOPIC, place(n).0).push(entry(n));
        }
        log += ROUND_RECORDS;
        // Some rounds are written behind before they are synced.
        let written = if log % 2 == 0 { table.write_behind() } else { Ok(()) };
        if written.and_then(|()| table.sync()).is_err() {
            break;
        }
        durable = log;
    }
    (log, durable)
}

fn recover(table: &QueueTable, durable: i64, log: i64) {
    let from = table.incomplete().iter().map(|queue| queue.from).min().unwrap_or(at(log)).min(at(durable));
    table.truncate(at(durable)).unwrap();
    for n in from.0 / i64::from(RECORD_BYTES)..log {
        let (id, offset) = place(n);
        table.get_or_create(TOPIC, id).replay(offset, entry(n)).unwrap();
    }
    table.truncate(at(log)).unwrap();
}

#[track_caller]
fn check_complete(table: &QueueTable, log: i64, story: &str) {
    for id in 0..QUEUES {
        let expected: Vec<_> = (0..log).filter(|n| n % QUEUES == id).map(entry).collect();
        let queue = table.get_or_create(TOPIC, QueueId(id as i32));
        assert_eq!((queue.min_offset().0, queue.next_offset().0), (0, expected.len() as i64), "{story}");
        assert_eq!(read_all(&queue), expected, "{story}");
    }
}

#[test]
fn every_crash_leaves_queues_that_the_log_completes() {
    let whole = FaultFiles::new();
    run(&whole);
    let syncs = whole.syncs();
    assert!(syncs > 50, "{syncs}");
    for sync in 1..syncs {
        let files = FaultFiles::new();
        make_root(&files);
        files.turn_off_at_sync(sync);
        let (log, durable) = run(&files);
        for seed in 0..4 {
            for mode in [Crash::Process, Crash::LoseUnsynced, Crash::ScatterUnsynced] {
                // The log may have lost what the queues had: nothing of it may come back.
                for log in [log, durable + (log - durable) / 2, durable] {
                    let crashed = files.crash(mode, seed);
                    let story = format!("sync {sync}, {mode:?}, seed {seed}, log {log} of {durable} durable");
                    let table = open(&crashed);
                    recover(&table, durable, log);
                    check_complete(&table, log, &story);
                    table.close().unwrap();
                    drop(table);
                    let table = open(&crashed.crash(Crash::LoseUnsynced, 0));
                    assert!(table.incomplete().is_empty(), "{story}");
                    check_complete(&table, log, &format!("{story}, again"));
                }
            }
        }
    }
}

/// A second life begins on what the first crash left, grows over its remains, and crashes as well.
#[test]
fn what_a_crash_left_behind_the_end_never_continues_a_queue() {
    for seed in 0..60 {
        let files = FaultFiles::new();
        make_root(&files);
        files.turn_off_at_sync(20 + seed % 17);
        let (_, durable) = run(&files);
        let second = files.crash(Crash::ScatterUnsynced, seed);
        second.turn_off_at_operation(30 + seed * 2);
        let table = open(&second);
        let story = format!("seed {seed}, {durable} durable");
        // No record of the log beyond what was durable survived, and few new ones come.
        let mut log = durable;
        let recovered = table.truncate(at(durable)).is_ok();
        while recovered && log < durable + 90 {
            table.get_or_create(TOPIC, place(log).0).push(entry(log));
            log += 1;
            if log % 30 == 0 && table.write_behind().is_err() {
                break;
            }
        }
        for mode in [Crash::Process, Crash::ScatterUnsynced] {
            let third = second.crash(mode, seed + 1_000);
            let table = open(&third);
            recover(&table, durable, log);
            check_complete(&table, log, &format!("{story}, {mode:?}"));
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_called_durable_any_more() {
    let files = FaultFiles::new();
    let table = stored(&files, 5);
    push(&table.get(TOPIC, QueueId(0)).unwrap(), 5..9);
    files.fail_at_sync(files.syncs());
    assert!(table.sync().is_err());
    let error = table.sync().unwrap_err();
    assert!(error.to_string().contains("an earlier sync"), "{error}");
    let table = load(&files.crash(Crash::LoseUnsynced, 0));
    assert_eq!(table.get(TOPIC, QueueId(0)).unwrap().next_offset(), QueueOffset(5));
}
