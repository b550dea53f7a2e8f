//! One connection, as others see it: where it comes from, and a way to send to it.

use crate::output::Output;
use roxmq_protocol::command::Command;
use std::net::SocketAddr;
use std::time::Duration;

/// Shared by the task that drives the socket and by everybody who wants to send to the peer.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    remote: SocketAddr,
    local: SocketAddr,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("cannot connect to {addr}: {reason}")]
    Connect { addr: String, reason: String },
    #[error("the connection closed before the answer")]
    Closed,
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("too many calls wait for answers on this connection (limit {0})")]
    TooMany(usize),
}

impl Connection {
    /// A number that no other connection of this process has or had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The peer; with a PROXY header, the source it names.
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// The address on which the peer reached us.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    pub fn is_closed(&self) -> bool {
        unimplemented!()
    }

    /// Closes after what is queued has been sent.
    pub fn close(&self) {
        unimplemented!()
    }

    /// Queues frames that were put together elsewhere, and wakes the connection's task.
    /// From any thread; dropped if the connection is closed.
    pub fn send(&self, output: Output) {
        let _ = output;
        unimplemented!()
    }

    /// Answers the request of this opaque, in this encoding.
    pub fn respond(&self, opaque: i32, encoding: roxmq_protocol::header::Encoding, response: Command) {
        let _ = (opaque, encoding, response);
        unimplemented!()
    }

    /// Sends a request that nobody answers.
    pub fn oneway(&self, request: Command) {
        let _ = request;
        unimplemented!()
    }

    /// Sends a request under an opaque of its own and waits for the answer.
    pub async fn call(&self, request: Command, timeout: Duration) -> Result<Command, CallError> {
        let _ = (request, timeout);
        unimplemented!()
    }
}
