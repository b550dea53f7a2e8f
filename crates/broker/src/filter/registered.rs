//! The SQL92 filters of consumer groups, as their members' heartbeats bring them.
//!
//! A filter is compiled when it is announced and kept until its group has been gone for long, so that it is ready when
//! the group comes back. One that doesn't compile is kept as the error that it is: nobody gets messages by it.

use super::sql::{SqlError, SqlExpression};
use super::{FilterError, MessageFilter};
use foldhash::HashMap;
use parking_lot::RwLock;
use roxmq_protocol::subscription::{EXPRESSION_SQL92, SubscriptionData};
use roxmq_store::Millis;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the filters of all groups may take: their texts and [`FILTER_BYTES`] for each.
const ALL_BYTES_MAX: usize = 16 << 20;
/// What a filter counts for besides its text.
const FILTER_BYTES: usize = 512;

/// A group's filter for a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredFilter {
    pub text: Arc<str>,
    pub compiled: Result<Arc<SqlExpression>, SqlError>,
    /// When the members made the subscription. Of two the newer counts.
    pub version: i64,
    pub born: Millis,
    /// Since when no member has it.
    pub dead: Option<Millis>,
}

/// The filters of a group by topic. Readers keep what they got; a change makes a copy.
pub type GroupFilters = BTreeMap<String, Arc<RegisteredFilter>>;
/// Of all groups, by name.
pub(super) type AllFilters = HashMap<String, Arc<GroupFilters>>;

#[derive(Debug, Default)]
pub struct RegisteredFilters {
    table: RwLock<Table>,
    /// Something changed that the file doesn't have.
    changed: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    groups: AllFilters,
    bytes: usize,
}

impl RegisteredFilters {
    pub fn get(&self, group: &str, topic: &str) -> Option<Arc<RegisteredFilter>> {
        self.table.read().groups.get(group)?.get(topic).cloned()
    }

    /// The filter of a request that carries its own expression. An expression that heartbeats brought is compiled
    /// already.
    pub fn filter(
        &self,
        group: &str,
        topic: &str,
        expression_type: Option<&str>,
        expression: &str,
    ) -> Result<MessageFilter, FilterError> {
        if expression_type == Some(EXPRESSION_SQL92)
            && let Some(registered) = self.get(group, topic)
            && *registered.text == *expression
        {
            return Ok(MessageFilter::Sql(registered.compiled.clone()?));
        }
        MessageFilter::compile(expression_type, expression)
    }

    /// For messages of the group's retry topic: each by the filter of the topic that it failed in.
    pub fn by_origin(&self, group: &str) -> MessageFilter {
        MessageFilter::ByOrigin(self.table.read().groups.get(group).cloned().unwrap_or_default())
    }

    /// Takes all subscriptions of a member's heartbeat.
    pub fn announce(&self, group: &str, subscriptions: &[SubscriptionData], now: Millis) {
        let by_sql: Vec<_> = subscriptions
            .iter()
            .filter(|subscription| subscription.expression_type == EXPRESSION_SQL92)
            .collect();
        // Most groups have no such filter, and of the others most heartbeats bring nothing new.
        if self.table.read().is_as_announced(group, &by_sql) {
            return;
        }
        let mut table = self.table.write();
        for subscription in &by_sql {
            table.announce(group, subscription, now);
        }
        table.kill(group, now, |topic| !by_sql.iter().any(|subscription| subscription.topic == *topic));
        self.changed.store(true, Ordering::Relaxed);
    }

    /// The group has no member any more.
    pub fn group_left(&self, group: &str, now: Millis) {
        if self.table.read().groups.contains_key(group) {
            self.table.write().kill(group, now, |_| true);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Forgets the filters that no member has had for this long.
    pub fn forget_dead(&self, now: Millis, keep_ms: u64) {
        if self.table.write().forget_dead(now, keep_ms) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Everything, if it changed since it was asked for last.
    pub(super) fn take_changed(&self) -> Option<AllFilters> {
        self.changed.swap(false, Ordering::Relaxed).then(|| self.table.read().groups.clone())
    }

    /// What was taken didn't get where it should.
    pub(super) fn put_back(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Starts with the filters of a file.
    pub(super) fn restore(&self, groups: AllFilters) {
        let bytes =
            groups.values().flat_map(|filters| filters.values()).map(|filter| bytes(&filter.text)).sum();
        *self.table.write() = Table { groups, bytes };
    }
}

fn bytes(text: &str) -> usize {
    text.len() + FILTER_BYTES
}

impl RegisteredFilter {
    fn is(&self, subscription: &SubscriptionData) -> bool {
        self.dead.is_none()
            && (self.version > subscription.sub_version
                || (self.version == subscription.sub_version && *self.text == subscription.sub_string))
    }
}

impl Table {
    /// Whether the group's living filters are those of its member's heartbeat already.
    fn is_as_announced(&self, group: &str, by_sql: &[&SubscriptionData]) -> bool {
        let Some(filters) = self.groups.get(group) else { return by_sql.is_empty() };
        let is_known = |subscription: &&SubscriptionData| {
            filters.get(&subscription.topic).is_some_and(|filter| filter.is(subscription))
        };
        let living = filters.values().filter(|filter| filter.dead.is_none()).count();
        living == by_sql.len() && by_sql.iter().all(is_known)
    }

    fn announce(&mut self, group: &str, subscription: &SubscriptionData, now: Millis) {
        let SubscriptionData { topic, sub_string: text, sub_version: version, .. } = subscription;
        let known = self.groups.get(group).and_then(|filters| filters.get(topic));
        let same = known.filter(|known| *known.text == **text);
        match (known, same) {
            (Some(known), None) if known.version >= *version => return,
            (_, Some(same)) if same.version > *version => return,
            _ => {}
        }
        let filter = match same {
            Some(same) => RegisteredFilter { version: *version, dead: None, ..RegisteredFilter::clone(same) },
            None => RegisteredFilter {
                text: text.as_str().into(),
                compiled: compile(group, topic, text),
                version: *version,
                born: now,
                dead: None,
            },
        };
        self.insert(group, topic, filter, now);
    }

    fn insert(&mut self, group: &str, topic: &str, filter: RegisteredFilter, now: Millis) {
        self.remove(group, topic);
        let needed = bytes(&filter.text);
        if self.bytes + needed > ALL_BYTES_MAX {
            self.forget_dead(now, 0);
        }
        if self.bytes + needed > ALL_BYTES_MAX {
            tracing::warn!(group, topic, limit = ALL_BYTES_MAX, "there is no room for another SQL92 filter");
            return;
        }
        self.bytes += needed;
        let filters = Arc::make_mut(self.groups.entry(group.to_owned()).or_default());
        filters.insert(topic.to_owned(), Arc::new(filter));
    }

    fn remove(&mut self, group: &str, topic: &str) {
        let Some(filters) = self.groups.get_mut(group) else { return };
        if let Some(removed) = Arc::make_mut(filters).remove(topic) {
            self.bytes -= bytes(&removed.text);
        }
    }

    /// Notes that no member has the filters of these topics any more.
    fn kill(&mut self, group: &str, now: Millis, of: impl Fn(&String) -> bool) {
        let Some(filters) = self.groups.get_mut(group) else { return };
        for (topic, filter) in Arc::make_mut(filters) {
            if filter.dead.is_none() && of(topic) {
                Arc::make_mut(filter).dead = Some(now);
            }
        }
    }

    /// True if there were any.
    fn forget_dead(&mut self, now: Millis, keep_ms: u64) -> bool {
        let keep_ms = i64::try_from(keep_ms).unwrap_or(i64::MAX);
        let is_due = |filter: &RegisteredFilter| {
            filter.dead.is_some_and(|dead| now.0.saturating_sub(dead.0) >= keep_ms)
        };
        let before = self.bytes;
        self.groups.retain(|_, filters| {
            let due: usize =
                filters.values().filter(|filter| is_due(filter)).map(|filter| bytes(&filter.text)).sum();
            if due > 0 {
                self.bytes -= due;
                Arc::make_mut(filters).retain(|_, filter| !is_due(filter));
            }
            !filters.is_empty()
        });
        self.bytes < before
    }
}

fn compile(group: &str, topic: &str, text: &str) -> Result<Arc<SqlExpression>, SqlError> {
    let compiled = SqlExpression::compile(text);
    match &compiled {
        Ok(_) => tracing::info!(group, topic, expression = text, "a consumer group has a new SQL92 filter"),
        Err(error) => {
            tracing::warn!(group, topic, expression = text, %error, "the SQL92 filter of a consumer group is wrong");
        }
    }
    compiled.map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(topic: &str, text: &str, version: i64) -> SubscriptionData {
        SubscriptionData::parse(topic, text, Some(EXPRESSION_SQL92), version).expect("not empty")
    }

    /// Text, version, death.
    fn seen(filters: &RegisteredFilters, topic: &str) -> Option<(String, i64, Option<i64>)> {
        let filter = filters.get("g", topic)?;
        Some((filter.text.to_string(), filter.version, filter.dead.map(|dead| dead.0)))
    }

    #[test]
    fn the_newest_version_counts() {
        let filters = RegisteredFilters::default();
        let check = |text: &str, version: i64, expected: (&str, i64)| {
            filters.announce("g", &[subscription("t", text, version)], Millis(1));
            let (text, version) = expected;
            assert_eq!(seen(&filters, "t"), Some((text.to_owned(), version, None)));
        };
        check("a > 1", 10, ("a > 1", 10));
        check("a > 2", 10, ("a > 1", 10));
        check("a > 2", 9, ("a > 1", 10));
        check("a > 1", 11, ("a > 1", 11));
        check("a > 2", 12, ("a > 2", 12));
        check("a >", 13, ("a >", 13));
        assert!(filters.get("g", "t").expect("there").compiled.is_err());
        check("a > 3", 14, ("a > 3", 14));
        assert!(filters.get("g", "t").expect("there").compiled.is_ok());
    }

    #[test]
    fn filters_die_with_their_subscriptions_and_come_back_with_them() {
        let filters = RegisteredFilters::default();
        let (one, two) = (subscription("t1", "a > 1", 5), subscription("t2", "b > 1", 5));
        filters.announce("g", &[one.clone(), two.clone()], Millis(10));
        assert!(filters.take_changed().is_some());
        filters.announce("g", &[two.clone(), one.clone()], Millis(20));
        assert!(filters.take_changed().is_none());
        filters.announce("g", std::slice::from_ref(&two), Millis(30));
        assert_eq!(seen(&filters, "t1"), Some(("a > 1".to_owned(), 5, Some(30))));
        filters.announce("g", &[one, two], Millis(40));
        assert_eq!(seen(&filters, "t1"), Some(("a > 1".to_owned(), 5, None)));
        assert!(filters.take_changed().is_some());

        filters.group_left("g", Millis(50));
        assert_eq!(seen(&filters, "t2"), Some(("b > 1".to_owned(), 5, Some(50))));
        filters.forget_dead(Millis(149), 100);
        assert!(seen(&filters, "t2").is_some());
        filters.forget_dead(Millis(150), 100);
        assert_eq!(seen(&filters, "t2"), None);
        assert!(filters.table.read().groups.is_empty());
        assert_eq!(filters.table.read().bytes, 0);
    }

    #[test]
    fn groups_without_such_filters_leave_no_trace() {
        let filters = RegisteredFilters::default();
        let tags = SubscriptionData::parse("t", "a || b", None, 1).expect("tags");
        filters.announce("g", std::slice::from_ref(&tags), Millis(1));
        assert!(filters.take_changed().is_none());
        // A group that changes to tags has no filter of this kind any more.
        filters.announce("g", &[subscription("t", "a > 1", 1)], Millis(1));
        filters.announce("g", &[tags], Millis(2));
        assert_eq!(seen(&filters, "t"), Some(("a > 1".to_owned(), 1, Some(2))));
    }

    #[test]
    fn they_have_a_limit_and_the_dead_make_room() {
        let filters = RegisteredFilters::default();
        let text = format!("a IN ('{}')", "x".repeat(60 << 10));
        let many: Vec<_> = (0..300).map(|n| subscription(&format!("t{n}"), &text, 1)).collect();
        filters.announce("g", &many, Millis(1));
        let table_bytes = || filters.table.read().bytes;
        assert!((ALL_BYTES_MAX - (70 << 10)..=ALL_BYTES_MAX).contains(&table_bytes()));
        assert_eq!(seen(&filters, "t299"), None);
        filters.group_left("g", Millis(2));
        filters.announce("h", &[subscription("t", &text, 1)], Millis(3));
        assert!(filters.get("h", "t").is_some());
        assert!(table_bytes() < 100 << 10);
    }
}
