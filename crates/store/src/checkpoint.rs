//! The file `checkpoint`: up to where log, queues and index were known to be whole on the disk.
//! `docs/formats/checkpoint.md` has the picture.

use crate::files::{FileSystem, OpenMode, ReadMode};
use std::io;
use std::path::Path;

/// The Java server maps so much of it.
const FILE_BYTES: usize = 4096;
/// The fields in use, each a long.
const FIELDS: usize = 7;
/// What the Java server takes off its times, as they are written apart from what they speak of.
const TIME_MARGIN_MS: i64 = 3_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// When the newest record on the disk was stored.
    pub log_time: i64,
    /// When the newest record whose queue entry is on the disk was stored.
    pub queue_time: i64,
    /// When the newest record was stored whose keys are on the disk.
    pub index_time: i64,
    pub master_flushed: i64,
    pub confirmed: i64,
    /// Where the newest record starts whose queue entry is on the disk. 0 in files of Java servers before 5.5.0.
    pub dispatched: i64,
    /// Ours: one past the end that the index had; everything up to `dispatched` was in it then. An index that ends
    /// earlier has lost files. 0 if the Java server made the file, or if there was no index.
    pub index_end: i64,
}

impl Checkpoint {
    /// What the file says; all zeros if there is none or it is too short.
    pub fn read(files: &dyn FileSystem, path: &Path) -> io::Result<Checkpoint> {
        let mut bytes = [0; FIELDS * 8];
        let result = files
            .open(path, OpenMode::Read)
            .and_then(|file| file.read_exact_at(&mut bytes, 0, ReadMode::Blocking));
        match result {
            Ok(()) => Ok(Checkpoint::decode(&bytes)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
                Ok(Checkpoint::default())
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces what the file says. The fields lie in one sector, which a disk writes as a whole. Where the file is
    /// new, its directory has yet to be synced.
    pub fn write(&self, files: &dyn FileSystem, path: &Path) -> io::Result<()> {
        let file = files.open(path, OpenMode::Create)?;
        let mut bytes = [0; FILE_BYTES];
        bytes[..FIELDS * 8].copy_from_slice(&self.encode());
        file.write_all_at(&[&bytes], 0)?;
        file.sync()
    }

    /// Everything stored up to this time is in log and queues, by the times alone.
    pub fn min_time(&self) -> i64 {
        (self.log_time.min(self.queue_time) - TIME_MARGIN_MS).max(0)
    }

    fn decode(bytes: &[u8; FIELDS * 8]) -> Checkpoint {
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *field = i64::from_be_bytes(*bytes);
        }
        let [log_time, queue_time, index_time, master_flushed, confirmed, dispatched, index_end] = fields;
        Checkpoint { log_time, queue_time, index_time, master_flushed, confirmed, dispatched, index_end }
    }

    fn encode(&self) -> [u8; FIELDS * 8] {
        let mut bytes = [0; FIELDS * 8];
        let fields = [
            self.log_time,
            self.queue_time,
            self.index_time,
            self.master_flushed,
            self.confirmed,
            self.dispatched,
            self.index_end,
        ];
        for (bytes, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *bytes = field.to_be_bytes();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::OsFiles;

    #[test]
    fn the_fields_lie_where_the_java_server_has_them() {
        let checkpoint = Checkpoint {
            log_time: 1,
            queue_time: 2,
            index_time: 3,
            master_flushed: 4,
            confirmed: 5,
            dispatched: 6,
            index_end: 7,
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        checkpoint.write(&OsFiles, &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), FILE_BYTES);
        for at in 0..FIELDS {
            assert_eq!(bytes[at * 8..][..8], (at as i64 + 1).to_be_bytes());
        }
        assert_eq!(Checkpoint::read(&OsFiles, &path).unwrap(), checkpoint);
    }

    #[test]
    fn an_absent_or_short_file_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        assert_eq!(Checkpoint::read(&OsFiles, &path).unwrap(), Checkpoint::default());
        std::fs::write(&path, [1; 20]).unwrap();
        assert_eq!(Checkpoint::read(&OsFiles, &path).unwrap(), Checkpoint::default());
    }

    #[test]
    fn times_are_taken_with_a_margin() {
        let check = |log_time, queue_time, expected| {
            let checkpoint = Checkpoint { log_time, queue_time, ..Checkpoint::default() };
            assert_eq!(checkpoint.min_time(), expected, "{log_time} {queue_time}");
        };
        check(10_000, 20_000, 7_000);
        check(20_000, 9_000, 6_000);
        check(2_999, 20_000, 0);
    }
}
