//! The name server over real sockets.

// Clippy takes only functions with a test attribute for tests.
#![allow(clippy::unwrap_used)]

mod configuration;
mod kv;
mod notices;
mod registration;
mod rights;
mod routes;
mod support;
mod topics;
