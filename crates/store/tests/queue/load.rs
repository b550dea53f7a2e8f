//! Loading: ends found in files of any fill, wrong sizes refused, odd names left alone.

use crate::*;
use roxmq_store::OpenError;

#[test]
fn a_queue_is_found_as_it_was_for_every_number_of_entries() {
    for records in 0..45 {
        let files = FaultFiles::new();
        stored(&files, records);
        let table = load(&files);
        if records == 0 {
            assert!(table.get(TOPIC, QueueId(0)).is_none());
            continue;
        }
        let queue = table.get(TOPIC, QueueId(0)).unwrap();
        check_holds(&queue, 0..records);
        assert_eq!(table.max_phy_offset(), at(records));
        assert!(table.incomplete().is_empty());
        push(&queue, records..records + 12);
        table.sync().unwrap();
        check_holds(&load(&files).get(TOPIC, QueueId(0)).unwrap(), 0..records + 12);
    }
}

#[test]
fn the_end_is_found_in_a_big_file() {
    for records in [203, 204, 205, 1_000, 299_999, 300_000] {
        let files = FaultFiles::new();
        make_root(&files);
        let open = || {
            let fs: Arc<dyn FileSystem> = Arc::clone(&files) as _;
            QueueTable::load(fs, Path::new(ROOT), 6_000_000, Arc::new(AtomicI64::new(i64::MAX))).unwrap()
        };
        let table = open();
        push(&table.get_or_create(TOPIC, QueueId(3)), 0..records);
        table.sync().unwrap();
        let queue = open().get(TOPIC, QueueId(3)).unwrap();
        assert_eq!(queue.max_offset(), QueueOffset(records));
    }
}

#[test]
fn a_file_of_another_size_is_refused_with_the_key_to_set() {
    let files = FaultFiles::new();
    stored(&files, 12);
    let fs: Arc<dyn FileSystem> = Arc::clone(&files) as _;
    let error = QueueTable::load(fs, Path::new(ROOT), 400, Arc::default()).unwrap_err();
    assert!(matches!(&error, OpenError::FileSize { found: 200, expected: 400, .. }), "{error}");
    assert!(error.to_string().contains("set mappedFileSizeConsumeQueue=200"), "{error}");
}

#[test]
fn files_and_directories_with_other_names_are_left_alone() {
    let files = FaultFiles::new();
    stored(&files, 3);
    for odd in ["consumequeue/TopicA/0/notes", "consumequeue/notes", "consumequeue/TopicA/x/y"] {
        let path = Path::new(ROOT).join(odd);
        files.create_dir_all(path.parent().unwrap()).unwrap();
        files.open(&path, OpenMode::Create).unwrap();
    }
    let table = load(&files);
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 0..3);
    assert_eq!(table.topics().len(), 1);
    assert_eq!(file_names(&files, "consumequeue/TopicA/0").len(), 2);
}

/// After a crash the newest file of a queue may be there without anything in it. It doesn't keep the store from
/// starting, and the next message takes the offset behind the last.
#[test]
fn an_empty_newest_file_does_no_harm() {
    for bytes in [0, 200] {
        let files = FaultFiles::new();
        stored(&files, 10);
        files.open(&queue_file(0, 10), OpenMode::Create).unwrap().set_len(bytes).unwrap();
        let table = load(&files);
        let queue = table.get(TOPIC, QueueId(0)).unwrap();
        check_holds(&queue, 0..10);
        push(&queue, 10..11);
        table.sync().unwrap();
        check_holds(&load(&files).get(TOPIC, QueueId(0)).unwrap(), 0..11);
    }
}

#[test]
fn a_topic_is_removed_with_its_files_and_begins_anew() {
    let files = FaultFiles::new();
    let table = stored(&files, 25);
    push(&table.get_or_create("other", QueueId(0)), 25..26);
    let old = table.get(TOPIC, QueueId(0)).unwrap();
    table.remove_topic(TOPIC).unwrap();
    table.remove_topic("never there").unwrap();
    assert!(table.remove_topic("../other").is_err());
    assert!(table.get(TOPIC, QueueId(0)).is_none());
    assert!(read_all(&old).is_empty());
    old.push(entry(26));
    table.sync().unwrap();
    assert_eq!(file_names(&files, "consumequeue"), ["other"]);
    push(&table.get_or_create(TOPIC, QueueId(0)), 0..2);
    table.sync().unwrap();
    let table = load(&files.crash(roxmq_testkit::Crash::LoseUnsynced, 0));
    check_holds(&table.get(TOPIC, QueueId(0)).unwrap(), 0..2);
    assert!(table.incomplete().is_empty());
}
