//! Which messages a consumer wants: all of a topic, those with some tags, or those whose properties an SQL92
//! expression is true for.
//!
//! A filter is made once, from a subscription, and then asked about every message: first by the queue entry, then, if
//! that isn't enough, by the record's properties where they lie. Whatever can't be made a filter of is refused; there
//! is no filter that passes everything because something went wrong.

mod tags;

use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::subscription::{EXPRESSION_SQL92, SUB_ALL, SubscriptionData, SubscriptionError};
use roxmq_store::read::ReadFilter;
use tags::TagCodes;

#[derive(Clone, Debug)]
pub enum MessageFilter {
    All,
    Tags(TagCodes),
}

/// Why there is no filter for a subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
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

impl MessageFilter {
    /// Makes the filter of a request that carries its own expression: tags, unless the type says otherwise.
    pub fn compile(expression_type: Option<&str>, expression: &str) -> Result<Self, FilterError> {
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
            EXPRESSION_SQL92 => Err(FilterError::UnknownType(EXPRESSION_SQL92.to_owned())),
            unknown => Err(FilterError::UnknownType(unknown.to_owned())),
        }
    }
}

impl ReadFilter for MessageFilter {
    fn may_match(&self, tags_code: i64) -> bool {
        match self {
            MessageFilter::All => true,
            MessageFilter::Tags(codes) => codes.contains(tags_code),
        }
    }

    fn looks_into_records(&self) -> bool {
        false
    }

    fn matches(&self, _properties: &[u8]) -> bool {
        true
    }
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
}
