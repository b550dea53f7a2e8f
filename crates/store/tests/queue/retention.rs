//! Old messages go: minimum offsets move, leading files are removed, the maximum stays.

use crate::*;

#[track_caller]
fn check_trim(records: i64, log_min: i64, min: i64, first_file: i64) {
    let files = FaultFiles::new();
    let table = stored(&files, records);
    table.trim(at(log_min)).unwrap();
    table.sync().unwrap();
    let check = |table: &QueueTable| {
        let queue = table.get(TOPIC, QueueId(0)).unwrap();
        check_holds(&queue, min..records);
        let names = file_names(&files, "consumequeue/TopicA/0");
        assert_eq!(names[0], format!("{:020}", first_file * 20));
    };
    check(&table);
    let again = load(&files);
    again.trim(at(log_min)).unwrap();
    check(&again);
}

#[test]
fn minimum_offsets_follow_the_log() {
    check_trim(35, 0, 0, 0);
    check_trim(35, 9, 9, 0);
    check_trim(35, 10, 10, 10);
    check_trim(35, 27, 27, 20);
    check_trim(35, 30, 30, 30);
}

#[test]
fn a_queue_whose_messages_are_all_gone_keeps_its_maximum() {
    check_trim(35, 100, 35, 30);
    check_trim(30, 100, 30, 20);
    check_trim(1, 100, 1, 0);
}

#[test]
fn what_comes_after_everything_was_removed_is_found() {
    let files = FaultFiles::new();
    let table = stored(&files, 35);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    table.trim(at(100)).unwrap();
    push(&queue, 35..42);
    check_holds(&queue, 35..42);
    table.trim(at(36)).unwrap();
    check_holds(&queue, 36..42);
    table.sync().unwrap();
    let table = load(&files);
    table.trim(at(36)).unwrap();
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 36..42);
}

#[test]
fn unwritten_entries_can_be_removed_too() {
    let files = FaultFiles::new();
    let table = load(&files);
    let queue = table.get_or_create(TOPIC, QueueId(0));
    push(&queue, 0..35);
    table.trim(at(33)).unwrap();
    check_holds(&queue, 33..35);
    table.sync().unwrap();
    let table = load(&files);
    table.trim(at(33)).unwrap();
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 33..35);
}
