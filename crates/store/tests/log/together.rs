//! Many at once: what each was told is what is there.

use crate::fixture::{Fixture, bodies, message};
use roxmq_store::{AppendBatch, FlushMode, Store};
use std::collections::HashSet;
use std::sync::Arc;

const THREADS: usize = 4;
const BURSTS: usize = 60;
const BURST: usize = 16;

/// Appends bursts to the topic and to one of its own from each thread.
fn append_together(store: &Arc<Store>) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let own = format!("own{thread}");
                let mut batch = AppendBatch::new();
                for burst in 0..BURSTS {
                    batch.clear();
                    for n in 0..BURST {
                        let body = format!("{thread}-{burst}-{n}");
                        let topic = if n % 2 == 0 { "T" } else { &own };
                        batch.push(store, &message(topic, 0, body.as_bytes())).unwrap();
                    }
                    store.append(&mut batch).unwrap();
                }
            });
        }
    });
}

fn assert_all_there(store: &Store) {
    let shared = bodies(store, "T");
    assert_eq!(shared.len(), THREADS * BURSTS * BURST / 2);
    assert_eq!(shared.iter().collect::<HashSet<_>>().len(), shared.len());
    for thread in 0..THREADS {
        let expected: Vec<String> = (0..BURSTS)
            .flat_map(|burst| (1..BURST).step_by(2).map(move |n| format!("{thread}-{burst}-{n}")))
            .collect();
        assert_eq!(bodies(store, &format!("own{thread}")), expected);
    }
}

/// With synchronous flush zeros are written ahead at the same time; they must never meet a record.
#[test]
fn bursts_of_many_threads_are_each_whole_and_in_order() {
    for flush in [FlushMode::Async, FlushMode::Sync] {
        let mut fixture = Fixture::new();
        fixture.options.flush = flush;
        fixture.options.commit_log_file_bytes = 64 << 10;
        fixture.options.allocate_ahead_bytes = 16 << 10;
        fixture.options.tail_bytes_max = 0;
        let store = fixture.open();
        append_together(&store);
        store.flush().unwrap();
        assert_all_there(&store);
        drop(store);
        let (store, report) = fixture.open_reporting();
        assert_eq!(report.cut, None);
        assert_all_there(&store);
    }
}
