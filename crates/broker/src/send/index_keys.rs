//! The keys of a message in the index.

use roxmq_protocol::java_hash::IndexHasher;
use roxmq_protocol::properties::{Properties, name};
use smallvec::SmallVec;

/// What the index files a message under.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IndexKeys<'a> {
    pub(crate) uniq_key: Option<&'a str>,
    pub(crate) keys: Option<&'a str>,
    pub(crate) tags: Option<&'a str>,
}

impl<'a> IndexKeys<'a> {
    pub(crate) fn of(properties: Properties<'a>) -> Self {
        let [uniq_key, keys, tags] = properties.get_all([name::UNIQ_KEY, name::KEYS, name::TAGS]);
        IndexKeys { uniq_key, keys, tags }
    }

    /// Each hash once: the unique key's, those of its keys, and that of its tags.
    pub(crate) fn hashes(self, topic: &str) -> SmallVec<[u32; 4]> {
        let hasher = IndexHasher::new(topic);
        let keys = self.keys.unwrap_or_default().split(name::KEY_SEPARATOR);
        let keys = self.uniq_key.into_iter().chain(keys).filter(|key| !key.is_empty());
        let all = keys.map(|key| hasher.key(key)).chain(self.tags.map(|tags| hasher.tags(tags)));
        let mut hashes = SmallVec::new();
        for hash in all {
            if !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
        hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::java_hash;

    #[test]
    fn each_key_is_filed_once() {
        let check = |uniq_key, keys, tags, expected: &[&str]| {
            let hashes = IndexKeys { uniq_key, keys, tags }.hashes("t");
            let expected: Vec<_> = expected.iter().map(|key| java_hash::index_hash("t", key)).collect();
            assert_eq!(&hashes[..], expected, "{uniq_key:?} {keys:?} {tags:?}");
        };
        check(Some("u"), Some("k k  j"), Some("a"), &["u", "k", "j", "T#a"]);
        check(Some("k"), Some("k"), None, &["k"]);
        check(None, None, None, &[]);
    }
}
