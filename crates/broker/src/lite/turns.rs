//! Who looks into which light queue when, and what is out of each.
//!
//! A client has a list of light queues in which there may be something for it: new messages, and those that may be given
//! again, put them there. Who finds nothing in one forgets it. One client of a group looks into a queue at a time.

use super::order::Order;
use super::state::{ClientKey, OrderKey};
use super::subscriptions::Lite;
use roxmq_store::{ConsumeQueue, Millis};
use std::sync::Arc;

/// A light queue in which to look, and how far.
pub(super) struct Turn {
    pub(super) queue: Arc<ConsumeQueue>,
    pub(super) name: Arc<str>,
    pub(super) key: ClientKey,
}

impl Lite {
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
}

fn order_key(turn: &Turn) -> OrderKey {
    (Arc::clone(&turn.key.0), Arc::clone(&turn.name))
}
