//! The binary as its users run it: processes, signals, exit codes and what they print.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod client;
mod ipv6;
mod kill;
mod process;
mod proxy;
mod server;
mod start;
mod store_check;
