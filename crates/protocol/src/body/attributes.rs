//! Changes to the attributes of topics and groups: `+key=value,-key`.

use std::collections::BTreeMap;

/// Attributes by key, as they are kept.
pub type Attributes = BTreeMap<String, String>;

/// Key to new value, or to nothing for a key that goes away.
pub type AttributeChanges = BTreeMap<String, Option<String>>;

/// Why a change can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    #[error("add/alter attribute format is wrong: {0}")]
    AddWithoutSign(String),
    #[error("delete attribute format is wrong: {0}")]
    DeleteWithoutSign(String),
    #[error("key duplication: {0}")]
    Duplicate(String),
}

/// Reads the text of a request.
pub fn parse_changes(text: &str) -> Result<AttributeChanges, AttributeError> {
    let mut changes = AttributeChanges::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (key, value) = read_change(item)?;
        if changes.insert(key.to_owned(), value.map(str::to_owned)).is_some() {
            return Err(AttributeError::Duplicate(item.to_owned()));
        }
    }
    Ok(changes)
}

/// Reads changes that came as a map, whose keys have the signs.
pub fn changes_of(map: &Attributes) -> Result<AttributeChanges, AttributeError> {
    let mut changes = AttributeChanges::new();
    for (key, value) in map {
        let change = match (key.strip_prefix('+'), key.strip_prefix('-')) {
            (Some(key), _) => (key.to_owned(), Some(value.clone())),
            (_, Some(key)) => (key.to_owned(), None),
            _ => return Err(AttributeError::AddWithoutSign(key.clone())),
        };
        if changes.insert(change.0, change.1).is_some() {
            return Err(AttributeError::Duplicate(key.clone()));
        }
    }
    Ok(changes)
}

/// The attributes with the changes made.
pub fn apply(attributes: &Attributes, changes: &AttributeChanges) -> Attributes {
    let mut changed = attributes.clone();
    for (key, value) in changes {
        match value {
            Some(value) => changed.insert(key.clone(), value.clone()),
            None => changed.remove(key),
        };
    }
    changed
}

fn read_change(item: &str) -> Result<(&str, Option<&str>), AttributeError> {
    match item.split_once('=') {
        Some((key, value)) => match key.strip_prefix('+') {
            Some(name) => Ok((name, Some(value))),
            None => Err(AttributeError::AddWithoutSign(key.to_owned())),
        },
        None => match item.strip_prefix('-') {
            Some(name) => Ok((name, None)),
            None => Err(AttributeError::DeleteWithoutSign(item.to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        let changes = parse_changes("+message.type=FIFO,-reserve.time").expect("good");
        let expected =
            [("message.type".to_owned(), Some("FIFO".to_owned())), ("reserve.time".to_owned(), None)];
        assert_eq!(changes, AttributeChanges::from(expected));
        assert_eq!(parse_changes(""), Ok(AttributeChanges::new()));
        let map = Attributes::from([
            ("+message.type".to_owned(), "FIFO".to_owned()),
            ("-reserve.time".to_owned(), String::new()),
        ]);
        assert_eq!(changes_of(&map), Ok(changes));
    }

    #[test]
    fn what_has_no_sign_is_refused_in_javas_words() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse_changes(text).expect_err("bad").to_string(), expected);
        };
        check("message.type=FIFO", "add/alter attribute format is wrong: message.type");
        check("reserve.time", "delete attribute format is wrong: reserve.time");
        check("+a=1,+a=2", "key duplication: +a=2");
    }

    #[test]
    fn changes_are_made() {
        let attributes =
            Attributes::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
        let changed = apply(&attributes, &parse_changes("+a=3,-b,-c").expect("good"));
        assert_eq!(changed, Attributes::from([("a".to_owned(), "3".to_owned())]));
    }
}
