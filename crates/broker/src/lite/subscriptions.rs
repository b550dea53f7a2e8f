//! Who has subscribed to which lite topics.
//!
//! All that is known of lite topics is under one lock, which is held for moments: nothing is read or written meanwhile.

use super::state::{ClientKey, State, Subscribed};
use crate::Broker;
use crate::deadlines::Deadlines;
use crate::refusal::Refusal;
use parking_lot::Mutex;
use roxmq_remoting::Connection;
use roxmq_store::Millis;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Lite {
    pub(super) state: Mutex<State>,
    /// How many clients get every lite topic of their parent.
    pub(super) wildcards: AtomicUsize,
    pub(super) deadlines: Deadlines,
    /// How many pops wait.
    pub(super) waiting: AtomicUsize,
    closed: AtomicBool,
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
        state.client(key, parent, limit, broker.clock.now())?;
        state.subscribe(key, queue, limit, |name| watched(broker, name))
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
            let removed = state.clients.remove(key);
            if removed.is_some_and(|client| state.set_wildcard(key, &client.parent, false)) {
                self.wildcards.fetch_sub(1, Ordering::SeqCst);
            }
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

/// The queue, which from now on reports what comes to it.
pub(super) fn watched(broker: &Broker, name: &str) -> Subscribed {
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
