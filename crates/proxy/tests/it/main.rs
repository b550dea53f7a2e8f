//! gRPC over real sockets, in front of a broker in the same process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod lives;
mod node;
mod refusals;
mod routes;
mod sends;
