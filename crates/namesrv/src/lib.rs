//! The name server: which brokers are alive, which topics they serve, and where clients reach them.
//!
//! `RouteTable` is the pure core: registrations, time and questions in, routes and notices out. [`Namesrv`] drives
//! it for connections. Nothing but the KV configuration and configuration changes is kept on disk: brokers tell the
//! rest again every 30 seconds.

pub mod address;
pub mod config;

mod files;
mod kv;
mod maintenance;
mod namesrv;
mod requests;
mod route;
mod service;

pub use address::{AddressRule, Asker, RegisteredAddress};
pub use config::NamesrvConfig;
pub use namesrv::{Namesrv, StartError};
pub use requests::{FULL_REGISTRATION, handles};
pub use service::Session;
