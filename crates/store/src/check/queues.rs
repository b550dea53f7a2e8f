//! Holds queue files against the log: each record of the log must be where its offset says.

use super::CheckReport;
use crate::checkpoint::Checkpoint;
use crate::files::{FileSystem, OpenMode, ReadMode};
use crate::multi_dispatch::{self, LMQ_QUEUE};
use crate::position::{PhyOffset, QueueId};
use crate::queue::QueueEntry;
use crate::queue::entry::{ENTRY_BYTES, EntryBytes};
use crate::queue::names;
use roxmq_protocol::record::Record;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Entries of a queue that are in memory at a time; there may be 100,000 queues.
const WINDOW_ENTRIES: usize = 64;
/// Wrong entries of a queue that are told one by one.
const WRONG_MAX: usize = 3;

pub(super) struct Queues<'a> {
    files: &'a dyn FileSystem,
    root: &'a Path,
    topics: HashMap<String, HashMap<QueueId, Queue>>,
}

#[derive(Default)]
struct Queue {
    /// Where each file starts, in bytes of the queue, and how long it is.
    parts: Vec<Part>,
    window: Vec<u8>,
    window_start: u64,
    right: u64,
    /// Records without an entry, and the first of them.
    missing: u64,
    first_missing: Option<PhyOffset>,
    wrong: Vec<(PathBuf, u64, String)>,
}

struct Part {
    start: u64,
    bytes: u64,
    path: PathBuf,
}

impl<'a> Queues<'a> {
    pub fn new(files: &'a dyn FileSystem, root: &'a Path) -> Self {
        Queues { files, root, topics: HashMap::new() }
    }

    /// A record of the log, with the entry that its queues should have.
    pub fn take(&mut self, record: &Record<'_>, expected: QueueEntry) -> io::Result<()> {
        self.take_in(record.topic, QueueId(record.queue_id), record.queue_offset, expected)?;
        for (name, offset) in multi_dispatch::places(record) {
            self.take_in(name, LMQ_QUEUE, offset, expected)?;
        }
        Ok(())
    }

    fn take_in(&mut self, topic: &str, id: QueueId, offset: i64, expected: QueueEntry) -> io::Result<()> {
        let known = self.topics.get_mut(topic).and_then(|queues| queues.get_mut(&id));
        if let Some(queue) = known {
            return queue.compare(self.files, offset, expected);
        }
        let queue = Queue::find(self.files, self.root, topic, id)?;
        let queues = self.topics.entry(topic.to_string()).or_default();
        queues.entry(id).or_insert(queue).compare(self.files, offset, expected)
    }

    /// The topic was deleted here: what came before has no entries, and what comes now begins at 0.
    pub fn forget(&mut self, topic: &str) {
        self.topics.remove(topic);
    }

    pub fn finish(self, checkpoint: &Checkpoint, report: &mut CheckReport) -> io::Result<()> {
        for (topic, queues) in self.topics {
            let topic_is_gone = queues.values().all(|queue| queue.parts.is_empty());
            for (id, queue) in queues {
                report.queues += 1;
                report.entries += queue.right;
                let dir = self.root.join(names::DIR).join(&topic).join(id.to_string());
                let missing_from = queue.first_missing.unwrap_or_default().0;
                if queue.missing > 0 && report.crashed && missing_from >= checkpoint.dispatched {
                    report.to_rebuild += queue.missing;
                } else if topic_is_gone {
                    report.without_queue += queue.missing;
                } else if queue.missing > 0 {
                    let text = format!(
                        "{} records have no entry in the queue; the first lies at {missing_from} of the log",
                        queue.missing
                    );
                    report.add(&dir, 0, text);
                }
                for (path, at, text) in queue.wrong {
                    report.add(&path, at, text);
                }
            }
        }
        Ok(())
    }
}

impl Queue {
    fn find(files: &dyn FileSystem, root: &Path, topic: &str, id: QueueId) -> io::Result<Queue> {
        let entries = match names::queue_dir(root, topic, id).and_then(|dir| files.list(&dir)) {
            // A topic that can't be a directory's name has no queue on the disk.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
                ) =>
            {
                Vec::new()
            }
            result => result?,
        };
        let mut parts: Vec<Part> = entries
            .into_iter()
            .filter_map(|entry| {
                let start = names::file_start(&entry.name)?;
                Some(Part { start, bytes: entry.bytes, path: entry.path })
            })
            .collect();
        parts.sort_by_key(|part| part.start);
        Ok(Queue { parts, ..Queue::default() })
    }

    fn compare(&mut self, files: &dyn FileSystem, offset: i64, expected: QueueEntry) -> io::Result<()> {
        let at = u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(ENTRY_BYTES as u64));
        let found = match at {
            Some(at) => self.entry(files, at)?,
            None => None,
        };
        match found.filter(QueueEntry::is_valid) {
            None => {
                self.missing += 1;
                self.first_missing.get_or_insert(expected.phy_offset);
            }
            Some(found) if (found.phy_offset, found.bytes) == (expected.phy_offset, expected.bytes) => {
                self.right += 1;
            }
            Some(found) if self.wrong.len() < WRONG_MAX => {
                let (path, at) = self.place(at.unwrap_or(0));
                let text = format!(
                    "entry {offset} says {} bytes at {} of the log, where {} bytes at {} are meant",
                    found.bytes, found.phy_offset, expected.bytes, expected.phy_offset
                );
                self.wrong.push((path, at, text));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// The entry at a byte of the queue, if a file has it.
    fn entry(&mut self, files: &dyn FileSystem, at: u64) -> io::Result<Option<QueueEntry>> {
        if at < self.window_start || at + ENTRY_BYTES as u64 > self.window_start + self.window.len() as u64 {
            self.load(files, at)?;
        }
        let from = (at - self.window_start) as usize;
        let bytes: Option<&EntryBytes> = self.window.get(from..).and_then(|bytes| bytes.first_chunk());
        Ok(bytes.map(QueueEntry::decode))
    }

    fn load(&mut self, files: &dyn FileSystem, at: u64) -> io::Result<()> {
        self.window.clear();
        self.window_start = at;
        let part = self.parts.iter().rfind(|part| part.start <= at);
        let Some(part) = part.filter(|part| at < part.start + part.bytes) else { return Ok(()) };
        let left = part.start + part.bytes - at;
        self.window.resize(left.min((WINDOW_ENTRIES * ENTRY_BYTES) as u64) as usize, 0);
        let file = files.open(&part.path, OpenMode::Read)?;
        file.read_exact_at(&mut self.window, at - part.start, ReadMode::Blocking)
    }

    fn place(&self, at: u64) -> (PathBuf, u64) {
        let part = self.parts.iter().rfind(|part| part.start <= at);
        part.map_or_else(|| (PathBuf::new(), at), |part| (part.path.clone(), at - part.start))
    }
}
