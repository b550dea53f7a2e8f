//! Reading: from memory, from files, across both, and only what is visible.

use crate::*;
use std::sync::atomic::Ordering;

#[test]
fn a_queue_is_empty_until_something_is_pushed_and_has_no_file_until_it_is_written() {
    let files = FaultFiles::new();
    let table = load(&files);
    assert!(table.get(TOPIC, QueueId(0)).is_none());
    let queue = table.get_or_create(TOPIC, QueueId(0));
    assert!(Arc::ptr_eq(&queue, &table.get(TOPIC, QueueId(0)).unwrap()));
    check_holds(&queue, 0..0);
    push(&queue, 0..3);
    check_holds(&queue, 0..3);
    assert!(file_names(&files, "consumequeue").is_empty());
    table.write_behind().unwrap();
    assert_eq!(file_names(&files, "consumequeue/TopicA/0"), ["00000000000000000000"]);
}

#[test]
fn files_have_the_java_servers_bytes_and_their_full_size() {
    let files = FaultFiles::new();
    stored(&files, 12);
    let bytes = bytes_of(&files, &queue_file(0, 10));
    assert_eq!(bytes.len(), 200);
    let second = [0, 0, 0, 0, 0, 0, 4, 0x4C, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 1, 0x55];
    assert_eq!(bytes[20..40], second);
    assert!(bytes[40..].iter().all(|&byte| byte == 0));
}

#[test]
fn reads_go_across_files_and_memory() {
    let files = FaultFiles::new();
    let table = stored(&files, 35);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    become_idle(&table);
    push(&queue, 35..38);
    check_holds(&queue, 0..38);
    let mut out = Vec::new();
    assert_eq!(queue.read(QueueOffset(8), 4, &mut out, ReadMode::Cached).unwrap(), 4);
    assert_eq!(out, (8..12).map(entry).collect::<Vec<_>>());
    assert_eq!(queue.read(QueueOffset(38), 4, &mut out, ReadMode::Cached).unwrap(), 0);
    assert_eq!(queue.read(QueueOffset(-1), 4, &mut out, ReadMode::Cached).unwrap(), 0);
    assert_eq!(queue.read(QueueOffset(i64::MAX), 4, &mut out, ReadMode::Cached).unwrap(), 0);
}

#[test]
fn an_idle_queue_is_read_from_the_disk_and_a_busy_one_from_memory() {
    let files = FaultFiles::new();
    let table = stored(&files, 5);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    files.set_cold(true);
    let mut out = Vec::new();
    assert_eq!(queue.read(QueueOffset(0), 9, &mut out, ReadMode::Cached).unwrap(), 5);
    become_idle(&table);
    let cold = queue.read(QueueOffset(0), 9, &mut out, ReadMode::Cached).unwrap_err();
    assert_eq!(cold.kind(), std::io::ErrorKind::WouldBlock);
    check_holds(&queue, 0..5);
}

/// Files of ten entries are pages of ten, so what a read leaves over is here for the next one.
#[test]
fn a_full_page_is_read_once_and_a_growing_one_each_time() {
    let files = FaultFiles::new();
    let table = stored(&files, 25);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    become_idle(&table);
    let check = |from: i64, max: usize, mode: ReadMode, expected: Option<std::ops::Range<i64>>| {
        let mut out = Vec::new();
        match queue.read(QueueOffset(from), max, &mut out, mode) {
            Ok(count) => {
                assert_eq!(count, out.len());
                assert_eq!(out, expected.unwrap().map(entry).collect::<Vec<_>>(), "{from}");
            }
            Err(error) => assert_eq!((error.kind(), expected), (std::io::ErrorKind::WouldBlock, None)),
        }
    };
    check(3, 2, ReadMode::Blocking, Some(3..5));
    check(21, 2, ReadMode::Blocking, Some(21..23));
    files.set_cold(true);
    check(5, 2, ReadMode::Cached, Some(5..7));
    check(0, 10, ReadMode::Cached, Some(0..10));
    check(8, 10, ReadMode::Cached, Some(8..10));
    check(10, 1, ReadMode::Cached, None);
    check(23, 2, ReadMode::Cached, None);
    check(18, 5, ReadMode::Blocking, Some(18..23));
    check(10, 20, ReadMode::Cached, Some(10..20));
}

/// Pages of what a queue was cut off from, or of a queue that had the name before, are nobody's.
#[test]
fn after_a_cut_or_a_removal_no_old_page_is_read() {
    // Within files, and at a file's beginning.
    for cut in [12, 20, 25] {
        let files = FaultFiles::new();
        let table = stored(&files, 30);
        let queue = table.get(TOPIC, QueueId(0)).unwrap();
        become_idle(&table);
        check_holds(&queue, 0..30);
        table.truncate(at(cut)).unwrap();
        check_holds(&queue, 0..cut);
        push(&queue, 100..120);
        become_idle(&table);
        assert_eq!(read_all(&queue), (0..cut).chain(100..120).map(entry).collect::<Vec<_>>(), "{cut}");
        table.remove_topic(TOPIC).unwrap();
        assert_eq!(read_all(&queue), []);
        let queue = table.get_or_create(TOPIC, QueueId(0));
        push(&queue, 200..215);
        become_idle(&table);
        assert_eq!(read_all(&queue), (200..215).map(entry).collect::<Vec<_>>());
    }
}

#[test]
fn entries_behind_the_visible_end_of_the_log_are_not_shown() {
    let files = FaultFiles::new();
    let visible = Arc::new(AtomicI64::new(0));
    let table = load_with(&files, &visible);
    let queue = table.get_or_create(TOPIC, QueueId(0));
    push(&queue, 0..30);
    // Written and idle: what readers may not see yet has to stay in memory nevertheless.
    become_idle(&table);
    for (end, max) in [(0, 0), (99, 0), (100, 1), (1_550, 15), (3_000, 30), (i64::MAX, 30)] {
        visible.store(end, Ordering::Release);
        assert_eq!((queue.max_offset(), queue.next_offset()), (QueueOffset(max), QueueOffset(30)), "{end}");
        assert_eq!(read_all(&queue).len() as i64, max, "{end}");
    }
}

#[test]
fn more_queues_than_open_files_are_read_and_written() {
    let files = FaultFiles::new();
    let table = load(&files);
    for id in 0..1_200 {
        table.get_or_create("many", QueueId(id)).push(entry(i64::from(id)));
    }
    for _ in 0..5 {
        table.sync().unwrap();
    }
    let table = load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0));
    assert_eq!(table.queues("many").len(), 1_200);
    for queue in table.queues("many") {
        assert_eq!(read_all(&queue), [entry(i64::from(queue.id().0))]);
    }
    assert_eq!(table.max_phy_offset(), at(1_200));
}

#[test]
fn queue_ids_need_not_be_dense() {
    let table = load(&FaultFiles::new());
    for id in [7, 2, 900, 0] {
        table.get_or_create(TOPIC, QueueId(id));
    }
    let ids: Vec<i32> = table.queues(TOPIC).iter().map(|queue| queue.id().0).collect();
    assert_eq!(ids, [0, 2, 7, 900]);
    for id in [7, 2, 900, 0] {
        assert_eq!(table.get(TOPIC, QueueId(id)).unwrap().id(), QueueId(id));
    }
    for id in [1, 3, -1, i32::MAX] {
        assert!(table.get(TOPIC, QueueId(id)).is_none(), "{id}");
    }
}

#[test]
fn a_full_disk_keeps_entries_in_memory_until_there_is_room() {
    let files = FaultFiles::new();
    let table = stored(&files, 8);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    files.set_capacity(Some(0));
    push(&queue, 8..40);
    let full = table.sync().unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    check_holds(&queue, 0..40);
    files.set_capacity(None);
    table.sync().unwrap();
    check_holds(
        &load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0)).get(TOPIC, QueueId(0)).unwrap(),
        0..40,
    );
}
