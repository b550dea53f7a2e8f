//! One client in one group.

use super::agreement::Digest;
use roxmq_protocol::language::Language;
use roxmq_remoting::Connection;
use roxmq_store::Millis;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What the tables need to know of a connection.
pub trait Channel: Clone + Send + Sync + 'static {
    /// Newer connections have higher ids.
    fn id(&self) -> u64;
    fn remote(&self) -> SocketAddr;
}

impl Channel for Arc<Connection> {
    fn id(&self) -> u64 {
        Connection::id(self)
    }

    fn remote(&self) -> SocketAddr {
        Connection::remote(self)
    }
}

/// Who a heartbeat comes from.
#[derive(Clone, Debug)]
pub struct Client<C> {
    pub channel: C,
    pub client_id: String,
    pub language: Language,
    pub version: i32,
}

#[derive(Debug)]
pub struct Member<C> {
    pub client: Client<C>,
    last_seen: AtomicI64,
    /// Of what it subscribes to; 0 while it has not said.
    digest: AtomicU64,
}

impl<C> Member<C> {
    /// When its last heartbeat came.
    pub fn last_seen(&self) -> Millis {
        Millis(self.last_seen.load(Ordering::Relaxed))
    }

    /// Of what it subscribes to, if it has said.
    pub(super) fn digest(&self) -> Option<Digest> {
        match self.digest.load(Ordering::Relaxed) {
            0 => None,
            digest => Some(Digest(digest)),
        }
    }

    /// Notes what it subscribes to; true if that is something else than before.
    pub(super) fn subscribes(&self, digest: Digest) -> bool {
        self.digest.swap(digest.0, Ordering::Relaxed) != digest.0
    }
}

/// The members of a group by their connections, in the order in which they connected.
#[derive(Clone, Debug)]
pub struct Members<C>(BTreeMap<u64, Arc<Member<C>>>);

impl<C> Default for Members<C> {
    fn default() -> Self {
        Members(BTreeMap::new())
    }
}

impl<C: Channel> Members<C> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Member<C>>> {
        self.0.values()
    }

    pub fn get(&self, channel_id: u64) -> Option<&Arc<Member<C>>> {
        self.0.get(&channel_id)
    }

    /// The member with this client id; of a client that came back before its old connection was found dead, the
    /// new one.
    pub fn by_client_id(&self, client_id: &str) -> Option<&Arc<Member<C>>> {
        self.iter().rev().find(|member| member.client.client_id == client_id)
    }

    /// Every client id once, in order: what clients share the queues out by.
    pub fn client_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.iter().map(|member| member.client.client_id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub fn contains(&self, channel_id: u64) -> bool {
        self.0.contains_key(&channel_id)
    }

    /// Notes a sign of life; true if the group has a client by it that it didn't have.
    pub(super) fn seen(&mut self, client: &Client<C>, now: Millis) -> bool {
        let id = client.channel.id();
        if let Some(member) = self.0.get(&id)
            && member.client.client_id == client.client_id
        {
            member.last_seen.store(now.0, Ordering::Relaxed);
            return false;
        }
        let member =
            Member { client: client.clone(), last_seen: AtomicI64::new(now.0), digest: AtomicU64::new(0) };
        self.0.insert(id, Arc::new(member));
        true
    }

    pub(super) fn remove(&mut self, channel_id: u64) -> bool {
        self.0.remove(&channel_id).is_some()
    }

    /// The connections not heard of for longer than the timeout.
    pub(super) fn silent(&self, now: Millis, timeout_ms: i64) -> Vec<C> {
        let silent = self.iter().filter(|member| now.0 - member.last_seen().0 > timeout_ms);
        silent.map(|member| member.client.channel.clone()).collect()
    }
}
