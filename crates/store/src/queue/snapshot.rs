//! The file `roxmq-queues` in the store's root: what each queue held when its files were last known to be whole.
//!
//! Only there to notice at load that files are missing; the Java server ignores it. Big-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `ROXMQCQ1` |
//! | 4 | number of topics |
//! | 1 + n, 4 | for each topic: its name behind its length, number of its queues |
//! | 4, 8, 8 | for each queue: id, minimum offset, next offset |
//! | 4 | CRC-32 of all before it |

use crate::files::{FileSystem, OpenMode, ReadMode};
use crate::position::QueueId;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

const NAME: &str = "roxmq-queues";
const NEW_NAME: &str = "roxmq-queues.new";
const MAGIC: &[u8; 8] = b"ROXMQCQ1";
const CRC_BYTES: usize = 4;

/// A snapshot of a million queues is some 20 MB; a file beyond this isn't one.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) topics: BTreeMap<String, BTreeMap<QueueId, Held>>,
}

/// The offsets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) min: i64,
    pub(super) next: i64,
}

impl Snapshot {
    pub(super) fn get(&self, topic: &str, id: QueueId) -> Option<Held> {
        self.topics.get(topic)?.get(&id).copied()
    }

    /// The snapshot of a store; an empty one if there is none or it is damaged.
    pub(super) fn load(files: &dyn FileSystem, root: &Path) -> io::Result<Snapshot> {
        let path = root.join(NAME);
        let file = match files.open(&path, OpenMode::Read) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Snapshot::default()),
            file => file?,
        };
        let bytes = file.len()?;
        if bytes <= FILE_BYTES_MAX {
            let mut buffer = vec![0; bytes as usize];
            file.read_exact_at(&mut buffer, 0, ReadMode::Blocking)?;
            if let Some(snapshot) = Snapshot::decode(&buffer) {
                return Ok(snapshot);
            }
        }
        tracing::warn!(path = %path.display(), bytes, "damaged, ignored: missing consume queue files go unnoticed");
        Ok(Snapshot::default())
    }

    /// Replaces the snapshot of a store, durably.
    pub(super) fn save(&self, files: &dyn FileSystem, root: &Path) -> io::Result<()> {
        let (path, new) = (root.join(NAME), root.join(NEW_NAME));
        let bytes = self.encode();
        let file = files.open(&new, OpenMode::Create)?;
        file.set_len(bytes.len() as u64)?;
        file.write_all_at(&[&bytes], 0)?;
        file.sync()?;
        files.rename(&new, &path)?;
        files.sync_dir(root)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend((self.topics.len() as u32).to_be_bytes());
        for (topic, queues) in &self.topics {
            out.push(topic.len() as u8);
            out.extend(topic.as_bytes());
            out.extend((queues.len() as u32).to_be_bytes());
            for (id, held) in queues {
                out.extend(id.0.to_be_bytes());
                out.extend(held.min.to_be_bytes());
                out.extend(held.next.to_be_bytes());
            }
        }
        let crc = crc32fast::hash(&out);
        out.extend(crc.to_be_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Snapshot> {
        let (content, crc) = bytes.split_last_chunk::<CRC_BYTES>()?;
        if crc32fast::hash(content).to_be_bytes() != *crc {
            return None;
        }
        let mut rest = content.strip_prefix(MAGIC)?;
        let mut topics = BTreeMap::new();
        for _ in 0..take_u32(&mut rest)? {
            let [topic_bytes] = take(&mut rest)?;
            let (topic, behind) = rest.split_at_checked(topic_bytes.into())?;
            rest = behind;
            let mut queues = BTreeMap::new();
            for _ in 0..take_u32(&mut rest)? {
                let id = QueueId(i32::from_be_bytes(take(&mut rest)?));
                let min = i64::from_be_bytes(take(&mut rest)?);
                let next = i64::from_be_bytes(take(&mut rest)?);
                queues.insert(id, Held { min, next });
            }
            topics.insert(String::from_utf8(topic.to_vec()).ok()?, queues);
        }
        rest.is_empty().then_some(Snapshot { topics })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot() -> Snapshot {
        let queues = BTreeMap::from([
            (QueueId(0), Held { min: 3, next: 9 }),
            (QueueId(7), Held { min: 0, next: 1 << 40 }),
        ]);
        Snapshot {
            topics: BTreeMap::from([("TopicA".to_owned(), queues), ("b".to_owned(), BTreeMap::new())]),
        }
    }

    #[test]
    fn reads_back_what_it_wrote() {
        assert_eq!(Snapshot::decode(&snapshot().encode()), Some(snapshot()));
        assert_eq!(Snapshot::decode(&Snapshot::default().encode()), Some(Snapshot::default()));
    }

    #[test]
    fn any_changed_or_missing_byte_is_noticed() {
        let good = snapshot().encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(Snapshot::decode(&bad), None, "byte {at} changed");
            assert_eq!(Snapshot::decode(&good[..at]), None, "cut at {at}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_bytes_with_a_right_checksum_break_it(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut whole = MAGIC.to_vec();
            whole.append(&mut bytes);
            let crc = crc32fast::hash(&whole);
            whole.extend(crc.to_be_bytes());
            let _ = Snapshot::decode(&whole);
        }
    }
}
