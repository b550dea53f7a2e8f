//! Offsets by time. A search that landed in the middle of a run of equal times made consumers skip or repeat.

use crate::fixture::{Fixture, append, fill};
use roxmq_store::read::Boundary;
use roxmq_store::{Millis, QueueId, QueueOffset};
use roxmq_testkit::TestClock;
use std::sync::Arc;

#[test]
fn a_run_of_equal_times_is_taken_as_a_whole() {
    let mut fixture = Fixture::new();
    let clock = Arc::new(TestClock::at(Millis(1_000)));
    fixture.clock = clock.clone();
    let store = fixture.open();
    let queue = store.queue_or_create("T", QueueId(0));
    let check = |time: i64, lower: i64, upper: i64| {
        let find = |boundary| store.offset_by_time(&queue, Millis(time), boundary).unwrap().0;
        assert_eq!((find(Boundary::Lower), find(Boundary::Upper)), (lower, upper), "{time}");
    };
    check(5, 0, 0);
    append(&store, "T", b"first").unwrap();
    clock.set(Millis(2_000));
    fill(&store, "T", 50);
    clock.set(Millis(3_000));
    append(&store, "T", b"last").unwrap();
    check(999, 0, 0);
    check(1_000, 0, 0);
    check(1_999, 1, 0);
    check(2_000, 1, 50);
    check(2_001, 51, 50);
    check(3_000, 51, 51);
    check(3_001, 52, 51);
    assert_eq!(store.store_time(&queue, QueueOffset(7)).unwrap(), Some(Millis(2_000)));
    assert_eq!(store.store_time(&queue, QueueOffset(52)).unwrap(), None);
}
