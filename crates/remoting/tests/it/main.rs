//! The remoting crate over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod frames;
mod http;
mod limits;
mod local;
mod proxy;
mod reactors;
mod send_now;
mod shutdown;
mod support;
mod tls;
