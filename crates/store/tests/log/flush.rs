//! Synchronous flush: what isn't on the disk is neither seen nor acknowledged.

use crate::fixture::{Fixture, append, bodies, fill, read};
use parking_lot::Mutex;
use roxmq_store::{AppendError, ConsumeQueue, FlushMode, PhyOffset, QueueId, Store};
use roxmq_store::{ArrivalListener, FlushError};
use roxmq_testkit::FaultFiles;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn wait(store: &Store, end: PhyOffset) -> Result<(), FlushError> {
    let (sender, receiver) = mpsc::channel();
    store.when_durable(end, Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv_timeout(Duration::from_secs(20)).expect("an answer")
}

fn sync_fixture() -> (Fixture, Arc<FaultFiles>) {
    let mut fixture = Fixture::new();
    let files = FaultFiles::new();
    fixture.files = files.clone();
    fixture.options.flush = FlushMode::Sync;
    (fixture, files)
}

#[test]
fn what_is_acknowledged_is_on_the_disk_and_visible() {
    let (fixture, _) = sync_fixture();
    let store = fixture.open();
    assert!(store.acknowledges_late());
    let (_, end) = append(&store, "T", b"0").unwrap();
    wait(&store, end).unwrap();
    assert!(store.flushed_phy_offset() >= end);
    assert_eq!(bodies(&store, "T"), ["0"]);
}

#[test]
fn those_who_wait_together_share_syncs() {
    const MESSAGES: usize = 500;
    let (mut fixture, files) = sync_fixture();
    // All in one file, as nobody can make the next one while syncs are held.
    fixture.options.commit_log_file_bytes = 1 << 20;
    let store = fixture.open();
    let (sender, receiver) = mpsc::channel();
    let before = files.syncs();
    let disk_works = files.hold_syncs();
    for n in 0..MESSAGES {
        let (_, end) = append(&store, "T", format!("{n}").as_bytes()).unwrap();
        let sender = sender.clone();
        store.when_durable(end, Box::new(move |result| sender.send((end, result)).unwrap()));
    }
    drop(disk_works);
    let mut last = PhyOffset(0);
    for _ in 0..MESSAGES {
        let (end, result) = receiver.recv_timeout(Duration::from_secs(20)).expect("an answer");
        result.unwrap();
        assert!(end > last, "in the order of the log");
        last = end;
    }
    let syncs = files.syncs() - before;
    // One for those who came before the disk was busy, one for all others; and a few of other threads.
    assert!(syncs < 20, "{syncs} syncs for {MESSAGES} messages");
}

#[test]
fn a_failed_sync_fails_those_who_wait_and_all_later_appends() {
    let (fixture, files) = sync_fixture();
    let store = fixture.open();
    let (_, end) = append(&store, "T", b"0").unwrap();
    wait(&store, end).unwrap();
    // Whichever sync comes next: those of the log fail for good.
    files.turn_off_at_sync(files.syncs());
    let refused = loop {
        match append(&store, "T", b"1") {
            Ok((_, end)) => match wait(&store, end) {
                Ok(()) => continue,
                Err(error) => break error,
            },
            Err(AppendError::Io { .. }) => break FlushError::Failed(String::new()),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(matches!(refused, FlushError::Failed(_)), "{refused}");
    assert!(matches!(append(&store, "T", b"2"), Err(AppendError::Io { .. })));
    assert_eq!(read(&store, "T", 0, 0).0.max_offset.0, 1, "what isn't on the disk isn't seen");
}

/// The next file is made ahead, on a thread whose failures were only warned of: the log went on behind a file that
/// might not be there after a loss of power.
#[test]
fn a_failed_sync_of_a_new_file_fails_the_log() {
    let mut fixture = Fixture::new();
    let files = FaultFiles::new();
    fixture.files = files.clone();
    // No other sync comes in between.
    fixture.options.flush_interval = Duration::from_secs(3600);
    let store = fixture.open();
    files.fail_at_sync(files.syncs());
    let body = [b'x'; 1000];
    // The file that is there and some of those behind it are full by then.
    let refused = (0..100).find_map(|_| append(&store, "T", &body).err());
    assert!(matches!(refused, Some(AppendError::Io { .. })), "{refused:?}");
    assert!(matches!(append(&store, "T", b"1"), Err(AppendError::Io { .. })));
}

struct Told(Mutex<mpsc::Sender<(String, i64)>>);

impl ArrivalListener for Told {
    fn arrived(&self, queue: &Arc<ConsumeQueue>) {
        let told = (queue.topic().to_string(), queue.max_offset().0);
        self.0.lock().send(told).unwrap();
    }
}

#[test]
fn who_waits_for_a_queue_is_told_when_he_can_see_the_message() {
    for flush in [FlushMode::Async, FlushMode::Sync] {
        let mut fixture = Fixture::new();
        fixture.options.flush = flush;
        let store = fixture.open();
        let (sender, receiver) = mpsc::channel();
        store.set_arrival_listener(Arc::new(Told(Mutex::new(sender))));
        fill(&store, "nobody", 3);
        let queue = store.queue_or_create("T", QueueId(0));
        queue.waiters.fetch_add(1, Ordering::SeqCst);
        fill(&store, "T", 1);
        let told = receiver.recv_timeout(Duration::from_secs(20)).expect("told");
        assert_eq!(told, ("T".to_string(), 1));
    }
}
