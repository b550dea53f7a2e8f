//! HTTP on the ports of the remoting protocol: health and metrics over HTTP/1, and a place for gRPC over HTTP/2.

use crate::options::ServerOptions;
use crate::server::{Phase, reached};
use http_body_util::{Empty, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// How long an HTTP/1 connection may take to send a request, or stay without one.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// A silent HTTP/2 peer is asked so often whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const CONCURRENT_STREAMS_MAX: u32 = 100;

/// A byte stream in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<IO: AsyncRead + AsyncWrite + Send + Unpin> Stream for IO {}

/// A connection that speaks HTTP, from its first byte on and with TLS taken off.
pub struct HttpConnection {
    pub stream: Box<dyn Stream>,
    /// The peer; with a PROXY header, the source it names.
    pub remote: SocketAddr,
    pub local: SocketAddr,
    /// Whether TLS was taken off.
    pub secure: bool,
    pub(crate) phase: watch::Receiver<Phase>,
}

impl HttpConnection {
    /// A future that is done when the server shuts down and the connection should finish. The server waits for
    /// that as long as its grace lasts.
    pub fn shutdown(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut phase = self.phase.clone();
        async move { reached(Phase::Draining, &mut phase).await }
    }
}

/// Serves HTTP/2 connections.
pub trait Http2: Debug + Send + Sync {
    /// Until the peer goes or the server shuts down.
    fn serve(&self, connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Answers every call as gRPC says a method that isn't there is answered.
#[derive(Debug)]
pub(crate) struct UnimplementedGrpc;

impl Http2 for UnimplementedGrpc {
    fn serve(&self, connection: HttpConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(serve_http2(connection, CONCURRENT_STREAMS_MAX, service_fn(unimplemented_grpc)))
    }
}

/// Serves one HTTP/2 connection. At a shutdown calls that have begun are finished.
pub async fn serve_http2<S, B>(connection: HttpConnection, concurrent_streams_max: u32, service: S)
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut shutdown = pin!(connection.shutdown());
    let mut served = pin!(
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .max_concurrent_streams(concurrent_streams_max)
            .serve_connection(TokioIo::new(connection.stream), service)
    );
    let result = tokio::select! {
        result = &mut served => result,
        () = &mut shutdown => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    log_end(connection.remote, result);
}

async fn unimplemented_grpc(_: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    const UNIMPLEMENTED: HeaderValue = HeaderValue::from_static("12");
    const MESSAGE: HeaderValue = HeaderValue::from_static(
        "this server serves no gRPC; connect with a client of the remoting protocol, to this same port",
    );
    let mut response = Response::new(Empty::new());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", UNIMPLEMENTED);
    headers.insert("grpc-message", MESSAGE);
    Ok(response)
}

/// Serves `/healthz`, `/readyz` and `/metrics`.
pub(crate) async fn serve_http1(connection: HttpConnection, options: Arc<ServerOptions>) {
    let mut shutdown = pin!(connection.shutdown());
    let mut served = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(
                TokioIo::new(connection.stream),
                service_fn(move |request| {
                    let options = Arc::clone(&options);
                    async move { Ok::<_, Infallible>(answer(&request, &options).await) }
                }),
            )
    );
    let result = tokio::select! {
        result = &mut served => result,
        () = &mut shutdown => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    log_end(connection.remote, result);
}

async fn answer(request: &Request<Incoming>, options: &ServerOptions) -> Response<Full<Bytes>> {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = if reads { request.uri().path() } else { "" };
    let (answered, content_type) = match (path, &options.metrics) {
        ("/healthz", _) => (Ok("ok".to_owned()), TEXT),
        ("/readyz", _) => (options.readiness.check().map(|()| "ready".to_owned()), TEXT),
        ("/metrics", Some(metrics)) => (metrics.collect().await, METRICS),
        _ => return text(StatusCode::NOT_FOUND, nothing_there(request), TEXT),
    };
    match answered {
        Ok(found) => text(StatusCode::OK, found, content_type),
        Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, reason, TEXT),
    }
}

fn nothing_there(request: &Request<Incoming>) -> String {
    format!(
        "there is nothing at {} {}\n\
         GET /healthz says whether this server is alive, GET /readyz whether it can serve; a broker has GET /metrics.\n\
         Messages go over the remoting protocol and gRPC, to this same port.\n",
        request.method(),
        request.uri().path()
    )
}

fn text(status: StatusCode, text: String, content_type: HeaderValue) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

fn log_end(remote: SocketAddr, result: Result<(), hyper::Error>) {
    match result {
        Ok(()) => tracing::debug!(%remote, "HTTP connection closed"),
        Err(error) => tracing::debug!(%remote, %error, "HTTP connection lost"),
    }
}
