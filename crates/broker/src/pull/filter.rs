//! Which messages a pull wants, as far as their queue entries tell.

use roxmq_protocol::subscription::{SUB_ALL, SubscriptionData};
use roxmq_store::read::EntryFilter;
use smallvec::SmallVec;

/// By the hash of the tag. Another tag with the same hash passes too; the client looks at the tag itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TagFilter {
    All,
    Codes(SmallVec<[i32; 4]>),
}

impl TagFilter {
    pub(super) fn of(subscription: &SubscriptionData) -> Self {
        if subscription.sub_string == SUB_ALL || subscription.class_filter_mode {
            return TagFilter::All;
        }
        TagFilter::Codes(subscription.code_set.iter().copied().collect())
    }
}

impl EntryFilter for TagFilter {
    fn matches(&self, tags_code: i64) -> bool {
        match self {
            TagFilter::All => true,
            TagFilter::Codes(codes) => i32::try_from(tags_code).is_ok_and(|code| codes.contains(&code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::java_hash;

    #[test]
    fn tags_pass_by_their_hash() {
        let check = |expression: &str, tags: &str, expected: bool| {
            let subscription = SubscriptionData::parse("T", expression, None, 0).expect("tags");
            let matches = TagFilter::of(&subscription).matches(java_hash::tags_code(tags));
            assert_eq!(matches, expected, "{expression} on {tags}");
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
