//! Which queue files and directories the disk may not have yet.
//!
//! A failed sync is final: the system may have dropped what it couldn't write and call the next sync a success, so
//! from then on every sync fails, the checkpoint stays where it is, and the next start replays the log from there.

use crate::queue::queue_files::{FileKey, QueueFiles};
use crate::queue::{ConsumeQueue, names};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Up to here files are synced one by one; for more one call for the whole file system is cheaper.
const SINGLE_SYNCS_MAX: usize = 64;

pub(super) struct Unsynced {
    changes: Changes,
    failed: Option<(io::ErrorKind, String)>,
}

#[derive(Default)]
pub(super) struct Changes {
    files: HashMap<FileKey, Arc<ConsumeQueue>>,
    dirs: BTreeSet<PathBuf>,
    /// More than are worth remembering.
    many: bool,
}

impl Unsynced {
    /// At start nobody knows what a killed process left to the system to write.
    pub(super) fn unknown() -> Unsynced {
        Unsynced { changes: Changes { many: true, ..Changes::default() }, failed: None }
    }

    pub(super) fn written(&mut self, queue: &Arc<ConsumeQueue>, file_start: i64) {
        if !self.changes.many {
            self.changes.files.entry((queue.serial, file_start)).or_insert_with(|| Arc::clone(queue));
            self.changes.limit();
        }
    }

    /// A file was made in a queue's directory, and perhaps the directories above.
    pub(super) fn created(&mut self, root: &Path, queue_dir: &Path) {
        let top = root.join(names::DIR);
        let parents = queue_dir.ancestors().take_while(|dir| dir.starts_with(&top));
        self.changed_dirs(parents.chain([root]));
    }

    fn changed_dirs<'a>(&mut self, dirs: impl IntoIterator<Item = &'a Path>) {
        if !self.changes.many {
            self.changes.dirs.extend(dirs.into_iter().map(Path::to_owned));
            self.changes.limit();
        }
    }

    pub(super) fn removed(&mut self, key: FileKey, dir: Option<&Path>) {
        self.changes.files.remove(&key);
        self.changed_dirs(dir);
    }

    /// A queue is gone and its files with it.
    pub(super) fn forget(&mut self, serial: u64, dir: &Path) {
        self.changes.files.retain(|key, _| key.0 != serial);
        self.changes.dirs.retain(|changed| !changed.starts_with(dir));
    }

    pub(super) fn take(&mut self) -> io::Result<Changes> {
        match &self.failed {
            Some((kind, text)) => {
                let text =
                    format!("an earlier sync of the consume queues failed ({text}); a restart repairs them");
                Err(io::Error::new(*kind, text))
            }
            None => Ok(std::mem::take(&mut self.changes)),
        }
    }

    pub(super) fn fail(&mut self, error: &io::Error) {
        self.failed.get_or_insert_with(|| (error.kind(), error.to_string()));
    }
}

impl Changes {
    pub(super) fn sync(&self, files: &QueueFiles) -> io::Result<()> {
        if self.many {
            return files.fs().sync_all(files.root());
        }
        for (key, queue) in &self.files {
            files.sync_file(queue, key.1)?;
        }
        // A name may only become durable after what it stands for.
        for dir in self.dirs.iter().rev() {
            files.fs().sync_dir(dir)?;
        }
        Ok(())
    }

    fn limit(&mut self) {
        if self.files.len() + self.dirs.len() > SINGLE_SYNCS_MAX {
            *self = Changes { many: true, ..Changes::default() };
        }
    }
}
