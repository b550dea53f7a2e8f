//! Which messages a consumer wants: all of a topic, those with some tags, or those whose properties an SQL92
//! expression is true for.
//!
//! A filter is made once, from a subscription, and then asked about every message: first by the queue entry, then, if
//! that isn't enough, by the record's properties where they lie. Whatever can't be made a filter of is refused; there
//! is no filter that passes everything because something went wrong.

mod bloom;
pub(crate) mod filter_file;
pub mod registered;
pub mod sql;
mod tags;

use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use registered::GroupFilters;
use roxmq_protocol::code::response;
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::subscription::{
    EXPRESSION_SQL92, EXPRESSION_TAG, SUB_ALL, SubscriptionData, SubscriptionError,
};
use roxmq_store::read::ReadFilter;
use sql::{SqlError, SqlExpression};
use std::sync::Arc;
use tags::TagCodes;

#[derive(Clone, Debug)]
pub enum MessageFilter {
    All,
    Tags(TagCodes),
    Sql(Arc<SqlExpression>),
    /// In a retry topic: the filters of the group for the topics that messages failed in.
    ByOrigin(Arc<GroupFilters>),
}

/// Why there is no filter for a subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    #[error("{EXPRESSION_SQL92}: {0}")]
    Sql(#[from] SqlError),
    #[error("the expression type '{0}' is unknown; TAG and SQL92 are known")]
    UnknownType(String),
}

impl From<FilterError> for Refusal {
    fn from(error: FilterError) -> Self {
        Refusal::new(
            response::SUBSCRIPTION_PARSE_FAILED,
            format!("parse the consumer's subscription failed: {error}"),
        )
    }
}

/// Refuses expressions other than tags where the configuration doesn't have them.
pub(crate) fn check_allowed(config: &BrokerConfig, expression_type: &str) -> Result<(), Refusal> {
    if config.enable_property_filter || expression_type == EXPRESSION_TAG {
        return Ok(());
    }
    Err(Refusal::failed(format!(
        "The broker does not support consumer to filter message by {expression_type} (enablePropertyFilter is false)"
    )))
}

impl MessageFilter {
    /// Makes the filter of a request that carries its own expression: tags, unless the type says otherwise.
    pub fn compile(expression_type: Option<&str>, expression: &str) -> Result<Self, FilterError> {
        let is_by_tags = expression_type.is_none_or(|kind| kind.is_empty() || kind == EXPRESSION_TAG);
        if is_by_tags && (expression.is_empty() || expression == SUB_ALL) {
            return Ok(MessageFilter::All);
        }
        MessageFilter::of(&SubscriptionData::parse("", expression, expression_type, 0)?)
    }

    pub fn of(subscription: &SubscriptionData) -> Result<Self, FilterError> {
        if subscription.is_by_tags() {
            if subscription.sub_string == SUB_ALL || subscription.class_filter_mode {
                return Ok(MessageFilter::All);
            }
            return Ok(MessageFilter::Tags(TagCodes::of(subscription)));
        }
        match subscription.expression_type.as_str() {
            EXPRESSION_SQL92 => {
                Ok(MessageFilter::Sql(Arc::new(SqlExpression::compile(&subscription.sub_string)?)))
            }
            unknown => Err(FilterError::UnknownType(unknown.to_owned())),
        }
    }
}

impl ReadFilter for MessageFilter {
    fn may_match(&self, tags_code: i64) -> bool {
        match self {
            MessageFilter::All | MessageFilter::Sql(_) | MessageFilter::ByOrigin(_) => true,
            MessageFilter::Tags(codes) => codes.contains(tags_code),
        }
    }

    fn looks_into_records(&self) -> bool {
        matches!(self, MessageFilter::Sql(_) | MessageFilter::ByOrigin(_))
    }

    fn matches(&self, properties: &[u8]) -> bool {
        match self {
            MessageFilter::All | MessageFilter::Tags(_) => true,
            MessageFilter::Sql(expression) => expression.matches(properties),
            MessageFilter::ByOrigin(filters) => matches_by_origin(filters, properties),
        }
    }
}

/// The group has no SQL92 filter for a topic whose messages it wants by tags.
fn matches_by_origin(filters: &GroupFilters, properties: &[u8]) -> bool {
    let origin = Properties::new(properties).get(name::RETRY_TOPIC);
    let Some(filter) = origin.and_then(|topic| filters.get(topic)) else { return true };
    filter.compiled.as_ref().is_ok_and(|expression| expression.matches(properties))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::java_hash;

    #[test]
    fn tags_pass_by_their_hash() {
        let check = |expression: &str, tags: &str, expected: bool| {
            let filter = MessageFilter::compile(None, expression).expect("tags");
            assert_eq!(filter.may_match(java_hash::tags_code(tags)), expected, "{expression} on {tags}");
        };
        check("*", "a", true);
        check("", "a", true);
        check("a || b", "b", true);
        check("a || b", "c", false);
        check("a", "", false);
        // Two tags with one hash.
        check("Aa", "BB", true);
    }

    #[test]
    fn subscriptions_become_filters_or_are_refused() {
        let check = |kind: Option<&str>, expression: &str, expected: Result<&str, &str>| {
            let found = match MessageFilter::compile(kind, expression) {
                Ok(MessageFilter::All) => "all",
                Ok(MessageFilter::Tags(_)) => "tags",
                Ok(MessageFilter::Sql(_)) => "sql",
                Ok(MessageFilter::ByOrigin(_)) => "by origin",
                Err(error) => {
                    let refusal = Refusal::from(error);
                    assert_eq!(refusal.code, response::SUBSCRIPTION_PARSE_FAILED);
                    let words = expected.expect_err(expression);
                    return assert!(refusal.remark.contains(words), "{expression}: {refusal}");
                }
            };
            assert_eq!(Ok(found), expected, "{expression}");
        };
        check(None, "", Ok("all"));
        check(Some("TAG"), "*", Ok("all"));
        check(Some(""), "a || b", Ok("tags"));
        check(None, "||", Err("has separators and no tag"));
        check(Some("SQL92"), "a > 1", Ok("sql"));
        check(Some("SQL92"), " ", Err("is empty"));
        check(Some("SQL92"), "*", Err("SQL92: expected a property"));
        check(Some("SQL92"), "a >", Err("character 4 (the end of the expression)"));
        check(Some("XPATH"), "a", Err("'XPATH' is unknown; TAG and SQL92 are known"));
    }

    #[test]
    fn failed_messages_pass_by_the_filter_of_their_topic() {
        let filters = registered::RegisteredFilters::default();
        let subscriptions = [
            SubscriptionData::parse("T", "a > 1", Some(EXPRESSION_SQL92), 1).expect("SQL92"),
            SubscriptionData::parse("Wrong", "a >", Some(EXPRESSION_SQL92), 1).expect("not empty"),
        ];
        filters.announce("g", &subscriptions, roxmq_store::Millis(1));
        let filter = filters.by_origin("g");
        assert!(filter.may_match(0) && filter.looks_into_records());
        let check = |properties: &str, expected: bool| {
            let encoded = properties.replace('=', "\u{1}").replace(';', "\u{2}");
            assert_eq!(filter.matches(encoded.as_bytes()), expected, "{properties}");
        };
        check("RETRY_TOPIC=T;a=2;", true);
        check("RETRY_TOPIC=T;a=1;", false);
        check("RETRY_TOPIC=Wrong;a=2;", false);
        check("RETRY_TOPIC=ByTags;", true);
        check("a=1;", true);
    }
}
