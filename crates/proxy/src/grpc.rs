//! gRPC on HTTP/2 connections: the service of the clients, and beside it health and the schema for tools.

use crate::peer::{CallSite, Peer};
use crate::proxy::Proxy;
use crate::schema::DESCRIPTORS;
use crate::schema::messaging_service_server::{MessagingServiceServer, SERVICE_NAME};
use crate::service::Service;
use foldhash::fast::RandomState;
use hyper::body::Incoming;
use hyper::service::service_fn;
use roxmq_remoting::{Http2, HttpConnection, serve_http2};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tonic::body::Body;
use tonic::server::NamedService;

type Request = http::Request<Incoming>;
type Response = http::Response<Body>;
type Answered = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;
type Route = Box<dyn Fn(Request) -> Answered + Send + Sync>;

/// Serves every HTTP/2 connection of a server.
pub struct Grpc {
    proxy: Arc<Proxy>,
    routes: Arc<Routes>,
}

/// By the names of services.
struct Routes(HashMap<&'static str, Route, RandomState>);

/// The schema that is built in can't be shown.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the gRPC service is broken: {0}")]
pub struct SchemaError(#[from] tonic_reflection::server::Error);

impl Grpc {
    pub async fn new(proxy: Arc<Proxy>) -> Result<Self, SchemaError> {
        let (health_reporter, health) = tonic_health::server::health_reporter();
        health_reporter.set_service_status(SERVICE_NAME, tonic_health::ServingStatus::Serving).await;
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let messaging = MessagingServiceServer::new(Service { proxy: Arc::clone(&proxy) })
            .max_decoding_message_size(proxy.config.inbound_message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let mut routes = Routes(HashMap::default());
        routes.add(messaging);
        routes.add(health);
        routes.add(reflection().build_v1()?);
        routes.add(reflection().build_v1alpha()?);
        Ok(Grpc { proxy, routes: Arc::new(routes) })
    }
}

impl Http2 for Grpc {
    fn serve(&self, connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let peer = Peer { remote: connection.remote, local: connection.local };
        let (routes, proxy) = (Arc::clone(&self.routes), Arc::clone(&self.proxy));
        let streams_max = proxy.config.concurrent_calls_max;
        let draining = connection.shutdown();
        let service = service_fn(move |mut request: Request| {
            let authority = request.uri().authority().cloned();
            request.extensions_mut().insert(CallSite { peer, authority });
            routes.call(request)
        });
        Box::pin(async move {
            let mut served = std::pin::pin!(serve_http2(connection, streams_max, service));
            tokio::select! {
                () = &mut served => {}
                () = draining => {
                    // Telemetry streams would keep the connection open for as long as the client lives.
                    proxy.drain();
                    served.await;
                }
            }
        })
    }
}

impl fmt::Debug for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grpc").field("services", &self.routes.0.keys()).finish_non_exhaustive()
    }
}

impl Routes {
    fn add<S>(&mut self, service: S)
    where
        S: tower_service::Service<Request, Response = Response, Error = Infallible>,
        S: NamedService + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        let route = move |request| -> Answered { Box::pin(service.clone().call(request)) };
        self.0.insert(S::NAME, Box::new(route));
    }

    fn call(&self, request: Request) -> Answered {
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        match self.0.get(service) {
            Some(route) => route(request),
            None => {
                let status = tonic::Status::unimplemented(format!("there is no service {service}"));
                Box::pin(async move { Ok(status.into_http()) })
            }
        }
    }
}
