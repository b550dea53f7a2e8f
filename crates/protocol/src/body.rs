//! JSON bodies of requests and answers, one family in each file.
//!
//! Each is a plain struct with [`ToJson`](crate::json::ToJson) and [`FromJson`](crate::json::FromJson). Reading is
//! lenient: what is missing or null has the default that the reference has for it, what is unknown is ignored. Nulls
//! are not written.

#[macro_use]
mod object;

pub mod access;
pub mod assignment;
pub mod attributes;
pub mod batch_ack;
pub mod broker_stats;
pub mod check_client;
pub mod cluster_info;
pub mod connection;
pub mod consume_queue;
pub mod consume_stats;
pub mod consumer_answers;
pub mod data_version;
pub mod group_config;
pub mod group_table;
pub mod ha_status;
pub mod heartbeat;
pub mod list;
pub mod lite;
pub mod lock_batch;
pub mod offset_table;
pub mod order_info;
pub mod register_broker;
pub mod revive;
pub mod route;
pub mod static_topic;
pub mod time_span;
pub mod topic_config;
pub mod topic_stats;
pub mod topic_table;
