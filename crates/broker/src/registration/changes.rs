//! What has changed since the name servers were told, and who waits until they are.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How long somebody waits at most until the name servers know what has changed: less than tools wait for an answer.
const TELL_TIMEOUT: Duration = Duration::from_secs(2);
/// With more changed topics than this, everything is told again.
const CHANGED_TOPICS_MAX: usize = 100;

/// What name servers haven't been told yet.
#[derive(Debug, Default)]
pub(crate) struct TopicChanges {
    pending: Mutex<Pending>,
    pub(super) wake: Notify,
    /// How many of the changes name servers have been told of, whatever they made of it; none before the first time.
    told: watch::Sender<Option<u64>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) topics: BTreeSet<String>,
    pub(super) everything: bool,
    /// How many changes there were since the start.
    pub(super) changes: u64,
}

impl TopicChanges {
    /// A topic is new or has changed.
    pub(crate) fn changed(&self, topic: &str) {
        let mut pending = self.pending.lock();
        pending.topics.insert(topic.to_owned());
        pending.everything |= pending.topics.len() > CHANGED_TOPICS_MAX;
        pending.changes += 1;
        drop(pending);
        self.wake.notify_one();
    }

    /// Something went, or changed for all topics.
    pub(crate) fn everything(&self) {
        let mut pending = self.pending.lock();
        pending.everything = true;
        pending.changes += 1;
        drop(pending);
        self.wake.notify_one();
    }

    pub(super) fn take(&self) -> Pending {
        let mut pending = self.pending.lock();
        let rest = Pending { changes: pending.changes, ..Pending::default() };
        std::mem::replace(&mut *pending, rest)
    }

    /// Every name server has answered to these many changes, or doesn't.
    pub(super) fn note_told(&self, changes: u64) {
        self.told.send_modify(|told| *told = Some(changes).max(*told));
    }

    /// Waits until name servers know of everything up to now, but not for long if they don't answer.
    pub(crate) async fn wait_told(&self) {
        let changes = self.pending.lock().changes;
        let mut told = self.told.subscribe();
        let waited = timeout(TELL_TIMEOUT, told.wait_for(|told| *told >= Some(changes))).await;
        if waited.is_err() {
            tracing::warn!(timeout = ?TELL_TIMEOUT, "name servers don't answer; nobody waits until they know of a change");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Waker};

    #[test]
    fn changes_are_taken_once() {
        let changes = TopicChanges::default();
        changes.changed("a");
        changes.changed("b");
        changes.changed("a");
        let expected = ["a".to_owned(), "b".to_owned()].into();
        assert_eq!(changes.take(), Pending { topics: expected, everything: false, changes: 3 });
        assert_eq!(changes.take(), Pending { changes: 3, ..Pending::default() });
        changes.everything();
        assert!(changes.take().everything);
    }

    fn is_waiting(wait: Pin<&mut impl Future<Output = ()>>) -> bool {
        wait.poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// Whoever had made a topic and asked a name server for it next was told that there is none.
    #[tokio::test]
    async fn who_waits_until_name_servers_know_waits_for_what_was_changed_before() {
        let changes = TopicChanges::default();
        let mut start = pin!(changes.wait_told());
        assert!(is_waiting(start.as_mut()));
        changes.note_told(0);
        start.await;
        changes.changed("a");
        let mut first = pin!(changes.wait_told());
        assert!(is_waiting(first.as_mut()));
        changes.changed("b");
        let mut second = pin!(changes.wait_told());
        assert!(is_waiting(second.as_mut()));
        changes.note_told(1);
        first.await;
        assert!(is_waiting(second.as_mut()));
        changes.note_told(2);
        second.await;
    }

    #[test]
    fn many_changes_are_told_as_everything() {
        let changes = TopicChanges::default();
        (0..=CHANGED_TOPICS_MAX).for_each(|topic| changes.changed(&topic.to_string()));
        assert!(changes.take().everything);
    }
}
