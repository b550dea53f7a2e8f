//! Topics that keep their messages for a time of their own, beside the files of the log.

use crate::fixture::{Fixture, fill, numbers, read};
use roxmq_store::read::ReadStatus;
use roxmq_store::{Millis, QueueId, TopicRetention};
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn fixture() -> (Fixture, Arc<TestClock>) {
    let mut fixture = Fixture::new();
    let clock = Arc::new(TestClock::at(Millis(1_000_000)));
    fixture.clock = clock.clone();
    (fixture, clock)
}

#[test]
fn a_shorter_time_hides_messages_that_the_log_still_has() {
    let (fixture, clock) = fixture();
    let store = fixture.open();
    fixture.options.topic_retention.set("T", Some(HOUR));
    fill(&store, "T", 20);
    fill(&store, "other", 3);
    clock.advance(HOUR);
    store.expire_topics_now().unwrap();
    assert_eq!(read(&store, "T", 0, 0).1, numbers(0..20), "an hour old is not older than an hour");
    clock.advance(Duration::from_millis(1));
    fill(&store, "T", 2);
    let before = store.removals();
    store.expire_topics_now().unwrap();
    assert_eq!(read(&store, "T", 0, 0).0.status, ReadStatus::OffsetTooSmall);
    assert_eq!(read(&store, "T", 0, 20).1, numbers(0..2));
    assert_eq!(read(&store, "other", 0, 0).1, numbers(0..3));
    assert_eq!(store.removals(), before + 1);
    // A start finds the records in the log; they are expired all the same.
    store.shutdown().unwrap();
    drop(store);
    let store = fixture.open();
    store.expire_topics_now().unwrap();
    assert_eq!(store.queue("T", QueueId(0)).unwrap().min_offset().0, 20);
    clock.advance(HOUR * 2);
    store.expire_topics_now().unwrap();
    let (result, _) = read(&store, "T", 0, 20);
    assert_eq!((result.min_offset.0, result.max_offset.0), (22, 22), "all gone, but not how many there were");
    fill(&store, "T", 1);
    assert_eq!(read(&store, "T", 0, 22).1, ["0"]);
}

#[test]
fn a_longer_time_keeps_the_files_of_the_log() {
    let (mut fixture, clock) = fixture();
    fixture.options.retention.keep = Duration::ZERO;
    clock.set(Millis(4_000_000_000_000));
    let store = fixture.open();
    fixture.options.topic_retention.set("long", Some(HOUR * 24));
    fill(&store, "T", 200);
    fill(&store, "long", 1);
    fill(&store, "T", 200);
    store.delete_expired_now().unwrap();
    let kept = store.min_phy_offset();
    assert!(kept.0 > 0, "files without a message of the topic go");
    assert_eq!(read(&store, "long", 0, 0).1, ["0"]);
    assert_eq!(store.delete_expired_now().unwrap(), 0);
    clock.advance(HOUR * 25);
    assert!(store.delete_expired_now().unwrap() > 0);
    assert!(store.min_phy_offset() > kept);
    assert_eq!(read(&store, "long", 0, 0).0.status, ReadStatus::OffsetTooSmall);
}

#[test]
fn no_file_goes_before_all_topics_are_known() {
    let mut fixture = Fixture::new();
    fixture.options.retention.keep = Duration::ZERO;
    fixture.options.topic_retention = Arc::new(TopicRetention::incomplete());
    let store = fixture.open();
    fill(&store, "T", 400);
    assert_eq!(store.delete_expired_now().unwrap(), 0);
    fixture.options.topic_retention.complete();
    assert!(store.delete_expired_now().unwrap() > 0);
}
