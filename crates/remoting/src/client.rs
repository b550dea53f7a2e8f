//! Calls to servers by address, over connections that are kept and reused.

use crate::connection::{CallError, Connection};
use roxmq_protocol::command::Command;
use std::sync::Arc;
use std::time::Duration;

/// A pool of at most one connection an address. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Client {}

impl Client {
    /// A client whose peers may send no requests of their own (they are answered with code 3).
    pub fn new() -> Self {
        unimplemented!()
    }

    /// The connection to `host:port`, made now if there is none that is alive.
    pub async fn connection(&self, addr: &str) -> Result<Arc<Connection>, CallError> {
        let _ = addr;
        unimplemented!()
    }

    pub async fn call(&self, addr: &str, request: Command, timeout: Duration) -> Result<Command, CallError> {
        let _ = (addr, request, timeout);
        unimplemented!()
    }

    pub async fn oneway(&self, addr: &str, request: Command) -> Result<(), CallError> {
        let _ = (addr, request);
        unimplemented!()
    }

    /// Closes every connection.
    pub fn close(&self) {
        unimplemented!()
    }
}
