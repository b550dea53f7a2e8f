//! Calls to servers by address, over connections that are kept and reused.

use crate::calls::CallError;
use crate::connection::{Abort, Connection, Ends, Origin, Stage};
use crate::driver::Driver;
use crate::registry::Registry;
use crate::service::{NoService, Service};
use crate::tls::{ClientTls, TlsError};
use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// TLS to every server, if set (`tls.enable`).
    pub tls: Option<ClientTls>,
    /// Name resolution and TLS handshake included. 3 s.
    pub connect_timeout: Duration,
    /// A connection without a byte in either direction for this long is closed. 120 s.
    pub idle_timeout: Duration,
    /// A server that lets more than this wait to be sent to it is cut off. 64 MiB.
    pub output_bytes_max: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            tls: None,
            connect_timeout: Duration::from_secs(3),
            idle_timeout: Duration::from_secs(120),
            output_bytes_max: 64 * 1024 * 1024,
        }
    }
}

/// A pool of at most one connection an address. Cheap to clone; the last clone closes the connections.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Arc<Pool>,
}

struct Pool {
    options: ClientOptions,
    tls: Option<Arc<ClientConfig>>,
    /// Starts with the first connection, because only then there must be a runtime.
    registry: OnceLock<Arc<Registry>>,
    slots: Mutex<HashMap<Box<str>, Slot, foldhash::fast::RandomState>>,
    drive: Box<Drive>,
}

/// Starts the task of a connection, for the service that the client was made with.
type Drive = dyn Fn(TcpOrTls, Arc<Connection>, Arc<Registry>) + Send + Sync;

enum TcpOrTls {
    Tcp(TcpStream),
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

/// The place of an address.
#[derive(Clone, Debug, Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    /// Held by whoever connects; the others wait for it and find the connection made.
    connecting: Arc<tokio::sync::Mutex<()>>,
}

impl Default for Client {
    fn default() -> Self {
        Client::new()
    }
}

impl Client {
    /// A client whose peers may send no requests of their own (they are answered with code 3).
    pub fn new() -> Self {
        Client::with_config(ClientOptions::default(), None, Arc::new(NoService))
    }

    /// A client whose peers' requests go to this service.
    pub fn with_service<S: Service>(options: ClientOptions, service: Arc<S>) -> Result<Self, TlsError> {
        let tls = options.tls.as_ref().map(ClientTls::load).transpose()?;
        Ok(Client::with_config(options, tls, service))
    }

    /// Like [`Client::new`], with options.
    pub fn with_options(options: ClientOptions) -> Result<Self, TlsError> {
        Client::with_service(options, Arc::new(NoService))
    }

    fn with_config<S: Service>(
        options: ClientOptions,
        tls: Option<Arc<ClientConfig>>,
        service: Arc<S>,
    ) -> Self {
        let pool = Pool {
            options,
            tls,
            registry: OnceLock::new(),
            slots: Mutex::default(),
            drive: Box::new(move |io, connection, registry| {
                drive(io, Arc::clone(&service), connection, registry);
            }),
        };
        Client { pool: Arc::new(pool) }
    }

    /// The connection to `host:port`, made now if there is none that is alive.
    pub async fn connection(&self, addr: &str) -> Result<Arc<Connection>, CallError> {
        let connecting = {
            let mut slots = self.pool.slots.lock();
            match slots.get(addr) {
                Some(slot) => match slot.alive() {
                    Some(connection) => return Ok(connection),
                    None => slot.connecting.clone(),
                },
                None => slots.entry(addr.into()).or_default().connecting.clone(),
            }
        };
        let timeout = self.pool.options.connect_timeout;
        let connected = tokio::time::timeout(timeout, self.pool.connect_once(addr, &connecting)).await;
        let reason = match connected {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => error.to_string(),
            Err(_) => no_connection_within(timeout),
        };
        Err(CallError::Connect { addr: addr.to_owned(), reason })
    }

    /// A connection to `host:port` that is the caller's alone; what the server asks over it goes to this service. It
    /// stays until somebody closes it, or it is idle for too long.
    pub async fn connect_alone<S: Service>(
        &self,
        addr: &str,
        service: Arc<S>,
    ) -> Result<Arc<Connection>, CallError> {
        let timeout = self.pool.options.connect_timeout;
        let connected = tokio::time::timeout(timeout, self.pool.open(addr)).await;
        let reason = match connected {
            Ok(Ok((io, connection))) => {
                drive(io, service, Arc::clone(&connection), self.pool.registry());
                return Ok(connection);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => no_connection_within(timeout),
        };
        Err(CallError::Connect { addr: addr.to_owned(), reason })
    }

    /// Sends a request and waits for its answer; connecting counts against the timeout.
    pub async fn call(&self, addr: &str, request: Command, timeout: Duration) -> Result<Command, CallError> {
        let start = Instant::now();
        let connection = match tokio::time::timeout(timeout, self.connection(addr)).await {
            Ok(connection) => connection?,
            Err(_) => return Err(CallError::Timeout(timeout)),
        };
        match connection.call(request, timeout.saturating_sub(start.elapsed())).await {
            Err(CallError::Timeout(_)) => Err(CallError::Timeout(timeout)),
            answer => answer,
        }
    }

    pub async fn oneway(&self, addr: &str, request: Command) -> Result<(), CallError> {
        self.connection(addr).await?.oneway(request);
        Ok(())
    }

    /// Closes every connection.
    pub fn close(&self) {
        self.pool.slots.lock().clear();
        if let Some(registry) = self.pool.registry.get() {
            registry.advance_all(Stage::Closing);
        }
    }
}

impl Slot {
    fn alive(&self) -> Option<Arc<Connection>> {
        self.connection.as_ref().filter(|connection| !connection.is_closed()).cloned()
    }
}

impl Pool {
    /// Connects, unless somebody else did so meanwhile.
    async fn connect_once(
        &self,
        addr: &str,
        connecting: &tokio::sync::Mutex<()>,
    ) -> io::Result<Arc<Connection>> {
        let _connecting = connecting.lock().await;
        if let Some(connection) = self.slots.lock().get(addr).and_then(Slot::alive) {
            return Ok(connection);
        }
        let (io, connection) = self.open(addr).await?;
        (self.drive)(io, Arc::clone(&connection), self.registry());
        if let Some(slot) = self.slots.lock().get_mut(addr) {
            slot.connection = Some(connection.clone());
        }
        Ok(connection)
    }

    fn registry(&self) -> Arc<Registry> {
        Arc::clone(self.registry.get_or_init(|| Registry::start(self.options.idle_timeout)))
    }

    async fn open(&self, addr: &str) -> io::Result<(TcpOrTls, Arc<Connection>)> {
        let (host, port) = split(addr)?;
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        let ends =
            Ends { remote: stream.peer_addr()?, local: stream.local_addr()?, origin: Origin::Elsewhere };
        let io = match &self.tls {
            None => TcpOrTls::Tcp(stream),
            Some(config) => {
                let name = ServerName::try_from(host.to_owned()).map_err(invalid)?;
                let stream = TlsConnector::from(config.clone()).connect(name, stream).await?;
                TcpOrTls::Tls(Box::new(stream))
            }
        };
        let connection = Arc::new(Connection::new(ends, self.options.output_bytes_max));
        Ok((io, connection))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.get() {
            registry.advance_all(Stage::Aborted(Abort::Dropped));
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("options", &self.options)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

/// Starts the task of a connection.
fn drive<S: Service>(io: TcpOrTls, service: Arc<S>, connection: Arc<Connection>, registry: Arc<Registry>) {
    match io {
        TcpOrTls::Tcp(io) => {
            tokio::spawn(Driver::new(io, Vec::new(), service, connection, registry, None));
        }
        TcpOrTls::Tls(io) => {
            tokio::spawn(Driver::new(io, Vec::new(), service, connection, registry, None));
        }
    }
}

fn no_connection_within(timeout: Duration) -> String {
    format!("no connection within {timeout:?}")
}

/// Splits `host:port`; an IPv6 address stands in brackets.
fn split(addr: &str) -> io::Result<(&str, u16)> {
    let (host, port) = addr.rsplit_once(':').ok_or_else(|| invalid("the address has no port"))?;
    let port = port.parse().map_err(|_| invalid(format!("'{port}' is no port")))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    Ok((bare.unwrap_or(host), port))
}

fn invalid(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
