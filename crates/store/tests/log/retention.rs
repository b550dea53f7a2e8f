//! Expired files go, and with them what queues know of them.

use crate::fixture::{Fixture, bodies, fill, numbers, read};
use roxmq_store::QueueId;
use roxmq_store::read::ReadStatus;
use std::time::Duration;

#[test]
fn expired_files_go_and_the_rest_is_read() {
    let mut fixture = Fixture::new();
    fixture.options.retention.keep = Duration::ZERO;
    let store = fixture.open();
    fill(&store, "old", 10);
    fill(&store, "T", 400);
    // The rounds of the store's own thread may have been first, if its hour has come.
    store.delete_expired_now().unwrap();
    assert_eq!(store.min_phy_offset().0 % 8192, 0);
    assert!(store.min_phy_offset().0 > 0);
    let queue = store.queue("T", QueueId(0)).unwrap();
    let min = queue.min_offset().0;
    assert!(min > 0);
    assert_eq!(read(&store, "T", 0, min).1, numbers(min as usize..400));
    assert_eq!(read(&store, "T", 0, 0).0.status, ReadStatus::OffsetTooSmall);
    // All of its messages are gone, but not how many there were.
    let (result, _) = read(&store, "old", 0, 0);
    assert_eq!(
        (result.status, result.next_offset.0, result.max_offset.0),
        (ReadStatus::OffsetTooSmall, 10, 10)
    );
    drop(store);
    let store = fixture.open();
    assert_eq!(read(&store, "T", 0, min).1, numbers(min as usize..400));
    fill(&store, "old", 1);
    assert_eq!(read(&store, "old", 0, 10).1, ["0"]);
    assert!(bodies(&store, "T").is_empty());
}
