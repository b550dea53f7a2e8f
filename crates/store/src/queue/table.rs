//! All consume queues of a store.

use crate::files::FileSystem;
use crate::open::OpenError;
use crate::position::{PhyOffset, QueueId, QueueOffset};
use crate::queue::consume_queue::{ConsumeQueue, Extent};
use crate::queue::load::{Found, Loader};
use crate::queue::queue_files::QueueFiles;
use crate::queue::snapshot::{Held, Snapshot};
use crate::queue::{cut, names, write_behind};
use parking_lot::RwLock;
use roxmq_protocol::names::is_lmq;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

/// A snapshot is written once this part of the queues has got or lost a file: writing it costs as much as there are
/// queues.
const SNAPSHOT_PART: usize = 8;

/// The queues of a topic, in order of their ids.
type Queues = Vec<Arc<ConsumeQueue>>;

#[derive(Debug)]
pub struct QueueTable {
    files: Arc<QueueFiles>,
    topics: RwLock<HashMap<Arc<str>, Queues, foldhash::fast::RandomState>>,
    incomplete: Vec<Incomplete>,
    /// The snapshot promises more than there is.
    snapshot_stale: AtomicBool,
    /// How many of the topics are light queues.
    lmqs: AtomicUsize,
}

/// A queue that had more entries than its files hold. Replaying the log from `from` on puts them back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    pub topic: Arc<str>,
    pub id: QueueId,
    /// Everything of this queue before this position is there. 0 if nothing is known.
    pub from: PhyOffset,
}

impl QueueTable {
    /// Finds the queues under `root/consumequeue`. `visible` is where the log ends for readers: entries whose record
    /// ends behind it are not shown. `i64::MAX` shows everything.
    pub fn load(
        files: Arc<dyn FileSystem>,
        root: &Path,
        file_bytes: u64,
        visible: Arc<AtomicI64>,
    ) -> Result<QueueTable, OpenError> {
        let failed = |source| OpenError::Io { path: root.to_owned(), source };
        let snapshot = Snapshot::load(&*files, root).map_err(failed)?;
        let shared = Arc::new(QueueFiles::new(files, root, file_bytes, visible));
        let file_entries = shared.file_entries();
        let loader = Loader { files: shared.fs(), root, file_entries, snapshot: &snapshot };
        let mut table = QueueTable {
            files: Arc::clone(&shared),
            topics: RwLock::default(),
            incomplete: Vec::new(),
            snapshot_stale: AtomicBool::new(false),
            lmqs: AtomicUsize::new(0),
        };
        let mut missing = snapshot.clone();
        for found in loader.load()? {
            let held = missing.topics.get_mut(&*found.topic).and_then(|queues| queues.remove(&found.id));
            table.add_found(found, held);
        }
        for (topic, queues) in missing.topics {
            let topic: Arc<str> = Arc::from(topic);
            for (id, held) in queues {
                table.add_missing(&topic, id, held).map_err(failed)?;
            }
        }
        *table.lmqs.get_mut() = table.topics.get_mut().keys().filter(|topic| is_lmq(topic)).count();
        for queues in table.topics.get_mut().values_mut() {
            queues.sort_by_key(|queue| queue.id());
            queues.shrink_to_fit();
        }
        table.snapshot_stale = AtomicBool::new(!table.incomplete.is_empty());
        Ok(table)
    }

    fn add_found(&mut self, found: Found, held: Option<Held>) {
        let next = found.extent.next;
        if found.gap || held.is_some_and(|held| held.next > next) {
            let from = found.extent.last_end;
            self.incomplete.push(Incomplete { topic: Arc::clone(&found.topic), id: found.id, from });
        }
        self.add(&found.topic, found.id, found.extent);
    }

    /// A queue whose files are gone goes on where its messages are to be found, or at least where it ended.
    fn add_missing(&mut self, topic: &Arc<str>, id: QueueId, held: Held) -> io::Result<()> {
        if held.next == 0 {
            return Ok(());
        }
        let queue = self.add(topic, id, Extent::EMPTY);
        if held.min > 0 {
            cut::skip_to(&queue, QueueOffset(held.min))?;
        }
        if held.next > held.min {
            self.incomplete.push(Incomplete { topic: Arc::clone(topic), id, from: PhyOffset(0) });
        }
        Ok(())
    }

    fn add(&mut self, topic: &Arc<str>, id: QueueId, extent: Extent) -> Arc<ConsumeQueue> {
        let queue = Arc::new(ConsumeQueue::new(Arc::clone(&self.files), Arc::clone(topic), id, extent));
        self.topics.get_mut().entry(Arc::clone(topic)).or_default().push(Arc::clone(&queue));
        queue
    }

    /// Queues whose files were lost or cut since they were written, to be replayed before the store opens.
    pub fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    pub fn get(&self, topic: &str, id: QueueId) -> Option<Arc<ConsumeQueue>> {
        find(self.topics.read().get(topic)?, id).cloned()
    }

    /// The queue, made if it doesn't exist; it has no file until its first entry is written behind.
    pub fn get_or_create(&self, topic: &str, id: QueueId) -> Arc<ConsumeQueue> {
        if let Some(queue) = self.get(topic, id) {
            return queue;
        }
        let mut topics = self.topics.write();
        if let Some(queue) = topics.get(topic).and_then(|queues| find(queues, id)) {
            return Arc::clone(queue);
        }
        let name = topics.get_key_value(topic).map_or_else(|| Arc::from(topic), |(name, _)| Arc::clone(name));
        let queue = ConsumeQueue::new(Arc::clone(&self.files), Arc::clone(&name), id, Extent::EMPTY);
        let queue = Arc::new(queue);
        if is_lmq(topic) && !topics.contains_key(topic) {
            self.lmqs.fetch_add(1, Ordering::Relaxed);
        }
        let queues = topics.entry(name).or_default();
        let at = queues.partition_point(|queue| queue.id() < id);
        queues.insert(at, Arc::clone(&queue));
        queue
    }

    /// Every topic that has a queue, in no order.
    pub fn topics(&self) -> Vec<Arc<str>> {
        self.topics.read().keys().cloned().collect()
    }

    /// How many light queues there are.
    pub fn lmq_count(&self) -> usize {
        self.lmqs.load(Ordering::Relaxed)
    }

    /// The queues of a topic, in order of their ids.
    pub fn queues(&self, topic: &str) -> Vec<Arc<ConsumeQueue>> {
        self.topics.read().get(topic).cloned().unwrap_or_default()
    }

    /// Forgets the queues of a topic and removes their files. Who still holds one of them reads nothing from it; those
    /// that were there are given back.
    pub fn remove_topic(&self, topic: &str) -> io::Result<Queues> {
        let _maintenance = self.files.maintenance.lock();
        let dir = names::topic_dir(self.files.root(), topic)?;
        let removed = self.topics.write().remove(topic);
        if removed.is_some() && is_lmq(topic) {
            self.lmqs.fetch_sub(1, Ordering::Relaxed);
        }
        let queues = removed.unwrap_or_default();
        for queue in &queues {
            queue.mark_removed();
        }
        self.snapshot_stale.store(true, Ordering::Release);
        self.files.fs().remove_dir_all(&dir)?;
        for queue in &queues {
            self.files.forget(queue, &dir);
        }
        match self.files.fs().sync_dir(&self.files.root().join(names::DIR)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
        Ok(queues)
    }

    /// Forgets a topic without messages, past or present, and without anybody who waits for some.
    pub fn remove_unused(&self, topic: &str) -> bool {
        let mut topics = self.topics.write();
        let is_unused =
            topics.get(topic).is_some_and(|queues| queues.iter().all(|queue| queue.remove_if_unused()));
        if is_unused {
            topics.remove(topic);
            if is_lmq(topic) {
                self.lmqs.fetch_sub(1, Ordering::Relaxed);
            }
        }
        is_unused
    }

    /// Drops the entries of records at or above `log_end`. Recovery calls it with the position up to which the files
    /// are known to be whole before it replays the log from there, and with the end of the log after a cut.
    pub fn truncate(&self, log_end: PhyOffset) -> io::Result<()> {
        let _maintenance = self.files.maintenance.lock();
        for queue in self.all() {
            if queue.last_end() > log_end {
                self.snapshot_stale.store(true, Ordering::Release);
                cut::truncate(&self.files, &queue, log_end)?;
            }
        }
        self.files.sync()
    }

    /// Moves the minimum offsets behind the entries of records below `log_min`, and removes files that hold no others.
    /// The last file of a queue stays, so that the queue's maximum offset does.
    pub fn trim(&self, log_min: PhyOffset) -> io::Result<()> {
        let _maintenance = self.files.maintenance.lock();
        self.all().iter().try_for_each(|queue| cut::trim(&self.files, queue, log_min))
    }

    /// Moves the minimum offset of a queue, as [`trim`](Self::trim) does, to this offset.
    pub fn trim_before(&self, queue: &Arc<ConsumeQueue>, offset: QueueOffset) -> io::Result<()> {
        let _maintenance = self.files.maintenance.lock();
        if queue.is_removed() {
            return Ok(());
        }
        cut::trim_before(&self.files, queue, offset.0)
    }

    /// Writes new entries to the files, without waiting for the disk, and frees the memory of queues that are idle.
    /// Whoever pushes many calls it now and then: they are in memory until then.
    pub fn write_behind(&self) -> io::Result<()> {
        let _maintenance = self.files.maintenance.lock();
        write_behind::round(&self.files)
    }

    /// Writes behind and makes every entry pushed before the call durable. After an error nothing is durable that
    /// wasn't before, and no later call succeeds unless only space was missing.
    pub fn sync(&self) -> io::Result<()> {
        let changes = self.files.reshaped();
        let stale = self.snapshot_stale.load(Ordering::Acquire);
        self.sync_and_save(stale || (changes > 0 && changes as usize > self.count() / SNAPSHOT_PART))
    }

    /// [`sync`](Self::sync), and writes down what each queue holds, so that the next load notices missing files.
    pub fn close(&self) -> io::Result<()> {
        self.sync_and_save(true)
    }

    fn sync_and_save(&self, save: bool) -> io::Result<()> {
        let _maintenance = self.files.maintenance.lock();
        write_behind::round(&self.files)?;
        let changes = self.files.reshaped();
        let snapshot = save.then(|| self.snapshot());
        self.files.sync()?;
        if let Some(snapshot) = snapshot {
            snapshot.save(self.files.fs(), self.files.root())?;
            self.files.uncount_reshaped(changes);
            self.snapshot_stale.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// One past the record of the newest entry of any queue.
    pub fn max_phy_offset(&self) -> PhyOffset {
        let topics = self.topics.read();
        topics.values().flatten().map(|queue| queue.last_end()).max().unwrap_or_default()
    }

    fn all(&self) -> Queues {
        self.topics.read().values().flatten().cloned().collect()
    }

    fn count(&self) -> usize {
        self.topics.read().values().map(Vec::len).sum()
    }

    /// What the files hold, as far as it is written.
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (topic, queues) in &*self.topics.read() {
            let held = queues.iter().filter_map(|queue| {
                let next = queue.state.lock().tail.written();
                let min = queue.min_offset().0.min(next);
                (next > 0).then_some((queue.id(), Held { min, next }))
            });
            snapshot.topics.insert(topic.to_string(), held.collect());
        }
        snapshot
    }
}

fn find(queues: &Queues, id: QueueId) -> Option<&Arc<ConsumeQueue>> {
    // Ids run from 0 without a gap, as a rule.
    let expected = queues.get(usize::try_from(id.0).ok()?);
    if let Some(queue) = expected.filter(|queue| queue.id() == id) {
        return Some(queue);
    }
    queues.binary_search_by_key(&id, |queue| queue.id()).ok().map(|at| &queues[at])
}
