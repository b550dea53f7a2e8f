//! The broker: topics, groups and offsets over the store, a file for each request it answers.

pub mod broker;
pub mod clients;
pub mod config;
pub mod groups;
pub mod locks;
pub mod model;
pub mod offsets;
pub mod registration;
pub mod resets;
pub mod state;
pub mod stats;
pub mod topics;

pub use broker::{Broker, BrokerOptions, StartError, StartReport};
pub use config::BrokerConfig;
