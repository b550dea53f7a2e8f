//! Stores that don't open say why; what was opened is marked.

use crate::fixture::{Fixture, bodies, fill, numbers};
use roxmq_store::{FlushMode, OpenError};

#[test]
fn a_store_in_use_is_left_alone() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let Err(error) = fixture.try_open() else { panic!("opened twice") };
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    fill(&store, "T", 1);
    drop(store);
    assert_eq!(bodies(&fixture.open(), "T"), ["0"]);
}

/// With small files the look-ahead made as many as its bytes were worth.
#[test]
fn only_the_next_file_is_made_ahead() {
    for flush in [FlushMode::Async, FlushMode::Sync] {
        let mut fixture = Fixture::new();
        fixture.options.flush = flush;
        fixture.options.allocate_ahead_bytes = 1 << 30;
        let store = fixture.open();
        fill(&store, "T", 200);
        store.shutdown().unwrap();
        let files = std::fs::read_dir(fixture.path("commitlog")).unwrap().count() as i64;
        let written = store.max_phy_offset().0 / 8192 + 1;
        assert!((written..=written + 1).contains(&files), "{files} files for {written}");
    }
}

#[test]
fn files_of_another_size_are_left_alone() {
    let mut fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 100);
    store.shutdown().unwrap();
    drop(store);
    fixture.options.commit_log_file_bytes = 16384;
    let Err(error) = fixture.try_open() else { panic!("opened with another size") };
    let text = error.to_string();
    assert!(text.contains("8192") && text.contains("mappedFileSizeCommitLog"), "{text}");
    fixture.options.commit_log_file_bytes = 8192;
    assert_eq!(bodies(&fixture.open(), "T"), numbers(0..100));
}

/// Queues of batches, which only the Java server reads: their messages would be out of reach without a word.
#[test]
fn queues_of_another_kind_are_no_empty_ones() {
    let fixture = Fixture::new();
    let queue = fixture.path("batchconsumequeue/T/0");
    std::fs::create_dir_all(&queue).unwrap();
    fixture.open();
    std::fs::write(queue.join("00000000000000000000"), [0; 46]).unwrap();
    let Err(error) = fixture.try_open() else { panic!("opened without the messages of T") };
    assert!(matches!(error, OpenError::BatchQueues { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("topics T ") && text.contains("batchconsumequeue"), "{text}");
}

#[test]
fn a_gap_between_files_is_no_end_of_the_log() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 300);
    store.shutdown().unwrap();
    drop(store);
    std::fs::remove_file(fixture.log_file(8192)).unwrap();
    let Err(error) = fixture.try_open() else { panic!("opened with a gap") };
    assert!(matches!(error, OpenError::Gap { .. }), "{error}");
    assert!(fixture.log_file(2 * 8192).exists());
}

#[test]
fn several_directories_are_refused_by_name() {
    let mut fixture = Fixture::new();
    fixture.options.commit_log_dir = "/a,/b".into();
    let Err(error) = fixture.try_open() else { panic!("opened") };
    assert!(error.to_string().contains("/a,/b"), "{error}");
}

#[test]
fn an_open_store_is_marked_with_its_process() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let abort = std::fs::read_to_string(fixture.path("abort")).unwrap();
    assert_eq!(abort, std::process::id().to_string());
    assert_eq!(std::fs::read(fixture.path("lock")).unwrap(), b"lock");
    assert_eq!(std::fs::metadata(fixture.path("checkpoint")).unwrap().len(), 4096);
    store.shutdown().unwrap();
    assert!(!fixture.path("abort").exists());
}
