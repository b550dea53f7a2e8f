//! Who has subscribed to which lite topics, what is out for whom, and who has to look where.
//!
//! All under one lock, which is held for moments: nothing is read or written meanwhile. A client has a list of light
//! queues in which there may be something for it: new messages, and those that may be given again, put them there. Who
//! finds nothing in one forgets it.

use super::order::Order;
use super::state::{ClientKey, OrderKey, State, Subscribed, quota};
use crate::Broker;
use crate::deadlines::Deadlines;
use crate::refusal::Refusal;
use parking_lot::Mutex;
use roxmq_remoting::Connection;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use roxmq_store::{ConsumeQueue, Millis};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Lite {
    state: Mutex<State>,
    pub(super) deadlines: Deadlines,
    /// How many pops wait.
    pub(super) waiting: AtomicUsize,
    closed: AtomicBool,
}

/// A light queue in which to look, and how far.
pub(super) struct Turn {
    pub(super) queue: Arc<ConsumeQueue>,
    pub(super) name: Arc<str>,
    pub(super) key: ClientKey,
}

/// What a client is shown as.
pub(super) struct ClientView {
    pub(super) parent: String,
    pub(super) queues: Vec<Arc<str>>,
    pub(super) accessed: Millis,
    pub(super) consumed: Millis,
}

/// Clients that have lost a lite topic to another, to be told.
pub(super) type TakenOver = Vec<(Arc<Connection>, ClientKey)>;

impl Lite {
    /// Notes that the client lives and where it can be told something.
    pub(super) fn renew(
        &self,
        key: &ClientKey,
        parent: &str,
        connection: &Arc<Connection>,
        limit: usize,
        now: Millis,
    ) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        let client = state.client(key, parent, limit, now)?;
        client.connection = Some(Arc::clone(connection));
        client.renewed = now;
        Ok(())
    }

    /// Subscribes a client to a light queue; whether that is new.
    pub(super) fn subscribe(
        &self,
        broker: &Broker,
        key: &ClientKey,
        parent: &str,
        queue: &str,
    ) -> Result<bool, Refusal> {
        let limit = broker.config().max_lite_subscription_count;
        let mut state = self.state.lock();
        let subscriptions = state.subscriptions;
        let client = state.client(key, parent, limit, broker.clock.now())?;
        if client.queues.contains(queue) {
            return Ok(false);
        }
        if subscriptions >= limit {
            return Err(quota(format!("there are {subscriptions} subscriptions, the limit is {limit}")));
        }
        let name: Arc<str> = queue.into();
        client.queues.insert(Arc::clone(&name));
        client.mark(&name);
        state.subscriptions += 1;
        let subscribed = state.queues.entry(Arc::clone(&name)).or_insert_with(|| watched(broker, &name));
        subscribed.clients.insert(key.clone());
        Ok(true)
    }

    /// Takes the light queue from the group's other clients.
    pub(super) fn take_over(&self, key: &ClientKey, queue: &str) -> TakenOver {
        let mut state = self.state.lock();
        let others: Vec<ClientKey> = match state.queues.get(queue) {
            Some(subscribed) => {
                subscribed.clients.iter().filter(|other| other.0 == key.0 && *other != key).cloned().collect()
            }
            None => Vec::new(),
        };
        let mut taken = Vec::new();
        for other in others {
            state.unsubscribe(&other, queue);
            let connection = state.clients.get(&other).and_then(|client| client.connection.clone());
            taken.extend(connection.map(|connection| (connection, other)));
        }
        taken
    }

    /// Ends a subscription; whether there was one.
    pub(super) fn unsubscribe(&self, broker: &Broker, key: &ClientKey, queue: &str) -> bool {
        let (had, unused) = {
            let mut state = self.state.lock();
            let had = state.clients.get(key).is_some_and(|client| client.queues.contains(queue));
            (had, state.unsubscribe(key, queue))
        };
        forget(broker, unused);
        had
    }

    /// The light queues that a client has subscribed to.
    pub(super) fn queues_of(&self, key: &ClientKey) -> Vec<Arc<str>> {
        let state = self.state.lock();
        state.clients.get(key).map(|client| client.queues.iter().cloned().collect()).unwrap_or_default()
    }

    /// Forgets a client, with all its subscriptions; these are given back.
    pub(super) fn remove_client(&self, broker: &Broker, key: &ClientKey) -> Vec<Arc<str>> {
        let queues = self.queues_of(key);
        let unused: Vec<_> = {
            let mut state = self.state.lock();
            let unused = queues.iter().filter_map(|queue| state.unsubscribe(key, queue)).collect();
            state.clients.remove(key);
            unused
        };
        forget(broker, unused);
        queues
    }

    /// Clients that haven't renewed their subscriptions since.
    pub(super) fn silent_since(&self, since: Millis) -> Vec<ClientKey> {
        let state = self.state.lock();
        state
            .clients
            .iter()
            .filter(|(_, client)| client.renewed < since)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Messages have come to a queue.
    pub(crate) fn arrived(&self, queue: &ConsumeQueue) {
        if crate::lmq::lite_parts(queue.topic()).is_none() {
            return;
        }
        let mut state = self.state.lock();
        let name = state.queues.get_key_value(queue.topic()).map(|(name, _)| Arc::clone(name));
        if let Some(name) = name {
            state.mark_ready(None, &name);
        }
    }

    /// Lets a client look at all its lite topics.
    pub(super) fn trigger(&self, key: &ClientKey) {
        if let Some(client) = self.state.lock().clients.get_mut(key) {
            for queue in client.queues.clone() {
                client.mark(&queue);
            }
        }
    }

    /// What wakes the pops of a client.
    pub(super) fn wake_of(
        &self,
        key: &ClientKey,
        parent: &str,
        limit: usize,
        now: Millis,
    ) -> Result<Arc<Notify>, Refusal> {
        let mut state = self.state.lock();
        let client = state.client(key, parent, limit, now)?;
        client.accessed = now;
        Ok(Arc::clone(&client.wake))
    }

    /// Puts the lite topics of an attempt that is made again where they are looked at.
    pub(super) fn ready_again(&self, key: &ClientKey, attempt_id: &str) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(client) = state.clients.get_mut(key) else { return };
        for queue in client.queues.clone() {
            let order = state.orders.get(&(Arc::clone(&key.0), Arc::clone(&queue)));
            if order.is_some_and(|order| order.is_attempt(attempt_id)) {
                client.mark(&queue);
            }
        }
    }

    /// The next light queue in which the client may find something. It is the caller's until it is
    /// [given back](Self::done).
    pub(super) fn next_turn(&self, key: &ClientKey, attempt_id: Option<&str>, now: Millis) -> Option<Turn> {
        let mut state = self.state.lock();
        loop {
            let name = state.clients.get_mut(key)?.take_ready()?;
            let order_key = (Arc::clone(&key.0), Arc::clone(&name));
            let is_blocked = state.orders.get(&order_key).is_some_and(|order| order.blocks(attempt_id, now));
            let Some(subscribed) = state.queues.get(&name) else { continue };
            let queue = Arc::clone(&subscribed.queue);
            if !is_blocked && state.looking.insert(order_key) {
                return Some(Turn { queue, name, key: key.clone() });
            }
        }
    }

    /// How many messages from the offset on may be given.
    pub(super) fn run_from(&self, turn: &Turn, offset: i64) -> usize {
        let state = self.state.lock();
        state.orders.get(&order_key(turn)).map_or(usize::MAX, |order| order.run_from(offset))
    }

    /// Messages of the queue are out now; gives how often each was before.
    pub(super) fn give(
        &self,
        turn: &Turn,
        offsets: impl IntoIterator<Item = i64>,
        pop_time: Millis,
        visible: Millis,
        attempt_id: Option<&str>,
    ) -> Vec<i32> {
        let key = order_key(turn);
        let mut state = self.state.lock();
        let order =
            Order::after(state.orders.get(&key), offsets, pop_time, visible, attempt_id.map(Box::from));
        let counts = order.counts().collect();
        if let Some(free_at) = state.set_order(&key, Some(order)) {
            self.deadlines.note(free_at);
        }
        if let Some(client) = state.clients.get_mut(&turn.key) {
            client.consumed = pop_time;
        }
        counts
    }

    /// Ends a turn; `again` if the queue is to be looked at again.
    pub(super) fn done(&self, turn: &Turn, again: bool) {
        let mut state = self.state.lock();
        state.looking.remove(&order_key(turn));
        if again && let Some(client) = state.clients.get_mut(&turn.key) {
            client.mark(&turn.name);
        }
    }

    /// Forgets what is out of a queue for a group.
    pub(super) fn clear_order(&self, group: &str, queue: &str) {
        let mut state = self.state.lock();
        state.set_order(&(group.into(), queue.into()), None);
        state.mark_ready(Some(group), &queue.into());
    }

    /// Changes what is out, and lets clients look if nothing blocks them any more.
    pub(super) fn with_order<T>(
        &self,
        group: &str,
        queue: &str,
        now: Millis,
        change: impl FnOnce(&mut Order) -> T,
    ) -> Option<T> {
        let key: OrderKey = (group.into(), queue.into());
        let mut state = self.state.lock();
        let mut order = state.orders.get(&key)?.clone();
        let result = change(&mut order);
        let is_free = !order.blocks(None, now);
        if let Some(free_at) = state.set_order(&key, Some(order)) {
            self.deadlines.note(free_at);
        }
        if is_free {
            state.mark_ready(Some(group), &key.1);
        }
        Some(result)
    }

    pub(super) fn next_free(&self) -> Option<Millis> {
        self.state.lock().free.first().map(|(free_at, _)| *free_at)
    }

    /// Lets clients look where the time of what is out is up.
    pub(super) fn free_due(&self, now: Millis) {
        let mut state = self.state.lock();
        while let Some((free_at, key)) = state.free.first().cloned() {
            if free_at > now {
                return;
            }
            // The order stays: it knows how often its messages were given.
            state.free.pop_first();
            state.mark_ready(Some(&key.0), &key.1);
        }
    }

    /// Forgets a topic that is deleted.
    pub(crate) fn remove_topic(&self, topic: &str) {
        let mut state = self.state.lock();
        state.forget_orders(|key| *key.1 == *topic);
        let clients =
            state.queues.get(topic).map(|subscribed| subscribed.clients.clone()).unwrap_or_default();
        for client in clients {
            state.unsubscribe(&client, topic);
        }
    }

    /// Forgets a group that is deleted.
    pub(crate) fn remove_group(&self, broker: &Broker, group: &str) {
        let clients: Vec<ClientKey> =
            self.state.lock().clients.keys().filter(|key| *key.0 == *group).cloned().collect();
        for client in clients {
            self.remove_client(broker, &client);
        }
        self.state.lock().forget_orders(|key| *key.0 == *group);
    }

    /// Nobody waits any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for client in self.state.lock().clients.values() {
            client.wake.notify_waiters();
            client.wake.notify_one();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(super) fn view(&self, key: &ClientKey) -> Option<ClientView> {
        let state = self.state.lock();
        let client = state.clients.get(key)?;
        Some(ClientView {
            parent: client.parent.clone(),
            queues: client.queues.iter().cloned().collect(),
            accessed: client.accessed,
            consumed: client.consumed,
        })
    }

    pub(super) fn subscribers(&self, queue: &str) -> Vec<ClientKey> {
        let state = self.state.lock();
        state
            .queues
            .get(queue)
            .map(|subscribed| subscribed.clients.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// The group's clients, in order of their ids.
    pub(super) fn clients_of(&self, group: &str) -> Vec<ClientKey> {
        self.state.lock().clients.keys().filter(|key| *key.0 == *group).cloned().collect()
    }

    /// How many clients, subscriptions and orders there are.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.clients.len(), state.subscriptions, state.orders.len())
    }
}

fn order_key(turn: &Turn) -> OrderKey {
    (Arc::clone(&turn.key.0), Arc::clone(&turn.name))
}

/// The queue, which from now on reports what comes to it.
fn watched(broker: &Broker, name: &str) -> Subscribed {
    loop {
        let queue = broker.store.queue_or_create(name, LMQ_QUEUE);
        queue.waiters.fetch_add(1, Ordering::SeqCst);
        // It may have been forgotten just before.
        if !queue.is_removed() {
            return Subscribed { queue, clients: BTreeSet::new() };
        }
    }
}

/// Queues that nobody waits for and that never had a message take no memory.
fn forget(broker: &Broker, queues: impl IntoIterator<Item = Arc<str>>) {
    for queue in queues {
        if let Err(error) = broker.store.forget_unused(&queue) {
            tracing::debug!(topic = %queue, %error, "an unused light queue stays in memory");
        }
    }
}
