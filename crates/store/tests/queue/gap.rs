//! Recovery: the log is replayed over queues that have some of it, all of it, or begin later.

use crate::*;

fn replay(table: &QueueTable, records: std::ops::Range<i64>) -> usize {
    let queue = table.get_or_create(TOPIC, QueueId(0));
    records.filter(|&n| queue.replay(QueueOffset(n), entry(n)).unwrap()).count()
}

#[test]
fn replaying_adds_only_what_is_not_there() {
    let files = FaultFiles::new();
    let table = stored(&files, 12);
    assert_eq!(replay(&table, 0..25), 13);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 0..25);
    assert_eq!(replay(&table, 0..25), 0);
}

/// The log begins at a message in the middle of its queue: its file is filled from its beginning, for the Java server.
#[test]
fn a_queue_that_begins_later_is_filled_up_as_by_the_java_server() {
    for first in [1, 9, 10, 34] {
        let files = FaultFiles::new();
        let table = load(&files);
        replay(&table, first..first + 13);
        check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), first..first + 13);
        table.sync().unwrap();
        let file_first = first / FILE_ENTRIES * FILE_ENTRIES;
        let bytes = bytes_of(&files, &queue_file(0, file_first));
        let filler = [0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0];
        for filled in bytes.chunks(20).take((first - file_first) as usize) {
            assert_eq!(filled, filler);
        }
        let table = load(&files);
        check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), first..first + 13);
        assert_eq!(table.max_phy_offset(), at(first + 13));
    }
}

#[test]
fn a_gap_in_the_middle_is_bridged_if_it_is_short() {
    let files = FaultFiles::new();
    let table = stored(&files, 12);
    replay(&table, 17..23);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    assert_eq!((queue.min_offset(), queue.max_offset()), (QueueOffset(0), QueueOffset(23)));
    let read = read_all(&queue);
    assert_eq!(read[11..18], [&[entry(11)], &[QueueEntry::FILLER; 5][..], &[entry(17)]].concat());
    table.sync().unwrap();
    assert_eq!(read_all(&load(&files).get(TOPIC, QueueId(0)).unwrap()), read);
}

#[test]
fn behind_a_long_gap_a_queue_begins_anew() {
    let files = FaultFiles::new();
    let table = stored(&files, 12);
    replay(&table, 1_000_007..1_000_020);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 1_000_007..1_000_020);
    table.sync().unwrap();
    assert_eq!(file_names(&files, "consumequeue/TopicA/0").len(), 2);
    check_holds(&load(&files).get(TOPIC, QueueId(0)).unwrap(), 1_000_007..1_000_020);
}

/// A crash may take the name of a queue's first file and leave that of the second.
#[test]
fn a_queue_that_lost_its_first_file_begins_anew() {
    let files = FaultFiles::new();
    stored(&files, 25);
    files.remove_file(&queue_file(0, 0)).unwrap();
    let table = load(&files);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 10..25);
    assert_eq!(replay(&table, 3..25), 22);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 3..25);
    table.sync().unwrap();
    check_holds(&load(&files).get(TOPIC, QueueId(0)).unwrap(), 3..25);
}

#[test]
fn offsets_that_no_queue_can_have_are_refused() {
    let table = load(&FaultFiles::new());
    let queue = table.get_or_create(TOPIC, QueueId(0));
    for offset in [-1, i64::MIN, i64::MAX, i64::MAX / 20] {
        let refused = queue.replay(QueueOffset(offset), entry(1)).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData, "{offset}");
    }
    check_holds(&queue, 0..0);
}

#[test]
fn entries_of_records_that_were_cut_off_go_and_never_come_back() {
    for (keep, written) in [(0, true), (1, true), (10, true), (17, true), (30, true), (35, true), (17, false)]
    {
        let files = FaultFiles::new();
        let table = load(&files);
        let queue = table.get_or_create(TOPIC, QueueId(0));
        push(&queue, 0..35);
        if written {
            table.sync().unwrap();
        }
        table.truncate(PhyOffset(at(keep).0 + 50)).unwrap();
        check_holds(&queue, 0..keep);
        table.sync().unwrap();
        let files = files.crash(roxmq_testkit::Crash::LoseUnsynced, 0);
        let table = load(&files);
        let queue = table.get_or_create(TOPIC, QueueId(0));
        check_holds(&queue, 0..keep);
        // The first new entry must not join up with old ones behind it.
        push(&queue, keep..keep + 1);
        table.sync().unwrap();
        let table = load(&files.crash(roxmq_testkit::Crash::Process, 0));
        assert_eq!(table.get_or_create(TOPIC, QueueId(0)).max_offset(), QueueOffset(keep + 1));
    }
}
