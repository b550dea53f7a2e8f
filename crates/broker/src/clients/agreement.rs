//! Whether the members of a consumer group subscribe to the same.
//!
//! They must: the queues are shared out among all members, so that a member that doesn't want a topic, or wants other
//! tags of it, lets those messages lie or passes over what another one wants. Clients start all the same, with the
//! Java server as with this one, and messages seem to be lost. So it is said where operators look.

use super::ConsumerGroup;
use super::member::{Channel, Member};
use foldhash::fast::FixedState;
use roxmq_protocol::subscription::SubscriptionData;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// Stands for what a member subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(pub(super) u64);

impl Digest {
    /// Neither the order of topics and tags nor the time of a subscription makes a difference.
    pub(super) fn of(subscriptions: &[SubscriptionData]) -> Self {
        let state = FixedState::default();
        let digest_of_one = |subscription: &SubscriptionData| {
            let mut hasher = state.build_hasher();
            subscription.topic.hash(&mut hasher);
            subscription.expression_type.hash(&mut hasher);
            if subscription.is_by_tags() {
                subscription.tags_set.hash(&mut hasher);
            } else {
                subscription.sub_string.hash(&mut hasher);
            }
            hasher.finish()
        };
        Digest(subscriptions.iter().map(digest_of_one).fold(1, u64::wrapping_add))
    }
}

/// A member that subscribes to something else than this one, if there is one.
pub(super) fn other_than<C: Channel>(group: &ConsumerGroup<C>, channel_id: u64) -> Option<&Arc<Member<C>>> {
    let own = group.members.get(channel_id)?.digest()?;
    group.members.iter().find(|member| member.digest().is_some_and(|digest| digest != own))
}

/// Whether all members subscribe to the same, as far as they have said.
pub(super) fn is_agreed<C: Channel>(group: &ConsumerGroup<C>) -> bool {
    let mut digests = group.members.iter().filter_map(|member| member.digest());
    let first = digests.next();
    digests.all(|digest| Some(digest) == first)
}

/// What a member subscribes to, for people to read: `T by TAG 'a || b'`.
pub(super) fn describe(subscriptions: &[SubscriptionData]) -> String {
    const SHOWN_MAX: usize = 8;
    let describe = |subscription: &SubscriptionData| {
        let SubscriptionData { topic, expression_type, sub_string, .. } = subscription;
        format!("{topic} by {expression_type} '{sub_string}'")
    };
    let mut described: Vec<String> = subscriptions.iter().take(SHOWN_MAX).map(describe).collect();
    if let Some(more) = subscriptions.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        described.push(format!("and {more} more"));
    }
    described.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(topic: &str, kind: &str, expression: &str, version: i64) -> SubscriptionData {
        SubscriptionData::parse(topic, expression, Some(kind), version).expect("good")
    }

    #[test]
    fn what_makes_a_difference() {
        let tags = |topic, expression, version| subscription(topic, "TAG", expression, version);
        let sql = |expression| subscription("T", "SQL92", expression, 1);
        let check = |left: &[SubscriptionData], right: &[SubscriptionData], same: bool| {
            assert_eq!(
                Digest::of(left) == Digest::of(right),
                same,
                "{} / {}",
                describe(left),
                describe(right)
            );
        };
        check(&[], &[], true);
        check(&[tags("T", "a || b", 1)], &[tags("T", "b||a", 2)], true);
        check(&[tags("T", "a", 1), tags("U", "*", 1)], &[tags("U", "", 1), tags("T", "a", 1)], true);
        check(&[tags("T", "a", 1)], &[tags("T", "b", 1)], false);
        check(&[tags("T", "a", 1)], &[tags("U", "a", 1)], false);
        check(&[tags("T", "a", 1)], &[tags("T", "*", 1)], false);
        check(&[tags("T", "a", 1)], &[tags("T", "a", 1), tags("U", "a", 1)], false);
        check(&[sql("a > 1")], &[sql("a > 1")], true);
        check(&[sql("a > 1")], &[sql("a > 2")], false);
        check(&[sql("a")], &[tags("T", "a", 1)], false);
    }

    #[test]
    fn subscriptions_in_words() {
        let many: Vec<_> = (0..10).map(|n| subscription(&format!("T{n}"), "TAG", "a", 1)).collect();
        assert_eq!(describe(&many[..2]), "T0 by TAG 'a', T1 by TAG 'a'");
        assert!(describe(&many).ends_with("T7 by TAG 'a', and 2 more"));
    }
}
