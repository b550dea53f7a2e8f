//! Java's `String.hashCode` and what RocketMQ derives from it: tags codes and index hashes.
//!
//! Both are on disk, so they follow Java to the bit: over UTF-16 units, wrapping at 32 bits.

/// `String.hashCode` of the text.
pub fn hash(text: &str) -> i32 {
    extend(0, text)
}

/// The tags code of a queue entry: the hash of the whole TAGS property, 0 for none.
pub fn tags_code(tags: &str) -> i64 {
    i64::from(hash(tags))
}

/// The hash under which the index files a key of a topic: that of `topic#key`, made positive.
pub fn index_hash(topic: &str, key: &str) -> u32 {
    IndexHasher::new(topic).key(key)
}

/// The hashes under which the index files messages of one topic.
#[derive(Clone, Copy, Debug)]
pub struct IndexHasher {
    /// The hash of `topic#`.
    prefix: i32,
}

impl IndexHasher {
    pub fn new(topic: &str) -> Self {
        IndexHasher { prefix: extend(extend(0, topic), "#") }
    }

    pub fn key(self, key: &str) -> u32 {
        positive(extend(self.prefix, key))
    }

    /// Of the whole TAGS property, under which 5.5.0 files a message too.
    pub fn tags(self, tags: &str) -> u32 {
        positive(extend(extend(self.prefix, "T#"), tags))
    }
}

/// Java's abs of the smallest int is negative still, and the index takes 0 for it.
fn positive(hash: i32) -> u32 {
    hash.checked_abs().unwrap_or(0).unsigned_abs()
}

/// The hash of a text that goes on with `text` after a part whose hash is `start`.
fn extend(start: i32, text: &str) -> i32 {
    if text.is_ascii() {
        return extend_ascii(start, text.as_bytes());
    }
    text.encode_utf16().fold(start, step)
}

fn step(hash: i32, unit: impl Into<i32>) -> i32 {
    hash.wrapping_mul(31).wrapping_add(unit.into())
}

/// By eights, as every step has to wait for the multiplication before it.
fn extend_ascii(start: i32, text: &[u8]) -> i32 {
    let (eights, rest) = text.as_chunks::<8>();
    let hash = eights
        .iter()
        .fold(start, |hash, eight| hash.wrapping_mul(31i32.wrapping_pow(8)).wrapping_add(hash_eight(*eight)));
    rest.iter().fold(hash, |hash, byte| step(hash, *byte))
}

/// The hash of eight ASCII characters: of pairs, then of fours, side by side in one word. A pair has at most 12 bits, a
/// four 22.
fn hash_eight(text: [u8; 8]) -> i32 {
    const PAIRS: u64 = 0x00FF_00FF_00FF_00FF;
    const FOURS: u64 = 0x0000_FFFF_0000_FFFF;
    let bytes = u64::from_le_bytes(text);
    let pairs = (bytes & PAIRS) * 31 + (bytes >> 8 & PAIRS);
    let fours = (pairs & FOURS) * 31u64.pow(2) + (pairs >> 16 & FOURS);
    (fours as i32).wrapping_mul(31i32.pow(4)).wrapping_add((fours >> 32) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_java() {
        let check = |text: &str, expected: i32| assert_eq!(hash(text), expected, "{text}");
        check("", 0);
        check("TagA", 2_598_919);
        check("TagB", 2_598_920);
        check("polygenelubricants", i32::MIN);
        check(
            "abcdefghi",
            "abcdefghi".chars().fold(0i32, |hash, c| hash.wrapping_mul(31).wrapping_add(c as i32)),
        );
        check("é", 233);
        // Two UTF-16 units: 0xD83D * 31 + 0xDE80.
        check("🚀", 0xD83D * 31 + 0xDE80);
        assert_eq!(tags_code("TagX"), 0x27_A81E);
    }

    #[test]
    fn negative_hashes_keep_their_sign_in_a_tags_code() {
        assert_eq!(tags_code("polygenelubricants"), i64::from(i32::MIN));
    }

    #[test]
    fn index_hashes_are_of_topic_and_key_and_never_negative() {
        assert_eq!(index_hash("TT", "k1"), hash("TT#k1").unsigned_abs());
        assert_eq!(index_hash("Topic", "some-key"), hash("Topic#some-key").unsigned_abs());
        assert_eq!(IndexHasher::new("Topic").tags("TagA"), index_hash("Topic", "T#TagA"));
        // The hash of "T#ajvakuzm" is the smallest int, which has no positive counterpart.
        assert_eq!(hash("T#ajvakuzm"), i32::MIN);
        assert_eq!(index_hash("T", "ajvakuzm"), 0);
    }
}
