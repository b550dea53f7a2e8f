//! A full disk refuses messages and nothing else, and heals.

use crate::fixture::{Fixture, append, bodies, fill, numbers};
use roxmq_store::files::{FileSystem, OpenMode};
use roxmq_store::{AppendError, Store};
use roxmq_testkit::FaultFiles;
use std::time::{Duration, Instant};

/// Appends until the result is as wanted.
fn append_until(store: &Store, wanted: impl Fn(&Result<(), AppendError>) -> bool) {
    let before = Instant::now();
    loop {
        let result = append(store, "T", b"x").map(drop);
        if wanted(&result) {
            return;
        }
        assert!(before.elapsed() < Duration::from_secs(8), "{result:?}");
        std::thread::yield_now();
    }
}

/// Space was freed, and the server stayed unwritable until its next look or for ever.
#[test]
fn a_disk_over_the_limit_refuses_and_takes_messages_soon_after_there_is_room() {
    let mut fixture = Fixture::new();
    let files = FaultFiles::new();
    fixture.files = files.clone();
    fill(&fixture.open(), "T", 10);
    files.open(&fixture.path("foreign"), OpenMode::Create).unwrap().allocate(0, 94 << 20).unwrap();
    files.set_capacity(Some(100 << 20));
    let store = fixture.open();
    append_until(&store, |result| matches!(result, Err(AppendError::DiskFull { used: 91.., limit: 90, .. })));
    assert_eq!(bodies(&store, "T")[..10], numbers(0..10));
    files.set_capacity(None);
    append_until(&store, Result::is_ok);
}

#[test]
fn a_full_disk_refuses_until_there_is_room_again() {
    let mut fixture = Fixture::new();
    let files = FaultFiles::new();
    fixture.files = files.clone();
    fixture.options.allocate_ahead_bytes = 0;
    let store = fixture.open();
    fill(&store, "T", 10);
    let before = store.max_phy_offset();
    files.set_capacity(Some(0));
    let error = append(&store, "T", &[b'x'; 5000]).unwrap_err();
    assert!(matches!(error, AppendError::NoSpace { .. }), "{error}");
    assert_eq!(store.max_phy_offset(), before);
    assert_eq!(bodies(&store, "T"), numbers(0..10));
    files.set_capacity(None);
    append(&store, "T", b"10").unwrap();
    assert_eq!(bodies(&store, "T"), numbers(0..11));
    drop(store);
    assert_eq!(bodies(&fixture.open(), "T"), numbers(0..11));
}
