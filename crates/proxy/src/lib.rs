//! gRPC for RocketMQ's clients of version 5: a translation to requests of the remoting protocol.
//!
//! Every rule about topics, groups and messages is the broker's. Here are the names and limits that only this
//! protocol has, the two forms of a message, and what is kept of each client while it is there. Requests go out
//! through one [`Invoker`]: to the broker of this process, or to brokers over the network.

mod access;
mod addresses;
mod announce;
mod caller;
mod calls;
mod client;
mod clients;
pub mod config;
mod facts;
mod grpc;
pub mod invoker;
mod join;
mod message;
mod names;
mod peer;
mod proxy;
mod rate;
mod receipt;
mod refusal;
mod registration;
mod relay;
mod renewals;
mod retries;
pub mod schema;
mod service;
mod settings;
mod telemetry;
mod waiting;
mod wire_time;

pub use access::AccessControl;
pub use config::ProxyConfig;
pub use grpc::Grpc;
pub use invoker::Invoker;
pub use proxy::{Counts, Proxy};
pub use relay::Relay;
