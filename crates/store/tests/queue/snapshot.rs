//! Files that went missing while the store was down are noticed.

use crate::*;
use roxmq_store::queue::Incomplete;

fn incomplete(queue: i32, from: i64) -> Incomplete {
    Incomplete { topic: TOPIC.into(), id: QueueId(queue), from: at(from) }
}

fn closed(records: i64) -> Arc<FaultFiles> {
    let files = FaultFiles::new();
    let table = stored(&files, records);
    push(&table.get_or_create(TOPIC, QueueId(1)), records..records + 2);
    table.close().unwrap();
    files
}

#[test]
fn whole_files_are_complete() {
    assert!(load(&closed(35)).incomplete().is_empty());
}

#[test]
fn a_missing_last_file_is_noticed() {
    let files = closed(35);
    files.remove_file(&queue_file(0, 30)).unwrap();
    let table = load(&files);
    assert_eq!(table.incomplete(), [incomplete(0, 30)]);
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    for n in 0..35 {
        queue.replay(QueueOffset(n), entry(n)).unwrap();
    }
    check_holds(&queue, 0..35);
    // Once rebuilt it is whole again, also if the next stop is a crash.
    table.sync().unwrap();
    assert!(load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0)).incomplete().is_empty());
}

#[test]
fn a_missing_middle_file_is_noticed_and_what_is_behind_it_rebuilt() {
    let files = closed(35);
    files.remove_file(&queue_file(0, 10)).unwrap();
    let table = load(&files);
    assert_eq!(table.incomplete(), [incomplete(0, 10)]);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 0..10);
}

#[test]
fn a_gap_before_the_minimum_is_a_removal_that_a_crash_cut_short() {
    let files = FaultFiles::new();
    let table = stored(&files, 35);
    table.trim(at(25)).unwrap();
    table.close().unwrap();
    files.open(&queue_file(0, 0), OpenMode::Create).unwrap().set_len(200).unwrap();
    let table = load(&files);
    assert!(table.incomplete().is_empty());
    table.trim(at(25)).unwrap();
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 25..35);
}

#[test]
fn queues_whose_directory_is_gone_are_noticed() {
    let files = closed(35);
    files.remove_dir_all(&Path::new(ROOT).join("consumequeue")).unwrap();
    let table = load(&files);
    assert_eq!(table.incomplete(), [incomplete(0, 0), incomplete(1, 0)]);
    assert_eq!(table.max_phy_offset(), PhyOffset(0));
}

#[test]
fn a_queue_without_messages_keeps_its_offset_even_if_its_files_are_gone() {
    let files = FaultFiles::new();
    let table = stored(&files, 35);
    table.trim(at(100)).unwrap();
    table.close().unwrap();
    files.remove_dir_all(&Path::new(ROOT).join("consumequeue")).unwrap();
    let table = load(&files);
    assert!(table.incomplete().is_empty());
    let queue = table.get(TOPIC, QueueId(0)).unwrap();
    check_holds(&queue, 35..35);
    push(&queue, 35..36);
    table.sync().unwrap();
    check_holds(&load(&files).get(TOPIC, QueueId(0)).unwrap(), 35..36);
}

#[test]
fn a_removed_topic_is_not_missed() {
    let files = closed(35);
    let table = load(&files);
    table.remove_topic(TOPIC).unwrap();
    table.sync().unwrap();
    assert!(load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0)).incomplete().is_empty());
}

#[test]
fn a_damaged_snapshot_is_ignored() {
    let files = closed(35);
    let file = files.open(&Path::new(ROOT).join("roxmq-queues"), OpenMode::Write).unwrap();
    file.write_all_at(&[b"?"], 20).unwrap();
    let table = load(&files);
    assert!(table.incomplete().is_empty());
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 0..35);
}
