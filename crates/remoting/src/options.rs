//! What a server can be told.

use crate::http::Http2;
use crate::reactors::Reactors;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Ports to listen on, each serving the same service. Port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    pub tls: ServerTls,
    /// A connection without a byte in either direction for this long is closed. 120 s.
    pub idle_timeout: Duration,
    /// How long a connection may take from its first byte to show which protocol it speaks, TLS handshake included. 10 s.
    pub greeting_timeout: Duration,
    /// A peer that lets more than this wait to be sent to it is cut off. 64 MiB.
    pub output_bytes_max: usize,
    /// What `/readyz` answers.
    pub readiness: Readiness,
    /// What `/metrics` answers; by default there is nothing there.
    pub metrics: Option<Metrics>,
    /// What serves HTTP/2 connections; by default every call is answered as unimplemented.
    pub http2: Option<Arc<dyn Http2>>,
    /// Where connections live; by default they are tasks of the runtime that the server was started on.
    pub reactors: Option<Reactors>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            listen: Vec::new(),
            tls: ServerTls::default(),
            idle_timeout: Duration::from_secs(120),
            greeting_timeout: Duration::from_secs(10),
            output_bytes_max: 64 * 1024 * 1024,
            readiness: Readiness::default(),
            metrics: None,
            http2: None,
            reactors: None,
        }
    }
}

impl ServerOptions {
    /// Everything by default, on these ports.
    pub fn listen(addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        ServerOptions { listen: addresses.into_iter().collect(), ..ServerOptions::default() }
    }
}

/// How a server speaks TLS. Without a key and a certificate it makes a self-signed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTls {
    /// `tls.server.mode`.
    pub mode: TlsMode,
    /// `tls.server.keyPath`, PEM.
    pub key_path: Option<PathBuf>,
    /// `tls.server.certPath`, PEM, the server's own certificate first.
    pub cert_path: Option<PathBuf>,
    /// `tls.server.need.client.auth`.
    pub client_auth: ClientAuth,
    /// `tls.server.trustCertPath`: who signs the clients' certificates, PEM.
    pub trust_cert_path: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// TLS connections are closed.
    Disabled,
    /// Both are served.
    #[default]
    Permissive,
    /// Plain connections are closed.
    Enforcing,
}

/// Whether a client has to show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    #[default]
    None,
    Optional,
    Require,
}

/// Says whether the server can serve, or in a few words why it can't ("recovering").
#[derive(Clone)]
pub struct Readiness(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl Readiness {
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Readiness(Arc::new(check))
    }

    pub fn check(&self) -> Result<(), String> {
        (self.0)()
    }
}

impl Default for Readiness {
    fn default() -> Self {
        Readiness::new(|| Ok(()))
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Readiness").field(&self.check()).finish()
    }
}

/// Gives metrics in Prometheus's text format, or in a few words why there are none.
#[derive(Clone)]
pub struct Metrics(Arc<dyn Fn() -> MetricsText + Send + Sync>);

type MetricsText = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

impl Metrics {
    pub fn new<F>(collect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        Metrics(Arc::new(move || Box::pin(collect())))
    }

    pub async fn collect(&self) -> Result<String, String> {
        (self.0)().await
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
