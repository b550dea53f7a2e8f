//! Messages that go to light queues beside their own.

use crate::fixture::{Fixture, append, bodies, fill, message, numbers, read};
use roxmq_protocol::properties::Properties;
use roxmq_protocol::record::Record;
use roxmq_store::{AppendBatch, NewMessage, QueueId, QueueOffset, Store};

fn properties(list: &str) -> Vec<u8> {
    format!("A\u{1}1\u{2}INNER_MULTI_DISPATCH\u{1}{list}\u{2}").into_bytes()
}

fn push(store: &Store, batch: &mut AppendBatch, list: &str, body: &str) {
    let properties = properties(list);
    let message = NewMessage { properties: &properties, ..message("T", 0, body.as_bytes()) };
    batch.push_dispatched(store, &message, list).unwrap();
}

fn offsets(store: &Store, topic: &str, at: i64) -> String {
    let queue = store.queue(topic, QueueId(0)).unwrap();
    let entry = store.entries(&queue, QueueOffset(at), 1).unwrap()[0];
    let record = store.record(entry.phy_offset).unwrap().unwrap();
    let record = Record::decode(&record).unwrap();
    assert_eq!(entry.bytes as usize, record.total_size());
    let properties: Properties<'_> = record.properties;
    properties.get("INNER_MULTI_QUEUE_OFFSET").unwrap().to_owned()
}

#[test]
fn a_message_is_in_each_queue_it_names() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    push(&store, &mut batch, "%LMQ%a,%LMQ%b", "0");
    batch.push(&store, &message("T", 0, b"1")).unwrap();
    push(&store, &mut batch, "%LMQ%b,other,%LMQ%b", "2");
    store.append(&mut batch).unwrap();
    batch.clear();
    push(&store, &mut batch, "%LMQ%a,%LMQ%b", "3");
    // A queue of its own may be a light one, too.
    batch.push(&store, &message("%LMQ%a", 0, b"4")).unwrap();
    store.append(&mut batch).unwrap();
    let check = |store: &Store| {
        assert_eq!(bodies(store, "T"), numbers(0..4));
        assert_eq!(bodies(store, "%LMQ%a"), ["0", "3", "4"]);
        assert_eq!(bodies(store, "%LMQ%b"), ["0", "2", "3"]);
        assert_eq!(offsets(store, "T", 0), "0,0");
        assert_eq!(offsets(store, "T", 2), "1,,");
        assert_eq!(offsets(store, "T", 3), "1,2");
        assert_eq!(store.lmq_count(), 2);
    };
    check(&store);
    assert!(store.queue("other", QueueId(0)).is_none());
    // Killed, and killed without its queues.
    drop(store);
    let store = fixture.open();
    check(&store);
    drop(store);
    std::fs::remove_dir_all(fixture.path("consumequeue")).unwrap();
    let store = fixture.open();
    check(&store);
    store.shutdown().unwrap();
    let report = roxmq_store::check::check(fixture.files.clone(), &fixture.options, &mut |_, _| {}).unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
}

#[test]
fn a_deleted_light_queue_is_gone_and_begins_anew() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    for body in ["0", "1"] {
        batch.clear();
        push(&store, &mut batch, "%LMQ%a", body);
        store.append(&mut batch).unwrap();
    }
    store.delete_topic("%LMQ%a").unwrap();
    assert_eq!(store.lmq_count(), 0);
    batch.clear();
    push(&store, &mut batch, "%LMQ%a", "2");
    store.append(&mut batch).unwrap();
    drop(store);
    std::fs::remove_dir_all(fixture.path("consumequeue")).unwrap_or_default();
    let store = fixture.open();
    assert_eq!(bodies(&store, "%LMQ%a"), ["2"]);
    assert_eq!(bodies(&store, "T"), numbers(0..3));
}

#[test]
fn light_queues_cross_the_files_of_the_log_and_expire_with_them() {
    let mut fixture = Fixture::new();
    fixture.options.retention.keep = std::time::Duration::ZERO;
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    for number in 0..200 {
        batch.clear();
        push(&store, &mut batch, "%LMQ%a,%LMQ%b", &number.to_string());
        store.append(&mut batch).unwrap();
    }
    fill(&store, "T", 10);
    append(&store, "T", b"last").unwrap();
    store.delete_expired_now().unwrap();
    let min = store.queue("%LMQ%a", QueueId(0)).unwrap().min_offset().0;
    assert!(min > 0);
    assert_eq!(read(&store, "%LMQ%a", 0, min).1, numbers(min as usize..200));
}

#[test]
fn offsets_that_have_no_room_are_refused_and_leave_no_trace() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let mut batch = AppendBatch::new();
    let list = "%LMQ%a,".repeat(2000);
    let properties = properties(&list);
    let message = NewMessage { properties: &properties, ..message("T", 0, b"0") };
    batch.push_dispatched(&store, &message, &list).unwrap_err();
    assert!(batch.is_empty());
}
