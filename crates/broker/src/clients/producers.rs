//! The producers: by group as consumers are, and by client id, which is how replies find them.

use super::groups::{Expired, Groups};
use super::member::{Channel, Client};
use foldhash::{HashMap, HashMapExt};
use roxmq_store::Millis;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(super) struct Producers<C> {
    pub(super) groups: Groups<C, ()>,
    /// A client that came back before its old connection was found dead has two.
    by_client_id: HashMap<String, BTreeMap<u64, C>>,
    /// The client ids of a connection, mostly one.
    ids: HashMap<u64, BTreeSet<String>>,
}

impl<C> Default for Producers<C> {
    fn default() -> Self {
        Producers { groups: Groups::default(), by_client_id: HashMap::new(), ids: HashMap::new() }
    }
}

impl<C: Channel> Producers<C> {
    pub(super) fn seen(&mut self, client: &Client<C>, group: &str, now: Millis) {
        if !self.groups.join(group, client, now, |()| ()).is_new {
            return;
        }
        let channel_id = client.channel.id();
        let connections = self.by_client_id.entry(client.client_id.clone()).or_default();
        connections.insert(channel_id, client.channel.clone());
        self.ids.entry(channel_id).or_default().insert(client.client_id.clone());
    }

    /// The newest connection of the client.
    pub(super) fn by_client_id(&self, client_id: &str) -> Option<&C> {
        self.by_client_id.get(client_id)?.values().next_back()
    }

    pub(super) fn leave(&mut self, group: &str, channel_id: u64) {
        self.groups.leave(group, channel_id);
        self.forget_if_gone(channel_id);
    }

    pub(super) fn disconnect(&mut self, channel_id: u64) {
        self.groups.disconnect(channel_id);
        self.forget_if_gone(channel_id);
    }

    /// Gives the connections that were silent for too long; one appears once for each of its groups.
    pub(super) fn expire(&mut self, now: Millis, timeout_ms: i64) -> Vec<C> {
        let Expired { channels, .. } = self.groups.expire(now, timeout_ms);
        for channel in &channels {
            self.forget_if_gone(channel.id());
        }
        channels
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().next().is_none() && self.by_client_id.is_empty() && self.ids.is_empty()
    }

    /// A connection is known by its client ids for as long as it is in a group.
    fn forget_if_gone(&mut self, channel_id: u64) {
        if self.groups.has_channel(channel_id) {
            return;
        }
        for client_id in self.ids.remove(&channel_id).unwrap_or_default() {
            if let Some(connections) = self.by_client_id.get_mut(&client_id) {
                connections.remove(&channel_id);
                if connections.is_empty() {
                    self.by_client_id.remove(&client_id);
                }
            }
        }
    }
}
