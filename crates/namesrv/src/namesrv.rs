//! The name server: the route table with its lock and clock, the KV configuration, and what happens outside of both
//! when a broker comes or goes.

use crate::address::{AddressRule, RegisteredAddress};
use crate::config::{ConfigStore, NamesrvConfig};
use crate::kv::KvConfig;
use crate::route::{MinIdNotice, RegisterError, Registered, Registration, RouteTable};
use parking_lot::{Mutex, RwLock};
use roxmq_remoting::Connection;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, mpsc};
use tracing::{info, warn};

/// How many notices wait for maintenance to send them. A set rarely changes; more is a cluster falling apart.
const NOTICES_MAX: usize = 1024;

pub struct Namesrv {
    config: Arc<ConfigStore>,
    table: RwLock<RouteTable>,
    kv: Arc<KvConfig>,
    addresses: Arc<dyn AddressRule>,
    started: Instant,
    /// Connections that brokers registered over, to be closed when the broker expires.
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    notices: mpsc::Sender<MinIdNotice>,
    pub(crate) maintenance: Maintenance,
}

/// What the maintenance task needs besides the table.
pub(crate) struct Maintenance {
    pub notices: tokio::sync::Mutex<mpsc::Receiver<MinIdNotice>>,
    pub stop: Notify,
}

/// Why a name server doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot read the KV configuration {path} (kvConfigPath): {source}")]
    KvConfig { path: PathBuf, source: std::io::Error },
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
        let kv = KvConfig::open(&config.kv_config_path)
            .map_err(|source| StartError::KvConfig { path: config.kv_config_path.clone(), source })?;
        let (notices, waiting) = mpsc::channel(NOTICES_MAX);
        Ok(Arc::new(Namesrv {
            config: Arc::new(ConfigStore::new(config)),
            table: RwLock::default(),
            kv: Arc::new(kv),
            addresses,
            started: Instant::now(),
            connections: Mutex::default(),
            notices,
            maintenance: Maintenance { notices: tokio::sync::Mutex::new(waiting), stop: Notify::new() },
        }))
    }

    /// The configuration as it is now, changes over the network included.
    pub fn config(&self) -> Arc<NamesrvConfig> {
        self.config.current()
    }

    /// Ends `run_maintenance`.
    pub fn shutdown(&self) {
        // Stored until it is waited for, so that a stop before the start isn't lost.
        self.maintenance.stop.notify_one();
    }

    /// `connection` is the one that the registration came over.
    pub(crate) fn register(
        &self,
        registration: Registration,
        connection: u64,
    ) -> Result<Registered, RegisterError> {
        let policy = self.config().route_policy();
        let (broker_name, broker_addr) = (registration.broker_name.clone(), registration.broker_addr.clone());
        let mut table = self.table.write();
        let was_known = table.has_broker(&broker_name, &broker_addr);
        let mut registered = table.register(registration, connection, self.now(), policy)?;
        drop(table);
        if !was_known {
            info!(broker_name, broker_addr, "broker registered");
        }
        self.notify(registered.notice.take());
        Ok(registered)
    }

    pub(crate) fn unregister(&self, broker_name: &str, broker_addr: &str) {
        let policy = self.config().route_policy();
        let notice = self.table.write().unregister(broker_name, broker_addr, policy);
        info!(broker_name, broker_addr, "broker unregistered");
        self.notify(notice);
    }

    pub(crate) fn notify(&self, notice: Option<MinIdNotice>) {
        let Some(notice) = notice else { return };
        if self.notices.try_send(notice).is_err() {
            warn!(
                "a notice of a changed smallest broker id was dropped: {NOTICES_MAX} others wait to be sent"
            );
        }
    }

    /// Remembers a connection that a broker registered over.
    pub(crate) fn keep_connection(&self, connection: &Arc<Connection>) {
        self.connections.lock().entry(connection.id()).or_insert_with(|| connection.clone());
    }

    /// The brokers that registered over the connection are gone at once, unless they came back over another.
    pub(crate) fn connection_closed(&self, connection: &Connection, brokers: &[(String, String)]) {
        self.connections.lock().remove(&connection.id());
        let policy = self.config().route_policy();
        for (broker_name, broker_addr) in brokers {
            let mut table = self.table.write();
            let left = table.connection_closed(broker_name, broker_addr, connection.id(), policy);
            drop(table);
            if let Some(notice) = left {
                info!(broker_name, broker_addr, "a broker is gone: its connection closed");
                self.notify(notice);
            }
        }
    }

    pub(crate) fn close_connection(&self, id: u64) {
        let connection = self.connections.lock().get(&id).cloned();
        if let Some(connection) = connection {
            connection.close();
        }
    }

    pub(crate) fn table(&self) -> &RwLock<RouteTable> {
        &self.table
    }

    pub(crate) fn kv(&self) -> &Arc<KvConfig> {
        &self.kv
    }

    pub(crate) fn config_store(&self) -> &Arc<ConfigStore> {
        &self.config
    }

    pub(crate) fn addresses(&self) -> &dyn AddressRule {
        &*self.addresses
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::now()
    }

    pub(crate) fn seconds_since_start(&self) -> u64 {
        self.now().duration_since(self.started).as_secs()
    }
}
