//! Pages of entries as they are in the files, for readers that go on where they stopped: most take a few entries at
//! a time, and the next ones are already here.
//!
//! A page is kept once all of its entries are written. These don't change until the queue is cut or removed, which
//! ends with [`Pages::forget`].

use crate::queue::entry::EntryBytes;
use foldhash::fast::RandomState;
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Entries of a page, but for the last one of a file: 4,080 bytes.
pub(super) const PAGE_ENTRIES: i64 = 204;

/// Pages of all queues together: half a MiB.
const PAGES_MAX: NonZeroUsize = NonZeroUsize::new(128).expect("not zero");

pub(super) type Page = Arc<Vec<EntryBytes>>;

pub(super) struct Pages {
    /// By the queue's serial number and the offset at which the page begins.
    kept: Mutex<LruCache<(u64, i64), Page, RandomState>>,
}

impl Default for Pages {
    fn default() -> Self {
        Pages { kept: Mutex::new(LruCache::with_hasher(PAGES_MAX, RandomState::default())) }
    }
}

impl Pages {
    pub(super) fn get(&self, queue: u64, start: i64) -> Option<Page> {
        self.kept.lock().get(&(queue, start)).map(Arc::clone)
    }

    pub(super) fn keep(&self, queue: u64, start: i64, page: &Page) {
        self.kept.lock().put((queue, start), Arc::clone(page));
    }

    /// Forgets the pages of a queue.
    pub(super) fn forget(&self, queue: u64) {
        let mut kept = self.kept.lock();
        let keys: Vec<_> = kept.iter().map(|(key, _)| *key).filter(|key| key.0 == queue).collect();
        for key in keys {
            kept.pop(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::entry::ENTRY_BYTES;

    #[test]
    fn pages_are_bounded_and_go_with_their_queue() {
        let pages = Pages::default();
        let page = Arc::new(vec![[7; ENTRY_BYTES]]);
        let count = |queue| (0..1_000).filter(|&start| pages.get(queue, start).is_some()).count();
        (0..100).for_each(|start| pages.keep(1, start, &page));
        (0..20).for_each(|start| pages.keep(2, start, &page));
        assert_eq!((count(1), count(2)), (100, 20));
        pages.forget(1);
        assert_eq!((count(1), count(2)), (0, 20));
        (0..1_000).for_each(|start| pages.keep(3, start, &page));
        assert_eq!((count(2), count(3)), (0, PAGES_MAX.get()));
    }
}
