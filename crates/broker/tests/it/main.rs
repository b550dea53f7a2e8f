//! The broker over real sockets, a module for each of its concerns.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod batch;
mod delay;
mod groups;
mod long_poll;
mod node;
mod offsets;
mod operators;
mod pull;
mod query;
mod requests;
mod retry;
mod send;
mod topics;
