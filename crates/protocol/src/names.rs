//! Names of topics and groups: what they may look like, and those that are derived from others.
//!
//! One rule for every way a name can come in. Each accepted group also has a retry topic and a dead-letter topic
//! with accepted names.

mod reserved;

pub use reserved::*;

pub const RETRY_PREFIX: &str = "%RETRY%";
pub const DLQ_PREFIX: &str = "%DLQ%";

pub const TOPIC_CHARS_MAX: usize = 127;
/// Retry and dead-letter topics are as long as a group, and with POP also a topic, makes them.
pub const DERIVED_TOPIC_CHARS_MAX: usize = 255;
pub const GROUP_CHARS_MAX: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the {kind} is blank")]
    Blank { kind: &'static str },
    #[error("the {kind} '{name}' has the character {character:?}; allowed are a-z A-Z 0-9 _ - % |")]
    Character { kind: &'static str, name: String, character: char },
    #[error("the {kind} '{name}' has {chars} characters, the limit is {limit}")]
    TooLong { kind: &'static str, name: String, chars: usize, limit: usize },
}

pub fn check_topic(name: &str) -> Result<(), NameError> {
    let derived = name.starts_with(RETRY_PREFIX) || name.starts_with(DLQ_PREFIX);
    check("topic", name, if derived { DERIVED_TOPIC_CHARS_MAX } else { TOPIC_CHARS_MAX })
}

pub fn check_group(name: &str) -> Result<(), NameError> {
    check("group", name, GROUP_CHARS_MAX)
}

fn check(kind: &'static str, name: &str, limit: usize) -> Result<(), NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Blank { kind });
    }
    if let Some(at) = name.bytes().position(|byte| !is_allowed(byte)) {
        let character = name[at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
        return Err(NameError::Character { kind, name: shorten(name), character });
    }
    // Every character is ASCII by now.
    if name.len() > limit {
        return Err(NameError::TooLong { kind, name: shorten(name), chars: name.len(), limit });
    }
    Ok(())
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'%' | b'|')
}

/// A name as a text may show it: not longer than a line.
fn shorten(name: &str) -> String {
    match name.char_indices().nth(TOPIC_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// The topic that a group's failed messages wait in.
pub fn retry_topic(group: &str) -> String {
    format!("{RETRY_PREFIX}{group}")
}

/// The topic of the messages that a group has given up on.
pub fn dlq_topic(group: &str) -> String {
    format!("{DLQ_PREFIX}{group}")
}

/// The group behind a retry topic. A `+` ends the group in the second form of POP's retry topics.
pub fn group_of_retry_topic(topic: &str) -> Option<&str> {
    let group = topic.strip_prefix(RETRY_PREFIX)?;
    Some(group.split_once('+').map_or(group, |(group, _)| group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics() {
        let check =
            |name: &str, expected: Result<(), NameError>| assert_eq!(check_topic(name), expected, "{name}");
        let character = |name: &str, character| {
            Err(NameError::Character { kind: "topic", name: name.to_owned(), character })
        };
        check("Topic_1-a|b", Ok(()));
        check("ns%Topic", Ok(()));
        check("", Err(NameError::Blank { kind: "topic" }));
        check("  ", Err(NameError::Blank { kind: "topic" }));
        check("a b", character("a b", ' '));
        check("a/b", character("a/b", '/'));
        check("a🚀", character("a🚀", '🚀'));
        check("../x", character("../x", '.'));
        check(&"t".repeat(127), Ok(()));
        assert!(matches!(
            check_topic(&"t".repeat(128)),
            Err(NameError::TooLong { chars: 128, limit: 127, .. })
        ));
        check(&format!("%RETRY%{}", "t".repeat(248)), Ok(()));
        assert!(check_topic(&format!("%RETRY%{}", "t".repeat(249))).is_err());
        assert!(check_topic(&format!("%DLQ%{}", "t".repeat(251))).is_err());
    }

    #[test]
    fn an_accepted_group_can_retry_and_dead_letter() {
        for (chars, accepted) in [(119, true), (120, true), (121, false)] {
            let group = "g".repeat(chars);
            assert_eq!(check_group(&group).is_ok(), accepted, "{chars}");
            if accepted {
                assert_eq!(check_topic(&retry_topic(&group)), Ok(()));
                assert_eq!(check_topic(&dlq_topic(&group)), Ok(()));
            }
        }
    }

    #[test]
    fn the_group_of_a_retry_topic() {
        let check = |topic, expected| assert_eq!(group_of_retry_topic(topic), expected, "{topic}");
        check("%RETRY%g", Some("g"));
        check("%RETRY%g_topic", Some("g_topic"));
        check("%RETRY%g+topic", Some("g"));
        check("%RETRY%", Some(""));
        check("%DLQ%g", None);
        check("t", None);
    }
}
