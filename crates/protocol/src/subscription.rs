//! What a consumer group wants of a topic: tags, or an expression in another language.

use crate::java_hash::hash;
use crate::json::{Fields, FromJson, JsonError, ToJson, Value, Writer};
use crate::properties::name::TAG_SEPARATOR;
use std::collections::BTreeSet;

/// The subscription to everything.
pub const SUB_ALL: &str = "*";
/// The type of expressions that are tags.
pub const EXPRESSION_TAG: &str = "TAG";
/// The type of expressions over properties.
pub const EXPRESSION_SQL92: &str = "SQL92";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionData {
    pub topic: String,
    pub sub_string: String,
    pub tags_set: BTreeSet<String>,
    /// Hashes of the tags.
    pub code_set: BTreeSet<i32>,
    /// When the subscription was made: newer ones replace older ones.
    pub sub_version: i64,
    /// [`EXPRESSION_TAG`] or [`EXPRESSION_SQL92`].
    pub expression_type: String,
    pub class_filter_mode: bool,
}

/// Why a subscription can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionError {
    #[error("the subscription '{0}' has separators and no tag")]
    NoTag(String),
    #[error("the expression of type {0} is empty")]
    EmptyExpression(String),
}

impl SubscriptionData {
    /// Reads a subscription as a request carries it: tags, unless the type says otherwise.
    pub fn parse(
        topic: &str,
        expression: &str,
        expression_type: Option<&str>,
        sub_version: i64,
    ) -> Result<Self, SubscriptionError> {
        let expression_type = expression_type.filter(|kind| !kind.is_empty()).unwrap_or(EXPRESSION_TAG);
        let mut subscription = SubscriptionData {
            topic: topic.to_owned(),
            sub_string: expression.to_owned(),
            expression_type: expression_type.to_owned(),
            sub_version,
            ..SubscriptionData::default()
        };
        if !subscription.is_by_tags() {
            if expression.trim().is_empty() {
                return Err(SubscriptionError::EmptyExpression(expression_type.to_owned()));
            }
            return Ok(subscription);
        }
        if expression.is_empty() || expression == SUB_ALL {
            subscription.sub_string = SUB_ALL.to_owned();
            return Ok(subscription);
        }
        subscription.tags_set = tags(expression).map(str::to_owned).collect();
        subscription.code_set = tags(expression).map(hash).collect();
        if subscription.tags_set.is_empty() && expression.replace(TAG_SEPARATOR, "").is_empty() {
            return Err(SubscriptionError::NoTag(expression.to_owned()));
        }
        Ok(subscription)
    }

    pub fn is_by_tags(&self) -> bool {
        self.expression_type == EXPRESSION_TAG
    }

    /// Whether a queue entry's tags code passes. Only the hash is looked at: the consumer compares the tags
    /// themselves. Subscriptions other than by tags pass everything here.
    pub fn matches_tags_code(&self, tags_code: i64) -> bool {
        if !self.is_by_tags() || self.class_filter_mode || self.sub_string == SUB_ALL {
            return true;
        }
        i32::try_from(tags_code).is_ok_and(|code| self.code_set.contains(&code))
    }
}

fn tags(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(TAG_SEPARATOR).map(str::trim).filter(|tag| !tag.is_empty())
}

impl ToJson for SubscriptionData {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            writer.field("classFilterMode", &self.class_filter_mode);
            writer.field("codeSet", &self.code_set);
            writer.field("expressionType", &self.expression_type);
            writer.field("subString", &self.sub_string);
            writer.field("subVersion", &self.sub_version);
            writer.field("tagsSet", &self.tags_set);
            writer.field("topic", &self.topic);
        });
    }
}

impl FromJson for SubscriptionData {
    /// As a heartbeat carries it. Where a client leaves out the codes they come from its tags, and where it leaves
    /// out the tags, too, these come from the expression.
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let mut subscription = SubscriptionData {
            topic: value.need("topic")?,
            sub_string: value.field_or_default("subString")?,
            tags_set: value.field_or_default("tagsSet")?,
            code_set: value.field_or_default("codeSet")?,
            sub_version: value.field_or_default("subVersion")?,
            expression_type: value.field_or("expressionType", EXPRESSION_TAG.to_owned())?,
            class_filter_mode: value.field_or_default("classFilterMode")?,
        };
        if subscription.sub_string.is_empty() {
            subscription.sub_string = SUB_ALL.to_owned();
        }
        if subscription.is_by_tags() && subscription.sub_string != SUB_ALL {
            if subscription.tags_set.is_empty() && subscription.code_set.is_empty() {
                subscription.tags_set = tags(&subscription.sub_string).map(str::to_owned).collect();
            }
            if subscription.code_set.is_empty() {
                subscription.code_set = subscription.tags_set.iter().map(|tag| hash(tag)).collect();
            }
        }
        Ok(subscription)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_split_and_hashed() {
        let check = |expression: &str, codes: &[i32]| {
            let subscription = SubscriptionData::parse("T", expression, None, 0).expect("tags");
            assert_eq!(subscription.code_set.into_iter().collect::<Vec<_>>(), codes, "{expression}");
        };
        check("TagA || TagB", &[2_598_919, 2_598_920]);
        check("TagA||TagA|| ", &[2_598_919]);
        check("*", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_no_subscription_is_refused() {
        let parse = |expression, kind| SubscriptionData::parse("T", expression, kind, 0);
        assert_eq!(parse("||", None), Err(SubscriptionError::NoTag("||".to_owned())));
        assert_eq!(parse(" ", Some("SQL92")), Err(SubscriptionError::EmptyExpression("SQL92".to_owned())));
        assert!(parse("a > 1", Some("SQL92")).is_ok());
    }

    #[test]
    fn tags_codes_pass_by_their_hash() {
        let check = |expression: &str, kind, tags: &str, expected: bool| {
            let subscription = SubscriptionData::parse("T", expression, kind, 0).expect("good");
            let code = crate::java_hash::tags_code(tags);
            assert_eq!(subscription.matches_tags_code(code), expected, "{expression} {tags}");
        };
        check("TagA || TagB", None, "TagB", true);
        check("TagA || TagB", None, "TagC", false);
        check("TagA", None, "", false);
        check("*", None, "TagC", true);
        check("", None, "TagC", true);
        check("a > 1", Some("SQL92"), "TagC", true);
        let subscription = SubscriptionData::parse("T", "TagA", None, 0).expect("good");
        assert!(!subscription.matches_tags_code(i64::MIN));
    }

    #[test]
    fn heartbeats_carry_them_leniently() {
        let check = |text: &str, expression: &str| {
            let expected = SubscriptionData::parse("T", expression, None, 17).expect("tags");
            assert_eq!(SubscriptionData::from_json_bytes(text.as_bytes()), Ok(expected.clone()), "{text}");
            assert_eq!(SubscriptionData::from_json_bytes(&expected.to_json()), Ok(expected));
        };
        check(r#"{"topic":"T","subString":"A","tagsSet":["A"],"codeSet":["65"],"subVersion":"17"}"#, "A");
        check(r#"{"topic":"T","subString":"A","tagsSet":["A"],"codeSet":null,"subVersion":17}"#, "A");
        check(
            r#"{"topic":"T","subString":"A||B","tagsSet":null,"subVersion":17,"expressionType":"TAG"}"#,
            "A||B",
        );
        check(r#"{"topic":"T","subVersion":17}"#, "*");
    }
}
