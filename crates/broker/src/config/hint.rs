//! The known key that was probably meant.

use super::{BrokerConfig, accepted};

/// More edits than this make another word, not a slip.
const EDITS_MAX: usize = 3;

/// The nearest known key, if any is near.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let fields = BrokerConfig::KEYS.iter().map(|(known, _)| *known);
    let known = fields.chain(accepted::ACCEPTED.iter().map(|(known, _)| *known));
    let near = known.map(|known| (edits(&key.to_ascii_lowercase(), &known.to_ascii_lowercase()), known));
    near.filter(|(edits, known)| *edits <= EDITS_MAX.min(known.len() / 3)).min().map(|(_, known)| known)
}

/// How many characters must be put in, taken out or replaced to make one text of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, character) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (at, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        let check = |key: &str, expected: Option<&str>| assert_eq!(nearest(key), expected, "{key}");
        check("flushDiskTyp", Some("flushDiskType"));
        check("brokername", Some("brokerName"));
        check("autoCreateTopicEnabled", Some("autoCreateTopicEnable"));
        check("somethingElseAltogether", None);
        check("", None);
    }

    #[test]
    fn edits_are_counted() {
        let check = |from, to, expected| assert_eq!(edits(from, to), expected, "{from} {to}");
        check("", "abc", 3);
        check("abc", "abc", 0);
        check("kitten", "sitting", 3);
    }
}
