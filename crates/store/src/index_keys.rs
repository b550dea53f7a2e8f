//! What the index files a message under, when it is appended and when it is read from the log again.

use roxmq_protocol::java_hash::IndexHasher;
use roxmq_protocol::properties::{Properties, name};
use smallvec::SmallVec;

/// The properties that count.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexKeys<'a> {
    pub uniq_key: Option<&'a str>,
    pub keys: Option<&'a str>,
    pub tags: Option<&'a str>,
}

impl<'a> IndexKeys<'a> {
    pub fn of(properties: Properties<'a>) -> Self {
        let [uniq_key, keys, tags] = properties.get_all([name::UNIQ_KEY, name::KEYS, name::TAGS]);
        IndexKeys { uniq_key, keys, tags }
    }

    /// Each hash once: the unique key's, those of its keys, and that of its tags.
    pub fn hashes(self, topic: &str) -> SmallVec<[u32; 4]> {
        let hasher = IndexHasher::new(topic);
        let keys = self.keys.into_iter().flat_map(|keys| keys.split(name::KEY_SEPARATOR));
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
    use roxmq_protocol::java_hash::index_hash;

    #[test]
    fn each_key_is_filed_once_with_its_topic() {
        let check = |properties: &str, expected: &[&str]| {
            let hashes = IndexKeys::of(Properties::new(properties.as_bytes())).hashes("t");
            let expected: Vec<_> = expected.iter().map(|key| index_hash("t", key)).collect();
            assert_eq!(&hashes[..], expected, "{properties:?}");
        };
        check("", &[]);
        check("KEYS\u{1}k k  j \u{2}TAGS\u{1}a\u{2}UNIQ_KEY\u{1}u\u{2}", &["u", "k", "j", "T#a"]);
        check("KEYS\u{1}k\u{2}UNIQ_KEY\u{1}k\u{2}", &["k"]);
        check("UNIQ_KEY\u{1}\u{2}", &[]);
        check("TAGS\u{1}x\u{2}", &["T#x"]);
    }
}
