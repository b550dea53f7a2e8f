//! Clients, their lite topics and what is out, as tables. Nothing here reads, writes or waits.

use super::order::Order;
use crate::refusal::Refusal;
use foldhash::{HashMap, HashSet};
use roxmq_protocol::code::response;
use roxmq_remoting::Connection;
use roxmq_store::{ConsumeQueue, Millis};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct State {
    /// By group and client id.
    pub(super) clients: BTreeMap<ClientKey, Client>,
    /// By light queue.
    pub(super) queues: HashMap<Arc<str>, Subscribed>,
    /// By group and light queue.
    pub(super) orders: HashMap<OrderKey, Order>,
    /// When orders stop to block.
    pub(super) free: BTreeSet<(Millis, OrderKey)>,
    /// Somebody is looking there just now.
    pub(super) looking: HashSet<OrderKey>,
    /// Clients that get every lite topic of a parent, by parent.
    pub(super) wildcards: HashMap<String, BTreeSet<ClientKey>>,
    /// Lite topics of all clients together.
    pub(super) subscriptions: usize,
}

/// Group and client id.
pub(super) type ClientKey = (Arc<str>, Arc<str>);
/// Group and light queue.
pub(super) type OrderKey = (Arc<str>, Arc<str>);

pub(super) struct Client {
    pub(super) parent: String,
    pub(super) queues: BTreeSet<Arc<str>>,
    /// None until it has subscribed.
    pub(super) connection: Option<Arc<Connection>>,
    pub(super) renewed: Millis,
    pub(super) accessed: Millis,
    pub(super) consumed: Millis,
    pub(super) ready: VecDeque<Arc<str>>,
    pub(super) is_ready: HashSet<Arc<str>>,
    pub(super) wake: Arc<Notify>,
}

pub(super) struct Subscribed {
    pub(super) queue: Arc<ConsumeQueue>,
    pub(super) clients: BTreeSet<ClientKey>,
}

impl Client {
    pub(super) fn new(parent: &str, now: Millis) -> Self {
        Client {
            parent: parent.to_owned(),
            queues: BTreeSet::new(),
            connection: None,
            renewed: now,
            accessed: Millis(0),
            consumed: Millis(0),
            ready: VecDeque::new(),
            is_ready: HashSet::default(),
            wake: Arc::default(),
        }
    }

    pub(super) fn mark(&mut self, queue: &Arc<str>) {
        if self.is_ready.insert(Arc::clone(queue)) {
            self.ready.push_back(Arc::clone(queue));
        }
        self.wake.notify_one();
    }

    pub(super) fn take_ready(&mut self) -> Option<Arc<str>> {
        let queue = self.ready.pop_front()?;
        self.is_ready.remove(&queue);
        Some(queue)
    }
}

pub(super) fn client_key(group: &str, client_id: &str) -> ClientKey {
    (group.into(), client_id.into())
}

impl State {
    pub(super) fn client(
        &mut self,
        key: &ClientKey,
        parent: &str,
        limit: usize,
        now: Millis,
    ) -> Result<&mut Client, Refusal> {
        if !self.clients.contains_key(key) && self.clients.len() >= limit {
            return Err(quota(format!("{limit} clients have subscribed to lite topics already")));
        }
        Ok(self.clients.entry(key.clone()).or_insert_with(|| Client::new(parent, now)))
    }

    /// Subscribes a client that is there to a light queue; whether that is new.
    pub(super) fn subscribe(
        &mut self,
        key: &ClientKey,
        queue: &str,
        limit: usize,
        watched: impl FnOnce(&str) -> Subscribed,
    ) -> Result<bool, Refusal> {
        let Some(client) = self.clients.get_mut(key) else { return Ok(false) };
        if client.queues.contains(queue) {
            return Ok(false);
        }
        if self.subscriptions >= limit {
            let subscriptions = self.subscriptions;
            return Err(quota(format!("there are {subscriptions} subscriptions, the limit is {limit}")));
        }
        let name: Arc<str> = queue.into();
        client.queues.insert(Arc::clone(&name));
        client.mark(&name);
        self.subscriptions += 1;
        let subscribed = self.queues.entry(name).or_insert_with_key(|name| watched(name));
        subscribed.clients.insert(key.clone());
        Ok(true)
    }

    /// Whether that changes whether the client gets every lite topic of the parent.
    pub(super) fn set_wildcard(&mut self, key: &ClientKey, parent: &str, wanted: bool) -> bool {
        if wanted {
            return self.wildcards.entry(parent.to_owned()).or_default().insert(key.clone());
        }
        let Some(clients) = self.wildcards.get_mut(parent) else { return false };
        let had = clients.remove(key);
        if clients.is_empty() {
            self.wildcards.remove(parent);
        }
        had
    }

    pub(super) fn mark_ready(&mut self, group: Option<&str>, queue: &Arc<str>) {
        let Some(subscribed) = self.queues.get(queue) else { return };
        for key in subscribed.clients.iter().filter(|key| group.is_none_or(|group| *key.0 == *group)) {
            if let Some(client) = self.clients.get_mut(key) {
                client.mark(queue);
            }
        }
    }

    pub(super) fn set_order(&mut self, key: &OrderKey, order: Option<Order>) -> Option<Millis> {
        let free_at = order.as_ref().and_then(Order::free_at);
        let before = match order.filter(|_| free_at.is_some()) {
            Some(order) => self.orders.insert(key.clone(), order),
            None => self.orders.remove(key),
        };
        if let Some(before) = before.and_then(|order| order.free_at()) {
            self.free.remove(&(before, key.clone()));
        }
        if let Some(free_at) = free_at {
            self.free.insert((free_at, key.clone()));
        }
        free_at
    }

    pub(super) fn forget_orders(&mut self, of: impl Fn(&OrderKey) -> bool) {
        let keys: Vec<OrderKey> = self.orders.keys().filter(|key| of(key)).cloned().collect();
        for key in &keys {
            self.set_order(key, None);
        }
    }

    /// Takes a lite topic from a client; gives the queue's name if nobody is left.
    pub(super) fn unsubscribe(&mut self, key: &ClientKey, queue: &str) -> Option<Arc<str>> {
        let client = self.clients.get_mut(key)?;
        let name = client.queues.take(queue)?;
        client.is_ready.remove(&name);
        client.ready.retain(|ready| *ready != name);
        self.subscriptions -= 1;
        let subscribed = self.queues.get_mut(&name)?;
        subscribed.clients.remove(key);
        if !subscribed.clients.is_empty() {
            return None;
        }
        subscribed.queue.waiters.fetch_sub(1, Ordering::SeqCst);
        self.queues.remove(&name);
        Some(name)
    }
}

fn quota(why: String) -> Refusal {
    Refusal::new(
        response::LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
        format!("lite subscription quota exceeded: {why} (maxLiteSubscriptionCount)"),
    )
}
