//! Filters by tags, which need only the queue entry.

use roxmq_protocol::subscription::SubscriptionData;
use smallvec::SmallVec;

/// By the hash of the tag. Another tag with the same hash passes too; the client looks at the tag itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCodes(SmallVec<[i32; 4]>);

impl TagCodes {
    pub(super) fn of(subscription: &SubscriptionData) -> Self {
        TagCodes(subscription.code_set.iter().copied().collect())
    }

    pub fn contains(&self, tags_code: i64) -> bool {
        i32::try_from(tags_code).is_ok_and(|code| self.0.contains(&code))
    }
}
