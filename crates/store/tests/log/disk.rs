//! A full disk refuses messages and nothing else, and heals.

use crate::fixture::{Fixture, append, bodies, fill, numbers};
use roxmq_store::AppendError;
use roxmq_testkit::FaultFiles;

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
