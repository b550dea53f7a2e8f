//! A deleted topic is gone for good, and a new one of its name begins at 0.

use crate::fixture::{Fixture, append, bodies, fill, message, numbers};
use roxmq_store::AppendBatch;

#[test]
fn a_deleted_topic_doesnt_come_back() {
    for (crash, rebuild) in [(false, false), (false, true), (true, false), (true, true)] {
        let fixture = Fixture::new();
        let store = fixture.open();
        fill(&store, "gone", 30);
        fill(&store, "again", 30);
        fill(&store, "stays", 30);
        store.delete_topic("gone").unwrap();
        store.delete_topic("again").unwrap();
        fill(&store, "again", 2);
        if !crash {
            store.shutdown().unwrap();
        }
        drop(store);
        if rebuild {
            std::fs::remove_dir_all(fixture.path("consumequeue")).unwrap_or_default();
        }
        let store = fixture.open();
        assert!(store.queues("gone").is_empty(), "{crash} {rebuild}");
        assert_eq!(bodies(&store, "again"), numbers(0..2), "{crash} {rebuild}");
        assert_eq!(bodies(&store, "stays"), numbers(0..30), "{crash} {rebuild}");
    }
}

#[test]
fn a_batch_encoded_before_the_deletion_goes_to_the_new_topic() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 5);
    let mut batch = AppendBatch::new();
    batch.push(&store, &message("T", 0, b"new")).unwrap();
    store.delete_topic("T").unwrap();
    store.append(&mut batch).unwrap();
    assert_eq!(batch.stored()[0].queue_offset.0, 0);
    assert_eq!(bodies(&store, "T"), ["new"]);
    // The batch remembers the queue; it must be the new one.
    batch.clear();
    batch.push(&store, &message("T", 0, b"newer")).unwrap();
    store.append(&mut batch).unwrap();
    assert_eq!(bodies(&store, "T"), ["new", "newer"]);
}

#[test]
fn a_topic_that_never_was_can_be_deleted() {
    let fixture = Fixture::new();
    let store = fixture.open();
    store.delete_topic("T").unwrap();
    append(&store, "T", b"0").unwrap();
    assert_eq!(bodies(&store, "T"), ["0"]);
}
