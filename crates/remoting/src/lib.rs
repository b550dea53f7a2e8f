//! Connections that speak the remoting protocol: listeners that tell protocols apart by the first bytes, bursts of
//! requests read and answered together, calls to peers, TLS, PROXY protocol, an ordered shutdown.
//!
//! It knows no request code's meaning.

pub mod client;
pub mod connection;
pub mod output;
pub mod server;
pub mod service;

pub use client::Client;
pub use connection::{CallError, Connection};
pub use output::Output;
pub use server::{Server, ServerOptions};
pub use service::Service;
