//! The state behind the files: all nodes, what is planned to go wrong, and what has been done.

use crate::node::{DirNode, FileNode, Node, NodeId};
use crate::sparse::PAGE_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

const ROOT: NodeId = 0;

/// What is left after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process is gone; the operating system has all that was written.
    Process,
    /// The power is gone, and with it all that wasn't synced.
    LoseUnsynced,
    /// The power is gone; of what wasn't synced any part may be there, torn and in any order.
    ScatterUnsynced,
}

/// What an operation does, for counting and for planned faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Change,
    Sync,
}

#[derive(Clone, Debug)]
pub struct Disk {
    nodes: BTreeMap<NodeId, Node>,
    next_id: NodeId,
    pub capacity_bytes: Option<u64>,
    pub locked: BTreeSet<PathBuf>,
    /// Changes and syncs so far.
    pub operations: u64,
    pub syncs: u64,
    pub off_at_operation: Option<u64>,
    pub off_at_sync: Option<u64>,
    pub fail_at_operation: Option<u64>,
    pub fail_at_sync: Option<u64>,
    pub off: bool,
    /// Reads that don't want to wait would have to.
    pub cold: bool,
}

impl Disk {
    pub fn new() -> Disk {
        Disk {
            nodes: BTreeMap::from([(ROOT, Node::Dir(DirNode::default()))]),
            next_id: ROOT + 1,
            capacity_bytes: None,
            locked: BTreeSet::new(),
            operations: 0,
            syncs: 0,
            off_at_operation: None,
            off_at_sync: None,
            fail_at_operation: None,
            fail_at_sync: None,
            off: false,
            cold: false,
        }
    }

    /// Counts an operation, and stops it if something was planned for it.
    pub fn begin(&mut self, operation: Operation) -> io::Result<()> {
        if operation != Operation::Read {
            let sync = operation == Operation::Sync;
            self.off |= self.off_at_operation == Some(self.operations);
            self.off |= sync && self.off_at_sync == Some(self.syncs);
            let fails = self.fail_at_operation == Some(self.operations)
                || sync && self.fail_at_sync == Some(self.syncs);
            self.operations += 1;
            self.syncs += u64::from(sync);
            if fails && !self.off {
                return Err(io::Error::other("input/output error, as planned"));
            }
        }
        if self.off { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    /// What a restart finds.
    pub fn crash(&self, mode: Crash, seed: u64) -> Disk {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut nodes = self.nodes.clone();
        for node in nodes.values_mut() {
            match (mode, node) {
                (Crash::Process, _) => {}
                (Crash::LoseUnsynced, Node::File(file)) => file.lose_unsynced(),
                (Crash::LoseUnsynced, Node::Dir(dir)) => dir.lose_unsynced(),
                (Crash::ScatterUnsynced, Node::File(file)) => file.scatter_unsynced(&mut rng),
                (Crash::ScatterUnsynced, Node::Dir(dir)) => dir.scatter_unsynced(&mut rng),
            }
        }
        Disk { nodes, next_id: self.next_id, capacity_bytes: self.capacity_bytes, ..Disk::new() }
    }

    pub fn find(&self, path: &Path) -> io::Result<NodeId> {
        names(path).iter().try_fold(ROOT, |dir, name| {
            self.dir(dir)?.live.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    /// The directory that holds a path, and the name in it.
    pub fn parent<'a>(&self, path: &'a Path) -> io::Result<(NodeId, &'a str)> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok((self.find(path.parent().unwrap_or(Path::new("")))?, name))
    }

    pub fn dir(&self, id: NodeId) -> io::Result<&DirNode> {
        match self.nodes.get(&id) {
            Some(Node::Dir(dir)) => Ok(dir),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub fn dir_mut(&mut self, id: NodeId) -> io::Result<&mut DirNode> {
        match self.nodes.get_mut(&id) {
            Some(Node::Dir(dir)) => Ok(dir),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub fn file(&self, id: NodeId) -> io::Result<&FileNode> {
        match self.nodes.get(&id) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Dir(_)) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub fn file_mut(&mut self, id: NodeId) -> io::Result<&mut FileNode> {
        match self.nodes.get_mut(&id) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Dir(_)) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub fn create_file(&mut self, path: &Path) -> io::Result<NodeId> {
        self.create(path, Node::File(FileNode::default()))
    }

    pub fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut sofar = PathBuf::new();
        for name in names(path) {
            sofar.push(name);
            match self.find(&sofar) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    self.create(&sofar, Node::Dir(DirNode::default()))?;
                }
                found => {
                    self.dir(found?)?;
                }
            }
        }
        Ok(())
    }

    /// Removes what is in a directory, so that even if its own removal is lost, some of theirs may not be.
    pub fn empty_dir(&mut self, id: NodeId) -> io::Result<()> {
        for (name, node) in self.dir(id)?.live.clone() {
            if self.dir(node).is_ok() {
                self.empty_dir(node)?;
            }
            self.dir_mut(id)?.remove(&name);
        }
        Ok(())
    }

    fn create(&mut self, path: &Path, node: Node) -> io::Result<NodeId> {
        let (dir, name) = self.parent(path)?;
        let id = self.next_id;
        self.dir_mut(dir)?.add(name, id);
        self.next_id += 1;
        self.nodes.insert(id, node);
        Ok(id)
    }

    /// Takes disk blocks for a range of a file, if there are enough.
    pub fn take_blocks(&mut self, id: NodeId, pages: impl Iterator<Item = u64> + Clone) -> io::Result<()> {
        let file = self.file(id)?;
        let new = pages.clone().filter(|page| !file.blocks.contains(page)).count() as u64;
        if self.capacity_bytes.is_some_and(|capacity| self.used_bytes() + new * PAGE_BYTES > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file_mut(id)?.blocks.extend(pages);
        Ok(())
    }

    /// Bytes of the blocks of all files that still have a name.
    pub fn used_bytes(&self) -> u64 {
        self.tree()
            .into_iter()
            .filter_map(|id| self.file(id).ok())
            .map(|f| f.blocks.len() as u64)
            .sum::<u64>()
            * PAGE_BYTES
    }

    pub fn sync_all(&mut self) {
        for node in self.nodes.values_mut() {
            match node {
                Node::File(file) => file.sync(),
                Node::Dir(dir) => dir.sync(),
            }
        }
    }

    /// Everything below the root.
    fn tree(&self) -> Vec<NodeId> {
        let mut found = vec![ROOT];
        let mut at = 0;
        while let Some(&id) = found.get(at) {
            if let Ok(dir) = self.dir(id) {
                found.extend(dir.live.values());
            }
            at += 1;
        }
        found
    }
}

fn names(path: &Path) -> Vec<String> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}
