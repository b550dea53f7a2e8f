//! The file `config/timercheck`: how far the timer messages are. `docs/formats/timer.md` has the picture.
//!
//! The Java server reads and writes the first 56 bytes and leaves those behind them alone. There stands ours, with a
//! checksum over all: a file whose checksum is wrong was last written by the Java server, or by nobody.

use crate::files::{FileSystem, OpenMode, ReadMode};
use crate::position::{Millis, PhyOffset, QueueOffset};
use std::io;
use std::path::{Path, PathBuf};

/// The Java server maps so much of it.
const FILE_BYTES: usize = 4096;
/// The Java server's part, which is also what it answers when it is asked for its checkpoint.
pub const CHECKPOINT_BYTES: usize = 56;
const OWN_FIELDS: usize = 5;
const ALL_BYTES: usize = CHECKPOINT_BYTES + OWN_FIELDS * 8;
/// Leaves it to the timer log where the Java server goes on. The file is older than the log after a kill, and what the
/// file doesn't know of would be entered, and delivered, twice.
pub const AS_THE_LOG_SAYS: QueueOffset = QueueOffset(i64::MAX);
const OWN_MAGIC: i64 = i64::from_be_bytes(*b"ROXMQTC1");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerCheckpoint {
    /// The slot that is on: everything before it is delivered.
    pub read_time: Millis,
    /// Up to where the timer log is on the disk, and the wheel with it.
    pub log_flushed: i64,
    /// Messages of the timer queue before this one have their units.
    pub queue_offset: QueueOffset,
    /// Where the Java server goes on at the latest. Below this it goes by the last unit of the timer log.
    pub master_queue_offset: QueueOffset,
    pub state_version: i64,
    pub timestamp: Millis,
    pub counter: i64,
    /// Absent if the Java server wrote the file.
    pub own: Option<OwnCheckpoint>,
}

/// What the Java server's file has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCheckpoint {
    /// What the log says up to here about timers is in the file.
    pub log_offset: PhyOffset,
    /// Where among the waiting messages, in the order of their times and then of their places, delivery goes on.
    pub due: Millis,
    pub phy_offset: PhyOffset,
    /// Which messages of the timer queue this is true of: those before.
    pub noted_queue_offset: QueueOffset,
}

pub fn checkpoint_path(root: &Path) -> PathBuf {
    root.join("config").join("timercheck")
}

impl TimerCheckpoint {
    /// What the file says; nothing if there is none or it is too short.
    pub fn read(files: &dyn FileSystem, path: &Path) -> io::Result<Option<TimerCheckpoint>> {
        let file = match files.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = [0; ALL_BYTES];
        let there = usize::try_from(file.len()?).unwrap_or(usize::MAX).min(ALL_BYTES);
        if there < CHECKPOINT_BYTES {
            return Ok(None);
        }
        file.read_exact_at(&mut bytes[..there], 0, ReadMode::Blocking)?;
        Ok(Some(TimerCheckpoint::decode(&bytes)))
    }

    /// Replaces what the file says, durably. The fields lie in one sector, which a disk writes as a whole.
    pub fn write(&self, files: &dyn FileSystem, path: &Path) -> io::Result<()> {
        let file = files.open(path, OpenMode::Create)?;
        let is_new = file.is_empty()?;
        let mut bytes = [0; FILE_BYTES];
        bytes[..ALL_BYTES].copy_from_slice(&self.encode());
        file.write_all_at(&[&bytes], 0)?;
        file.sync()?;
        match path.parent() {
            Some(dir) if is_new => files.sync_dir(dir),
            _ => Ok(()),
        }
    }

    /// The Java server's part.
    pub fn encode_shared(&self) -> [u8; CHECKPOINT_BYTES] {
        let mut bytes = [0; CHECKPOINT_BYTES];
        let fields = [
            self.read_time.0,
            self.log_flushed,
            self.queue_offset.0,
            self.master_queue_offset.0,
            self.state_version,
            self.timestamp.0,
            self.counter,
        ];
        put(&mut bytes, &fields);
        bytes
    }

    fn encode(&self) -> [u8; ALL_BYTES] {
        let mut bytes = [0; ALL_BYTES];
        bytes[..CHECKPOINT_BYTES].copy_from_slice(&self.encode_shared());
        if let Some(own) = self.own {
            let fields = [own.log_offset.0, own.due.0, own.phy_offset.0, own.noted_queue_offset.0];
            put(&mut bytes[CHECKPOINT_BYTES..], &fields);
            let sum = checksum(&bytes[..ALL_BYTES - 8]);
            put(&mut bytes[ALL_BYTES - 8..], &[sum]);
        }
        bytes
    }

    fn decode(bytes: &[u8; ALL_BYTES]) -> TimerCheckpoint {
        let mut fields = [0; ALL_BYTES / 8];
        for (field, bytes) in fields.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *field = i64::from_be_bytes(*bytes);
        }
        let [
            read_time,
            log_flushed,
            queue_offset,
            master_queue_offset,
            state_version,
            timestamp,
            counter,
            log_offset,
            due,
            phy_offset,
            noted,
            sum,
        ] = fields;
        let own = (sum == checksum(&bytes[..ALL_BYTES - 8])).then_some(OwnCheckpoint {
            log_offset: PhyOffset(log_offset),
            due: Millis(due),
            phy_offset: PhyOffset(phy_offset),
            noted_queue_offset: QueueOffset(noted),
        });
        TimerCheckpoint {
            read_time: Millis(read_time),
            log_flushed,
            queue_offset: QueueOffset(queue_offset),
            master_queue_offset: QueueOffset(master_queue_offset),
            state_version,
            timestamp: Millis(timestamp),
            counter,
            own,
        }
    }
}

/// Of no bytes is it zero, as the bytes behind the Java server's part are in its own files.
fn checksum(bytes: &[u8]) -> i64 {
    i64::from(crc32fast::hash(bytes)) ^ OWN_MAGIC
}

fn put(bytes: &mut [u8], fields: &[i64]) {
    for (bytes, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
        *bytes = field.to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::OsFiles;

    fn checkpoint() -> TimerCheckpoint {
        TimerCheckpoint {
            read_time: Millis(1),
            log_flushed: 2,
            queue_offset: QueueOffset(3),
            master_queue_offset: QueueOffset(4),
            state_version: 5,
            timestamp: Millis(6),
            counter: 7,
            own: Some(OwnCheckpoint {
                log_offset: PhyOffset(8),
                due: Millis(9),
                phy_offset: PhyOffset(10),
                noted_queue_offset: QueueOffset(11),
            }),
        }
    }

    #[test]
    fn the_fields_lie_where_the_java_server_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timercheck");
        checkpoint().write(&OsFiles, &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), FILE_BYTES);
        for at in 0..11 {
            assert_eq!(bytes[at * 8..][..8], (at as i64 + 1).to_be_bytes());
        }
        assert_eq!(TimerCheckpoint::read(&OsFiles, &path).unwrap(), Some(checkpoint()));
        assert_eq!(checkpoint().encode_shared(), bytes[..CHECKPOINT_BYTES]);
    }

    #[test]
    fn what_the_java_server_wrote_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timercheck");
        assert_eq!(TimerCheckpoint::read(&OsFiles, &path).unwrap(), None);
        checkpoint().write(&OsFiles, &path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[55] = 8;
        std::fs::write(&path, &bytes).unwrap();
        let expected = TimerCheckpoint { counter: 8, own: None, ..checkpoint() };
        assert_eq!(TimerCheckpoint::read(&OsFiles, &path).unwrap(), Some(expected));
        for length in [56, 4096] {
            let mut bytes = checkpoint().encode_shared().to_vec();
            bytes.resize(length, 0);
            std::fs::write(&path, &bytes).unwrap();
            let expected = TimerCheckpoint { own: None, ..checkpoint() };
            assert_eq!(TimerCheckpoint::read(&OsFiles, &path).unwrap(), Some(expected), "{length}");
        }
        std::fs::write(&path, [1; 20]).unwrap();
        assert_eq!(TimerCheckpoint::read(&OsFiles, &path).unwrap(), None);
    }
}
