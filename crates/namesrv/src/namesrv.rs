//! The name server as a service of connections.

use crate::address::{AddressRule, RegisteredAddress};
use crate::config::NamesrvConfig;
use crate::route::{RegisterError, Registered, Registration};
use std::path::PathBuf;
use std::sync::Arc;

pub struct Namesrv {}

/// Why a name server doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot read the KV configuration {path} (kvConfigPath): {source}")]
    KvConfig { path: PathBuf, source: std::io::Error },
}

/// What is kept for a connection: the brokers that registered over it.
#[derive(Debug, Default)]
pub struct Session {}

/// Whether this request is the name server's, so that a port can serve a broker as well.
pub fn handles(code: i32) -> bool {
    let _ = code;
    unimplemented!()
}

impl Namesrv {
    /// Reads the KV configuration; needs no runtime yet.
    pub fn new(config: NamesrvConfig) -> Result<Arc<Namesrv>, StartError> {
        Namesrv::with_addresses(config, Arc::new(RegisteredAddress))
    }

    /// A name server that chooses the addresses in its answers by this rule.
    pub fn with_addresses(
        config: NamesrvConfig,
        addresses: Arc<dyn AddressRule>,
    ) -> Result<Arc<Namesrv>, StartError> {
        let _ = (config, addresses);
        unimplemented!()
    }

    /// The configuration as it is now, changes over the network included.
    pub fn config(&self) -> Arc<NamesrvConfig> {
        unimplemented!()
    }

    /// Registers a broker of this process. It stays until [`unregister_local`](Self::unregister_local): it needs no
    /// heartbeats, and registers again only when its topics change.
    pub fn register_local(&self, registration: Registration) -> Result<Registered, RegisterError> {
        let _ = registration;
        unimplemented!()
    }

    pub fn unregister_local(&self, broker_name: &str, broker_addr: &str) {
        let _ = (broker_name, broker_addr);
        unimplemented!()
    }

    /// Drops brokers that have fallen silent, until [`shutdown`](Self::shutdown) or the future is dropped.
    pub async fn run_maintenance(self: Arc<Self>) {
        unimplemented!()
    }

    /// Ends `run_maintenance`.
    pub fn shutdown(&self) {
        unimplemented!()
    }
}
