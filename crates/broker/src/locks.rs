//! Which client of a group reads which queue in order.
//!
//! An orderly consumer locks its queues here before it reads them, and again every 20 s. The locks are a promise
//! between the clients of a group: nothing stops a client without a lock from pulling, and a restart forgets them
//! all. A queue never has two owners whose locks are both alive.

use foldhash::HashMap;
use parking_lot::Mutex;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_store::Millis;
use std::collections::BTreeSet;

/// How long a lock lives that its owner doesn't refresh.
const LOCK_LIFETIME_MS: i64 = 60_000;

#[derive(Debug, Default)]
pub struct QueueLocks {
    groups: Mutex<HashMap<String, HashMap<MessageQueue, Lock>>>,
}

#[derive(Debug)]
struct Lock {
    client_id: String,
    refreshed: Millis,
}

impl Lock {
    fn is_alive(&self, now: Millis) -> bool {
        now.0 - self.refreshed.0 <= LOCK_LIFETIME_MS
    }
}

impl QueueLocks {
    /// Takes or refreshes the locks that are to be had, and gives the queues that the client now owns.
    pub fn lock(
        &self,
        group: &str,
        client_id: &str,
        queues: impl IntoIterator<Item = MessageQueue>,
        now: Millis,
    ) -> Vec<MessageQueue> {
        let mut groups = self.groups.lock();
        let locks = match groups.get_mut(group) {
            Some(locks) => locks,
            None => groups.entry(group.to_owned()).or_default(),
        };
        let owned = queues.into_iter().filter(|queue| take(locks, queue, client_id, now)).collect();
        if locks.is_empty() {
            groups.remove(group);
        }
        owned
    }

    /// Gives up the locks that the client owns; those of others stay.
    pub fn unlock(&self, group: &str, client_id: &str, queues: &BTreeSet<MessageQueue>) {
        let mut groups = self.groups.lock();
        let Some(locks) = groups.get_mut(group) else {
            return;
        };
        for queue in queues {
            if locks.get(queue).is_some_and(|lock| lock.client_id == client_id) {
                locks.remove(queue);
            }
        }
        if locks.is_empty() {
            groups.remove(group);
        }
    }

    /// Whether somebody reads in order for this group. Its failed messages then never wait for another try.
    pub fn any_live(&self, group: &str, now: Millis) -> bool {
        let groups = self.groups.lock();
        groups.get(group).is_some_and(|locks| locks.values().any(|lock| lock.is_alive(now)))
    }

    /// Forgets the queues of a topic that is gone.
    pub(crate) fn remove_topic(&self, topic: &str) {
        self.groups.lock().retain(|_, locks| {
            locks.retain(|queue, _| queue.topic != topic);
            !locks.is_empty()
        });
    }

    /// Forgets a group that is gone.
    pub(crate) fn remove_group(&self, group: &str) {
        self.groups.lock().remove(group);
    }

    /// Drops dead locks, so that the table holds no more than clients have asked for lately.
    pub fn expire(&self, now: Millis) {
        self.groups.lock().retain(|_, locks| {
            locks.retain(|_, lock| lock.is_alive(now));
            !locks.is_empty()
        });
    }
}

/// Whether the client owns the queue after this.
fn take(locks: &mut HashMap<MessageQueue, Lock>, queue: &MessageQueue, client_id: &str, now: Millis) -> bool {
    match locks.get_mut(queue) {
        Some(lock) if lock.client_id == client_id => lock.refreshed = now,
        Some(lock) if lock.is_alive(now) => return false,
        Some(lock) => *lock = Lock { client_id: client_id.to_owned(), refreshed: now },
        None => {
            locks.insert(queue.clone(), Lock { client_id: client_id.to_owned(), refreshed: now });
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(id: i32) -> MessageQueue {
        MessageQueue::new("T", "b", id)
    }

    /// One step of a story: who asks for which queues at which second, and what it then owns.
    #[track_caller]
    fn check(locks: &QueueLocks, second: i64, client_id: &str, asked: &[i32], owned: &[i32]) {
        let queues = asked.iter().copied().map(queue);
        let got = locks.lock("g", client_id, queues, Millis(second * 1000));
        assert_eq!(got.iter().map(|queue| queue.queue_id).collect::<Vec<_>>(), owned);
    }

    #[test]
    fn a_lock_belongs_to_one_client_until_it_is_a_minute_old() {
        let locks = QueueLocks::default();
        check(&locks, 0, "a", &[0, 1], &[0, 1]);
        check(&locks, 1, "b", &[0, 1, 2], &[2]);
        check(&locks, 40, "a", &[0], &[0]);
        check(&locks, 60, "b", &[0, 1], &[]);
        check(&locks, 61, "b", &[0, 1], &[1]);
        check(&locks, 100, "b", &[0], &[]);
        check(&locks, 101, "b", &[0], &[0]);
        check(&locks, 102, "a", &[0, 1], &[]);
    }

    #[test]
    fn only_the_owner_unlocks() {
        let locks = QueueLocks::default();
        check(&locks, 0, "a", &[0], &[0]);
        locks.unlock("g", "b", &BTreeSet::from([queue(0)]));
        check(&locks, 1, "b", &[0], &[]);
        locks.unlock("other", "a", &BTreeSet::from([queue(0)]));
        check(&locks, 1, "b", &[0], &[]);
        locks.unlock("g", "a", &BTreeSet::from([queue(0), queue(7)]));
        check(&locks, 1, "b", &[0], &[0]);
    }

    #[test]
    fn a_group_has_live_locks_while_one_is_refreshed() {
        let locks = QueueLocks::default();
        assert!(!locks.any_live("g", Millis(0)));
        check(&locks, 0, "a", &[0, 1], &[0, 1]);
        assert!(locks.any_live("g", Millis(60_000)));
        assert!(!locks.any_live("other", Millis(0)));
        assert!(!locks.any_live("g", Millis(60_001)));
        check(&locks, 61, "a", &[1], &[1]);
        assert!(locks.any_live("g", Millis(120_000)));
    }

    #[test]
    fn dead_locks_leave_nothing_behind() {
        let locks = QueueLocks::default();
        check(&locks, 0, "a", &[0, 1], &[0, 1]);
        check(&locks, 50, "a", &[1], &[1]);
        locks.expire(Millis(60_001));
        assert_eq!(locks.groups.lock()["g"].len(), 1);
        locks.expire(Millis(110_001));
        assert!(locks.groups.lock().is_empty());
        check(&locks, 111, "a", &[], &[]);
        assert!(locks.groups.lock().is_empty());
    }
}
