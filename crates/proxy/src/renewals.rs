//! Messages that push consumers work on. Consumers don't say how long they will take, so each message is kept out of
//! the sight of others for a short time, again and again, until it is acknowledged or its client is gone.
//!
//! A client keeps the handle that it received. Its message is found by that one here, and acknowledged with the
//! latest. What isn't here (any more) is not lost: it comes again when the time of its handle is up.

mod run;
mod step;

pub use run::{due_ms, release, run};

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::{Notify, OwnedMutexGuard};

/// Messages of all clients. What is received beyond is not renewed.
const MESSAGES_MAX: usize = 1_000_000;

/// A message as it was received.
#[derive(Debug)]
pub struct Kept {
    pub client_id: Box<str>,
    pub topic: Arc<str>,
    pub group: Arc<str>,
    pub lite_topic: Option<Box<str>>,
    /// As the client has it.
    pub handle: Box<str>,
    pub reconsume_times: i32,
    pub since_ms: i64,
    /// Locked while a broker is asked to do something with the message: what it is asked must not depend on a handle
    /// that is just being replaced.
    state: Arc<tokio::sync::Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// The latest.
    handle: String,
    renewals: usize,
    /// In a row.
    failures: u32,
    /// Acknowledged, given up, or forgotten.
    is_over: bool,
}

impl Kept {
    pub fn new(received: Received<'_>, since_ms: i64) -> Self {
        let Received { client_id, topic, group, lite_topic, handle, reconsume_times } = received;
        let state = State { handle: handle.to_owned(), renewals: 0, failures: 0, is_over: false };
        Kept {
            client_id: client_id.into(),
            topic: Arc::clone(topic),
            group: Arc::clone(group),
            lite_topic: lite_topic.map(Into::into),
            handle: handle.into(),
            reconsume_times,
            since_ms,
            state: Arc::new(tokio::sync::Mutex::new(state)),
        }
    }
}

/// What a message is kept by.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    pub client_id: &'a str,
    pub topic: &'a Arc<str>,
    pub group: &'a Arc<str>,
    pub lite_topic: Option<&'a str>,
    pub handle: &'a str,
    pub reconsume_times: i32,
}

#[derive(Default)]
pub struct Renewals {
    table: Mutex<Table>,
    /// There is something due earlier than before.
    earlier: Notify,
}

/// When, and which of those.
type Due = (i64, u64);

#[derive(Default)]
struct Table {
    by_client: HashMap<Box<str>, HashMap<Box<str>, Slot, RandomState>, RandomState>,
    by_due: BTreeMap<Due, Arc<Kept>>,
    count: usize,
    last_number: u64,
}

struct Slot {
    kept: Arc<Kept>,
    /// None while it is being renewed.
    due: Option<Due>,
}

impl Renewals {
    /// Keeps the message, to be renewed at `due_ms`. False if there are too many.
    pub fn keep(&self, kept: Kept, due_ms: i64) -> bool {
        let mut table = self.table.lock();
        if table.count >= MESSAGES_MAX {
            return false;
        }
        let kept = Arc::new(kept);
        let (client_id, handle) = (kept.client_id.clone(), kept.handle.clone());
        let due = table.schedule(Arc::clone(&kept), due_ms);
        let old = table.by_client.entry(client_id).or_default().insert(handle, Slot { kept, due: Some(due) });
        match old {
            // Of another group, popped in the same millisecond: its message comes again.
            Some(Slot { due: Some(due), .. }) => drop(table.by_due.remove(&due)),
            Some(_) => {}
            None => table.count += 1,
        }
        let is_first = table.by_due.first_key_value().is_some_and(|(first, _)| *first == due);
        drop(table);
        if is_first {
            self.earlier.notify_one();
        }
        true
    }

    /// The message that this client has under this handle, for a request about it. While this is held the message is
    /// not renewed.
    pub async fn latest<'a>(&'a self, client_id: &str, group: &str, handle: &'a str) -> Latest<'a> {
        let kept = {
            let table = self.table.lock();
            let slot = table.by_client.get(client_id).and_then(|of_client| of_client.get(handle));
            slot.map(|slot| Arc::clone(&slot.kept)).filter(|kept| *kept.group == *group)
        };
        let Some(kept) = kept else { return Latest { given: handle, held: None } };
        let state = Arc::clone(&kept.state).lock_owned().await;
        let held = (!state.is_over).then_some(Held { renewals: self, kept, state });
        Latest { given: handle, held }
    }

    /// How many messages there are.
    pub fn count(&self) -> usize {
        self.table.lock().count
    }

    /// How many messages of this client there are.
    pub fn count_of(&self, client_id: &str) -> usize {
        self.table.lock().by_client.get(client_id).map_or(0, HashMap::len)
    }

    /// Takes out what a client that is gone has.
    pub fn take_client(&self, client_id: &str) -> Vec<Arc<Kept>> {
        let mut table = self.table.lock();
        let Some(of_client) = table.by_client.remove(client_id) else { return Vec::new() };
        table.count -= of_client.len();
        for slot in of_client.values() {
            if let Some(due) = slot.due {
                table.by_due.remove(&due);
            }
        }
        of_client.into_values().map(|slot| slot.kept).collect()
    }

    pub fn forget(&self, client_id: &str, handle: &str) {
        self.table.lock().remove(client_id, handle);
    }

    /// At most `count` messages whose time has come, and when that of the next will.
    fn take_due(&self, now_ms: i64, count: usize) -> (Vec<Arc<Kept>>, Option<i64>) {
        let mut table = self.table.lock();
        let mut taken = Vec::new();
        while taken.len() < count
            && let Some(first) = table.by_due.first_entry()
            && first.key().0 <= now_ms
        {
            let kept = first.remove();
            if let Some(slot) = table.slot(&kept) {
                slot.due = None;
            }
            taken.push(kept);
        }
        (taken, table.by_due.first_key_value().map(|((due_ms, _), _)| *due_ms))
    }

    /// Puts a message that was due in again, if it is still wanted.
    fn put_back(&self, kept: &Arc<Kept>, due_ms: i64) {
        let mut table = self.table.lock();
        if table.slot(kept).is_none() {
            return;
        }
        let due = table.schedule(Arc::clone(kept), due_ms);
        if let Some(slot) = table.slot(kept) {
            slot.due = Some(due);
        }
        drop(table);
        self.earlier.notify_one();
    }
}

impl Table {
    fn schedule(&mut self, kept: Arc<Kept>, due_ms: i64) -> Due {
        self.last_number += 1;
        let due = (due_ms, self.last_number);
        self.by_due.insert(due, kept);
        due
    }

    /// The message's own, not that of another with its handle.
    fn slot(&mut self, kept: &Arc<Kept>) -> Option<&mut Slot> {
        let slot = self.by_client.get_mut(&kept.client_id)?.get_mut(&kept.handle)?;
        Arc::ptr_eq(&slot.kept, kept).then_some(slot)
    }

    fn remove(&mut self, client_id: &str, handle: &str) {
        let Some(of_client) = self.by_client.get_mut(client_id) else { return };
        let Some(slot) = of_client.remove(handle) else { return };
        if of_client.is_empty() {
            self.by_client.remove(client_id);
        }
        self.count -= 1;
        if let Some(due) = slot.due {
            self.by_due.remove(&due);
        }
    }
}

/// The handle to use for a message in place of the one that the client gave.
pub struct Latest<'a> {
    given: &'a str,
    held: Option<Held<'a>>,
}

struct Held<'a> {
    renewals: &'a Renewals,
    kept: Arc<Kept>,
    state: OwnedMutexGuard<State>,
}

impl Latest<'_> {
    pub fn handle(&self) -> &str {
        self.held.as_ref().map_or(self.given, |held| held.state.handle.as_str())
    }

    /// The message is the server's to renew no longer.
    pub fn done(self) {
        if let Some(mut held) = self.held {
            held.state.is_over = true;
            held.renewals.forget(&held.kept.client_id, &held.kept.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(client_id: &str, group: &str, handle: &str) -> Kept {
        let (topic, group) = ("T".into(), group.into());
        let received = Received {
            client_id,
            topic: &topic,
            group: &group,
            lite_topic: None,
            handle,
            reconsume_times: 0,
        };
        Kept::new(received, 0)
    }

    fn due(renewals: &Renewals, now_ms: i64, count: usize) -> (Vec<String>, Option<i64>) {
        let (taken, next) = renewals.take_due(now_ms, count);
        (taken.iter().map(|kept| kept.handle.to_string()).collect(), next)
    }

    #[tokio::test]
    async fn messages_come_due_in_turn_until_they_are_done() {
        let renewals = Renewals::default();
        for (handle, at) in [("late", 30), ("first", 10), ("second", 10), ("gone", 20)] {
            assert!(renewals.keep(kept("c", "G", handle), at));
        }
        assert_eq!((renewals.count_of("c"), renewals.count_of("other")), (4, 0));
        renewals.latest("c", "G", "gone").await.done();
        assert_eq!(due(&renewals, 9, 9), (vec![], Some(10)));
        assert_eq!(due(&renewals, 25, 1), (vec!["first".to_owned()], Some(10)));
        assert_eq!(due(&renewals, 25, 9), (vec!["second".to_owned()], Some(30)));
        let (late, next) = renewals.take_due(30, 9);
        assert_eq!(next, None);
        renewals.put_back(&late[0], 40);
        assert_eq!(due(&renewals, 39, 9), (vec![], Some(40)));
        assert_eq!(renewals.take_client("c").len(), 3);
        renewals.put_back(&late[0], 50);
        assert_eq!(due(&renewals, 99, 9), (vec![], None));
        assert_eq!(renewals.count_of("c"), 0);
        assert_eq!(renewals.table.lock().count, 0);
    }

    #[tokio::test]
    async fn the_latest_handle_stands_for_the_clients() {
        let renewals = Renewals::default();
        renewals.keep(kept("c", "G", "old"), 10);
        let (taken, _) = renewals.take_due(10, 1);
        taken[0].state.lock().await.handle = "new".to_owned();
        assert_eq!(renewals.latest("c", "G", "old").await.handle(), "new");
        assert_eq!(renewals.latest("d", "G", "old").await.handle(), "old");
        assert_eq!(renewals.latest("c", "H", "old").await.handle(), "old");
        renewals.latest("c", "G", "old").await.done();
        assert!(taken[0].state.lock().await.is_over);
        assert_eq!(renewals.latest("c", "G", "old").await.handle(), "old");
    }

    #[tokio::test]
    async fn a_handle_of_two_groups_is_kept_for_the_second() {
        let renewals = Renewals::default();
        renewals.keep(kept("c", "G", "h"), 10);
        renewals.keep(kept("c", "H", "h"), 20);
        assert_eq!(due(&renewals, 99, 9), (vec!["h".to_owned()], None));
        renewals.latest("c", "H", "h").await.done();
        assert_eq!(renewals.table.lock().count, 0);
    }
}
