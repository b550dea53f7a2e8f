//! Tells the name servers what this broker has.

use std::future::Future;
use std::pin::Pin;

/// A call that somebody polls.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The name servers, over the network or in this process.
pub trait NameServers: Send + Sync + 'static {
    /// Their names for logs, one for each; the index selects one in the calls.
    fn list(&self) -> Vec<String>;

    /// Sends a request (103, 104, 322) to one of them.
    fn call<'a>(
        &'a self,
        server: &'a str,
        request: roxmq_protocol::command::Command,
    ) -> BoxFuture<'a, Result<roxmq_protocol::command::Command, roxmq_remoting::CallError>>;
}
