//! The clients that are there, by their ids.
//!
//! A client is known from its first call on, and forgotten when it says that it leaves or has called nothing for a
//! while. An open telemetry stream or an unanswered call is a sign of life.

use crate::caller::Caller;
use crate::client::Client;
use crate::config::ProxyConfig;
use crate::invoker::Invoker;
use crate::peer::Peer;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use crate::telemetry::{self, Outbound, Questions};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub struct Clients {
    invoker: Arc<dyn Invoker>,
    questions: Arc<Questions>,
    clients_max: usize,
    expiry: Duration,
    by_id: Mutex<HashMap<Box<str>, Arc<Client>, RandomState>>,
}

impl Clients {
    pub fn new(invoker: Arc<dyn Invoker>, questions: Arc<Questions>, config: &ProxyConfig) -> Self {
        Clients {
            invoker,
            questions,
            clients_max: config.clients_max,
            expiry: Duration::from_millis(config.client_expiry_ms),
            by_id: Mutex::default(),
        }
    }

    /// The client that calls, known from now on if it wasn't.
    pub fn of(&self, caller: &Caller<'_>, peer: Peer) -> Result<Arc<Client>> {
        let mut by_id = self.by_id.lock();
        let known = by_id.get(caller.client_id);
        if let Some(client) = known.filter(|client| !client.is_cut_off()) {
            client.seen();
            return Ok(Arc::clone(client));
        }
        if known.is_none() && by_id.len() >= self.clients_max {
            let text = format!("there are {} clients already, which is the limit", self.clients_max);
            return Err(Refusal::new(Code::TooManyRequests, text));
        }
        let telemetry = known.map_or_else(Arc::<Outbound>::default, |old| Arc::clone(&old.telemetry));
        let settings = known.and_then(|old| old.settings());
        let client = self.open(caller, peer, telemetry);
        if let Some(settings) = settings {
            client.set_settings((*settings).clone());
        }
        let old = by_id.insert(caller.client_id.into(), Arc::clone(&client));
        drop(by_id);
        // Its link closes, which the lock isn't for.
        drop(old);
        Ok(client)
    }

    fn open(&self, caller: &Caller<'_>, peer: Peer, telemetry: Arc<Outbound>) -> Arc<Client> {
        Arc::new_cyclic(|client| {
            let (outbound, questions) = (Arc::clone(&telemetry), Arc::clone(&self.questions));
            let take = telemetry::take_from_broker(Weak::clone(client), outbound, questions);
            Client::new(caller, self.invoker.open(peer, take), telemetry)
        })
    }

    pub fn known(&self, id: &str) -> Option<Arc<Client>> {
        self.by_id.lock().get(id).cloned()
    }

    pub fn forget(&self, client: &Arc<Client>) {
        let mut by_id = self.by_id.lock();
        let gone = match by_id.get(&client.id) {
            Some(known) if Arc::ptr_eq(known, client) => by_id.remove(&client.id),
            _ => None,
        };
        drop(by_id);
        drop(gone);
    }

    /// Forgets who has been silent for too long.
    pub fn expire(&self) -> Vec<Arc<Client>> {
        let mut gone = Vec::new();
        self.by_id.lock().retain(|_, client| {
            let stays = client.telemetry.is_open() || client.silent_for() < self.expiry;
            if !stays {
                gone.push(Arc::clone(client));
            }
            stays
        });
        for client in &gone {
            tracing::debug!(client_id = %client.id, "a client is silent and forgotten");
        }
        gone
    }

    pub fn count(&self) -> usize {
        self.by_id.lock().len()
    }

    pub fn all(&self) -> Vec<Arc<Client>> {
        self.by_id.lock().values().cloned().collect()
    }

    /// Forgets everybody.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.by_id.lock());
        drop(all);
    }
}
