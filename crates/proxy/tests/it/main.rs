//! gRPC over real sockets, in front of a broker in the same process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod client;
mod cluster;
mod cluster_access;
mod cluster_given_up;
mod cluster_questions;
mod connections;
mod errors;
mod failed_messages;
mod failures;
mod given_up;
mod guarded;
mod leaks;
mod lite;
mod lives;
mod node;
mod questions;
mod receives;
mod receiving;
mod relay;
mod relay_alone;
mod remoting;
mod renewals;
mod resets;
mod restarts;
mod routes;
mod script;
mod sends;
mod timed;
mod transport;
