//! gRPC on HTTP/2 connections: the service of the clients, and beside it health and the schema for tools.

mod framing;
mod inbound;
mod protocol;

use crate::caller;
use crate::peer::{CallSite, Peer};
use crate::proxy::Proxy;
use crate::schema::DESCRIPTORS;
use crate::schema::messaging_service_server::{MessagingServiceServer, SERVICE_NAME};
use crate::service::Service;
use foldhash::fast::RandomState;
use http::HeaderValue;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::service::service_fn;
use inbound::Inbound;
use roxmq_remoting::{Http2, HttpConnection, serve_http2};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::NamedService;

type Request = http::Request<Inbound<Incoming>>;
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
            // Checked where they come in; here it is what a compressed message may become.
            .max_decoding_message_size(proxy.config.inbound_message_bytes_max)
            .accept_compressed(CompressionEncoding::Gzip)
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
        let bytes_max = proxy.config.inbound_message_bytes_max;
        let service = service_fn(move |request: http::Request<Incoming>| {
            let mut request = request.map(|body| Inbound::new(body, bytes_max));
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
        if let Err(no_call) = protocol::check(&request) {
            return at_once(no_call.into_response());
        }
        let path = request.uri().path();
        let Some(route) = path.split('/').nth(1).and_then(|service| self.0.get(service)) else {
            return at_once(unimplemented(path).into_http());
        };
        let path = request.uri().path_and_query().cloned();
        let timeout = protocol::timeout(request.headers()).and_then(caller::timeout);
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return at_once(too_late(Duration::ZERO).into_http());
        }
        let answered = route(request);
        Box::pin(async move {
            let mut response = within(timeout, answered).await?;
            // The routes know only the code for calls that there are not.
            let headers = response.headers_mut();
            if headers.get(Status::GRPC_STATUS).is_some_and(|code| code == UNIMPLEMENTED)
                && !headers.contains_key(Status::GRPC_MESSAGE)
            {
                return Ok(unimplemented(path.as_ref().map_or("", PathAndQuery::path)).into_http());
            }
            Ok(response)
        })
    }
}

/// [`tonic::Code::Unimplemented`] on the wire.
const UNIMPLEMENTED: HeaderValue = HeaderValue::from_static("12");

fn at_once(response: Response) -> Answered {
    Box::pin(std::future::ready(Ok(response)))
}

fn unimplemented(path: &str) -> Status {
    Status::unimplemented(format!("there is no call {path} here"))
}

/// A call that isn't answered in time is dropped. A client doesn't wait any longer, but some don't say so.
async fn within(timeout: Option<Duration>, answered: Answered) -> Result<Response, Infallible> {
    let Some(timeout) = timeout else { return answered.await };
    let in_time = tokio::time::timeout(timeout, answered).await;
    in_time.unwrap_or_else(|_| Ok(too_late(timeout).into_http()))
}

fn too_late(timeout: Duration) -> Status {
    Status::deadline_exceeded(format!("the call's time of {timeout:?} (grpc-timeout) is over"))
}
