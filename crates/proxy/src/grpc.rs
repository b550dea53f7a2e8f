//! gRPC on HTTP/2 connections: the service of the clients, and beside it health and the schema for tools.

mod body;
mod call;
mod connection;
mod framing;
mod inbound;
mod protocol;
mod routes;
mod unary;

use crate::peer::Peer;
use crate::proxy::Proxy;
use connection::Limits;
use routes::Routes;
use roxmq_remoting::{Http2, HttpConnection};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Serves every HTTP/2 connection of a server.
pub struct Grpc {
    proxy: Arc<Proxy>,
    routes: Arc<Routes>,
}

/// The schema that is built in can't be shown.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the gRPC service is broken: {0}")]
pub struct SchemaError(#[from] tonic_reflection::server::Error);

impl Grpc {
    pub async fn new(proxy: Arc<Proxy>) -> Result<Self, SchemaError> {
        let routes = Arc::new(Routes::of(&proxy).await?);
        Ok(Grpc { proxy, routes })
    }
}

impl Http2 for Grpc {
    fn serve(&self, connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let peer = Peer { remote: connection.remote, local: connection.local };
        let (routes, proxy) = (Arc::clone(&self.routes), Arc::clone(&self.proxy));
        let limits = Limits {
            streams_max: proxy.config.concurrent_calls_max,
            idle: Duration::from_millis(proxy.config.connection_idle_ms),
        };
        let call = move |request| routes.call(request, peer);
        // Telemetry streams would keep the connection open for as long as the client lives.
        let drain = move || proxy.drain();
        Box::pin(connection::serve(connection, limits, call, drain))
    }
}

impl fmt::Debug for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grpc").field("services", &self.routes.services()).finish_non_exhaustive()
    }
}
