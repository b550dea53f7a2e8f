//! The attributes that a topic may have, and how they may change.

use crate::refusal::Refusal;
use crate::topics::attributes::{self, MESSAGE_TYPE};
use roxmq_protocol::body::attributes::{AttributeChanges, Attributes, apply};

const MIXED: &str = "MIXED";

struct Known {
    key: &'static str,
    changeable: bool,
    values: Values,
}

enum Values {
    OneOf(&'static [&'static str]),
    /// A number of at least this.
    From(i64),
}

const KNOWN: &[Known] = &[
    Known { key: attributes::QUEUE_TYPE, changeable: false, values: Values::OneOf(&["SimpleCQ", "BatchCQ"]) },
    Known { key: "cleanup.policy", changeable: false, values: Values::OneOf(&["DELETE", "COMPACTION"]) },
    Known {
        key: MESSAGE_TYPE,
        changeable: true,
        values: Values::OneOf(&[
            "UNSPECIFIED",
            "NORMAL",
            "FIFO",
            "DELAY",
            "TRANSACTION",
            "MIXED",
            "PRIORITY",
            "LITE",
        ]),
    },
    Known { key: attributes::RESERVE_TIME, changeable: true, values: Values::From(-1) },
    Known { key: attributes::LITE_EXPIRATION, changeable: true, values: Values::From(-1) },
];

/// The attributes after a change. `current` is nothing for a topic that is being made.
pub(super) fn change(
    current: Option<&Attributes>,
    changes: &AttributeChanges,
    mixed_allowed: bool,
) -> Result<Attributes, Refusal> {
    if !mixed_allowed && changes.get(MESSAGE_TYPE) == Some(&Some(MIXED.to_owned())) {
        return Err(Refusal::invalid(
            "MIXED message type is not supported. (enableMixedMessageType is false)",
        ));
    }
    for (key, value) in changes {
        check(current, key, value.as_deref()).map_err(Refusal::failed)?;
    }
    Ok(apply(current.unwrap_or(&Attributes::new()), changes))
}

fn check(current: Option<&Attributes>, key: &str, value: Option<&str>) -> Result<(), String> {
    let Some(known) = KNOWN.iter().find(|known| known.key == key) else {
        return Err(format!("unsupported key: {key}"));
    };
    match (current, value) {
        (None, None) => {
            return Err(format!("only add attribute is supported while creating topic. key: {key}"));
        }
        (Some(current), None) if !current.contains_key(key) => {
            return Err(format!("attempt to delete a nonexistent key: {key}"));
        }
        (Some(_), _) if !known.changeable => {
            return Err(format!("attempt to update an unchangeable attribute. key: {key}"));
        }
        _ => {}
    }
    match (&known.values, value) {
        (Values::OneOf(allowed), Some(value)) if !allowed.contains(&value) => {
            Err(format!("value is not in set: {allowed:?}, but {key} is '{value}'"))
        }
        (Values::From(least), Some(value)) if value.parse::<i64>().is_ok_and(|number| number >= *least) => {
            Ok(())
        }
        (Values::From(least), Some(value)) => {
            Err(format!("{key} should be a number of at least {least} but is '{value}'"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::body::attributes::parse_changes;
    use roxmq_protocol::code::response;

    fn changed(current: Option<&str>, changes: &str) -> Result<Attributes, Refusal> {
        let current =
            current.map(|text| apply(&Attributes::new(), &parse_changes(text).expect("attributes")));
        change(current.as_ref(), &parse_changes(changes).expect("changes"), false)
    }

    #[test]
    fn known_attributes_are_set_and_changed() {
        let check = |current, changes, expected: &[(&str, &str)]| {
            let expected =
                expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            assert_eq!(changed(current, changes), Ok(expected), "{changes}");
        };
        check(None, "+message.type=FIFO", &[("message.type", "FIFO")]);
        check(
            None,
            "+queue.type=BatchCQ,+cleanup.policy=DELETE",
            &[("cleanup.policy", "DELETE"), ("queue.type", "BatchCQ")],
        );
        check(Some("+message.type=FIFO"), "+message.type=DELAY", &[("message.type", "DELAY")]);
        check(Some("+message.type=FIFO"), "-message.type", &[]);
        check(Some("+message.type=FIFO"), "", &[("message.type", "FIFO")]);
    }

    #[test]
    fn other_changes_are_refused() {
        let check = |current, changes, code, expected: &str| {
            let refusal = changed(current, changes).expect_err(changes);
            assert_eq!(refusal.code, code, "{refusal}");
            assert!(refusal.remark.contains(expected), "{refusal}");
        };
        check(None, "+foo=1", response::SYSTEM_ERROR, "unsupported key: foo");
        check(None, "+message.type=X", response::SYSTEM_ERROR, "message.type is 'X'");
        check(None, "+reserve.time=-2", response::SYSTEM_ERROR, "at least -1");
        check(None, "-message.type", response::SYSTEM_ERROR, "only add attribute");
        check(Some(""), "-message.type", response::SYSTEM_ERROR, "nonexistent key: message.type");
        check(Some("+queue.type=SimpleCQ"), "+queue.type=BatchCQ", response::SYSTEM_ERROR, "unchangeable");
        check(
            None,
            "+message.type=MIXED",
            response::INVALID_PARAMETER,
            "MIXED message type is not supported.",
        );
    }
}
