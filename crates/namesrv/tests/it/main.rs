//! The name server over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod configuration;
mod kv;
mod notices;
mod registration;
mod rights;
mod routes;
mod support;
mod topics;
