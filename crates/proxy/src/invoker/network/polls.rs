//! A client's connections for requests that wait at a broker: each request has one to itself as long as it waits.
//!
//! The protocol has no word by which one request is given up. But brokers drop what waits for a connection when that
//! closes, and the Java server passes over it when messages come; so a request is given up by closing its connection.
//! Our side is closed first, and what the broker had sent before it saw that is still read: no message that it took out
//! is lost on the way.
//!
//! They don't make the client known: no heartbeat goes over them, and brokers ask nothing over them. After an answer
//! they serve the next request that waits, so a client that is never impatient has as many as it has requests waiting
//! at a time.

use super::Network;
use crate::invoker::Unanswered;
use parking_lot::Mutex;
use roxmq_remoting::{Connection, NoService};
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// How many requests of a client wait alone. More of them share a connection, and wait until their time is up; what they
/// bring then is given back.
const POLLS_MAX: usize = 64;

pub struct Polls {
    turns: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Nothing waits for them.
    idle: Vec<Place>,
    busy: Vec<Arc<Connection>>,
    closed: bool,
}

struct Place {
    address: Arc<str>,
    connection: Arc<Connection>,
}

impl Default for Polls {
    fn default() -> Self {
        Polls { turns: Semaphore::new(POLLS_MAX), state: Mutex::default() }
    }
}

impl Polls {
    /// A connection for a request to this broker alone; none if as many wait as may.
    pub async fn begin(&self, network: &Network, broker: &str) -> Result<Option<Poll<'_>>, Unanswered> {
        let Ok(turn) = self.turns.try_acquire() else { return Ok(None) };
        let address = network.address(broker)?;
        let connection = match self.take_idle(&address) {
            Some(connection) => connection,
            None => {
                let connection = network.connect(broker, &address, Arc::new(NoService)).await?;
                let mut state = self.state.lock();
                if state.closed {
                    // Its call ends at once.
                    connection.close();
                }
                state.busy.push(Arc::clone(&connection));
                connection
            }
        };
        Ok(Some(Poll { polls: self, address, connection, is_idle: false, _turn: turn }))
    }

    fn take_idle(&self, address: &str) -> Option<Arc<Connection>> {
        let mut state = self.state.lock();
        state.idle.retain(|place| !place.connection.is_closed());
        let index = state.idle.iter().position(|place| *place.address == *address)?;
        let connection = state.idle.swap_remove(index).connection;
        state.busy.push(Arc::clone(&connection));
        Some(connection)
    }

    /// The client has left.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.busy.iter().for_each(|connection| connection.close());
        state.idle.drain(..).for_each(|place| place.connection.close());
    }
}

/// A request's connection. Dropped before [`Poll::end`], it closes.
pub struct Poll<'a> {
    polls: &'a Polls,
    address: Arc<str>,
    connection: Arc<Connection>,
    is_idle: bool,
    _turn: SemaphorePermit<'a>,
}

impl Poll<'_> {
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The request is answered: the connection is free for another.
    pub fn end(mut self) {
        self.is_idle = true;
    }
}

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        let mut state = self.polls.state.lock();
        state.busy.retain(|busy| !Arc::ptr_eq(busy, &self.connection));
        if self.is_idle && !state.closed && state.idle.len() < POLLS_MAX {
            let (address, connection) = (Arc::clone(&self.address), Arc::clone(&self.connection));
            state.idle.push(Place { address, connection });
        } else {
            self.connection.close();
        }
    }
}
