//! The broker: topics, groups and offsets over the store, a file for each request it answers.

mod admin;
mod admin_clients;
mod admin_rights;
mod arrivals;
mod assignment;
pub mod broker;
pub mod clients;
pub mod config;
pub mod delay;
mod disk_work;
mod dispatch;
pub mod groups;
mod lock_requests;
pub mod locks;
mod losses;
mod offset_requests;
pub mod offsets;
mod pull;
mod query;
mod refusal;
pub mod registration;
mod replaced_file;
pub mod resets;
mod retry;
mod send;
mod send_back;
pub mod service;
pub mod session;
pub mod state;
pub mod stats;
mod table_version;
pub mod topics;
mod upkeep;

pub use broker::{Broker, BrokerOptions, StartError, StartReport};
pub use config::{BrokerConfig, CurrentConfig};
pub use service::BrokerService;
