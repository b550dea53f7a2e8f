//! Where the files of consume queues are: `consumequeue/<topic>/<queue id>/<20 digits>` under the store's root.

use crate::position::QueueId;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) const DIR: &str = "consumequeue";

/// The directory of a topic. A topic whose name isn't a file name has none: an error of kind `InvalidInput`.
pub(crate) fn topic_dir(root: &Path, topic: &str) -> io::Result<PathBuf> {
    if topic.is_empty() || topic == "." || topic == ".." || topic.contains(['/', '\\', '\0']) {
        let text = format!("the topic {topic:?} can't have consume queues: its name is no directory name");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(root.join(DIR).join(topic))
}

pub(crate) fn queue_dir(root: &Path, topic: &str, id: QueueId) -> io::Result<PathBuf> {
    Ok(topic_dir(root, topic)?.join(id.to_string()))
}

/// Whether there can be such a queue; an error of kind `InvalidInput` if not.
pub(crate) fn check(topic: &str, id: QueueId) -> io::Result<()> {
    if id.0 < 0 {
        let text = format!("the topic {topic:?} can't have a queue {id}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    topic_dir(Path::new(""), topic).map(drop)
}

/// The name of the file whose first byte is the queue's byte `start`.
pub(crate) fn file_name(start: u64) -> String {
    format!("{start:020}")
}

/// The first byte of a file; none if it isn't named like a queue file.
pub(crate) fn file_start(name: &str) -> Option<u64> {
    let digits = name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| name.parse().ok()).flatten()
}

/// The id of a queue's directory; none if it isn't named like one of ours.
pub(crate) fn queue_id(name: &str) -> Option<QueueId> {
    let id: i32 = name.parse().ok()?;
    (id >= 0 && id.to_string() == name).then_some(QueueId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_first_byte() {
        assert_eq!(file_name(6_000_000), "00000000000006000000");
        assert_eq!(file_start("00000000000006000000"), Some(6_000_000));
        for odd in ["6000000", "0000000000000600000x", "+0000000000006000000", "99999999999999999999"] {
            assert_eq!(file_start(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_topic_never_leaves_its_directory() {
        for odd in ["", ".", "..", "a/b", "../x", "a\0b"] {
            assert!(topic_dir(Path::new("/s"), odd).is_err(), "{odd:?}");
        }
        let dir = queue_dir(Path::new("/s"), "%RETRY%g", QueueId(3)).unwrap();
        assert_eq!(dir, Path::new("/s/consumequeue/%RETRY%g/3"));
    }

    #[test]
    fn a_queue_directory_is_named_by_a_plain_number() {
        assert_eq!(queue_id("12"), Some(QueueId(12)));
        for odd in ["-1", "+1", "01", "x", ""] {
            assert_eq!(queue_id(odd), None, "{odd}");
        }
    }
}
