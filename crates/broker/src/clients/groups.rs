//! Groups and their members: the same for producers and consumers but for what is known of a group.

use super::member::{Channel, Client, Members};
use foldhash::{HashMap, HashMapExt};
use roxmq_store::Millis;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Group<C, I> {
    pub name: Arc<str>,
    pub members: Members<C>,
    /// What its members told of it.
    pub info: I,
}

/// A group is here while it has a member. Readers share a group as it was when they looked; a change makes a copy
/// if somebody still looks.
#[derive(Debug)]
pub struct Groups<C, I> {
    by_name: HashMap<Arc<str>, Arc<Group<C, I>>>,
    /// Where a connection is a member, for the day it closes.
    by_channel: HashMap<u64, BTreeSet<Arc<str>>>,
}

/// What came of a heartbeat.
#[derive(Debug)]
pub struct Joined<C, I, R> {
    /// The group as it is now.
    pub group: Arc<Group<C, I>>,
    /// The group's clients are others than before.
    pub is_new: bool,
    pub updated: R,
}

/// Members that sent no heartbeat for too long.
#[derive(Debug)]
pub struct Expired<C, I> {
    /// Their connections; one appears once for each of its groups.
    pub channels: Vec<C>,
    /// The groups they were in, as they are now.
    pub groups: Vec<Arc<Group<C, I>>>,
}

impl<C, I> Default for Groups<C, I> {
    fn default() -> Self {
        Groups { by_name: HashMap::new(), by_channel: HashMap::new() }
    }
}

impl<C: Channel, I: Clone + Default> Groups<C, I> {
    pub fn get(&self, name: &str) -> Option<&Arc<Group<C, I>>> {
        self.by_name.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Group<C, I>>> {
        self.by_name.values()
    }

    pub fn has_channel(&self, channel_id: u64) -> bool {
        self.by_channel.contains_key(&channel_id)
    }

    /// Makes the client a member, or notes that it still is; `update` changes what is known of the group.
    pub fn join<R>(
        &mut self,
        name: &str,
        client: &Client<C>,
        now: Millis,
        update: impl FnOnce(&mut I) -> R,
    ) -> Joined<C, I, R> {
        let group = match self.by_name.get_mut(name) {
            Some(group) => group,
            None => {
                let name: Arc<str> = name.into();
                let group = Group { name: name.clone(), members: Members::default(), info: I::default() };
                self.by_name.entry(name).or_insert(Arc::new(group))
            }
        };
        let changing = Arc::make_mut(group);
        let is_new = changing.members.seen(client, now);
        let updated = update(&mut changing.info);
        if is_new {
            self.by_channel.entry(client.channel.id()).or_default().insert(group.name.clone());
        }
        Joined { group: group.clone(), is_new, updated }
    }

    /// The group without the member that left; none if it wasn't one.
    pub fn leave(&mut self, name: &str, channel_id: u64) -> Option<Arc<Group<C, I>>> {
        let group = self.by_name.get_mut(name)?;
        if !Arc::make_mut(group).members.remove(channel_id) {
            return None;
        }
        let group = group.clone();
        self.unlink(channel_id, name);
        self.drop_if_empty(&group);
        Some(group)
    }

    /// Ends every membership of a connection, and gives the groups without it.
    pub fn disconnect(&mut self, channel_id: u64) -> Vec<Arc<Group<C, I>>> {
        let names = self.by_channel.get(&channel_id).cloned().unwrap_or_default();
        names.iter().filter_map(|name| self.leave(name, channel_id)).collect()
    }

    /// Ends the memberships that no heartbeat has renewed within the timeout.
    pub fn expire(&mut self, now: Millis, timeout_ms: i64) -> Expired<C, I> {
        let silent: Vec<_> = self
            .iter()
            .map(|group| (group.name.clone(), group.members.silent(now, timeout_ms)))
            .filter(|(_, channels)| !channels.is_empty())
            .collect();
        let mut expired = Expired { channels: Vec::new(), groups: Vec::new() };
        for (name, channels) in silent {
            expired
                .groups
                .extend(channels.iter().filter_map(|channel| self.leave(&name, channel.id())).last());
            expired.channels.extend(channels);
        }
        expired
    }

    fn unlink(&mut self, channel_id: u64, name: &str) {
        if let Some(names) = self.by_channel.get_mut(&channel_id) {
            names.remove(name);
            if names.is_empty() {
                self.by_channel.remove(&channel_id);
            }
        }
    }

    fn drop_if_empty(&mut self, group: &Group<C, I>) {
        if group.members.is_empty() {
            self.by_name.remove(&group.name);
        }
    }
}
