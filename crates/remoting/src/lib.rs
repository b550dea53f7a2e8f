//! Connections that speak the remoting protocol: listeners that tell protocols apart by the first bytes, bursts of
//! requests read and answered together, calls to peers, TLS, PROXY protocol, an ordered shutdown.
//!
//! It knows no request code's meaning.

mod calls;
pub mod client;
pub mod connection;
mod driver;
mod greeting;
pub mod http;
mod incoming;
pub mod local;
mod log_pace;
pub mod options;
pub mod output;
mod proxy_protocol;
pub mod reactors;
mod registry;
mod rewound;
mod scratch;
pub mod server;
pub mod service;
mod sniff;
mod socket;
pub mod tls;

pub use calls::CallError;
pub use client::{Client, ClientOptions};
pub use connection::{Connection, LateAnswer};
pub use http::{Http2, HttpConnection, Stream, serve_http2};
pub use local::{LocalConnection, LocalEnds, burst};
pub use log_pace::LogPace;
pub use options::{ClientAuth, Metrics, Readiness, ServerOptions, ServerTls, TlsMode};
pub use output::Output;
pub use reactors::{ReactorThreads, Reactors};
pub use server::{Server, StartError};
pub use service::{NoService, Service};
pub use tls::{ClientTls, TlsError};
