//! Listeners.

use crate::service::Service;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Ports to listen on, each serving the same service. Port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// `tls.server.mode`.
    pub tls: TlsMode,
    /// A connection without a byte in either direction for this long is closed. 120 s.
    pub idle_timeout: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    Disabled,
    #[default]
    Permissive,
    Enforcing,
}

pub struct Server {}

impl Server {
    /// Binds every address, and serves each connection on a task of the current tokio runtime.
    pub async fn start<S: Service>(options: ServerOptions, service: Arc<S>) -> io::Result<Server> {
        let _ = (options, service);
        unimplemented!()
    }

    /// The addresses that are listened on, in the order of the options.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        unimplemented!()
    }

    /// Stops accepting; connections stay.
    pub fn stop_accepting(&self) {
        unimplemented!()
    }

    /// Lets connections finish what is in flight, at most for `grace`, then closes them.
    pub async fn shutdown(self, grace: Duration) {
        let _ = grace;
        unimplemented!()
    }
}
