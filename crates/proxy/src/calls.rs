//! The calls of the service, a file for each.

pub mod ack;
pub mod change_invisible;
pub mod dead_letter;
pub mod end_transaction;
pub mod heartbeat;
pub mod offsets;
pub mod pull;
pub mod query_assignment;
pub mod query_route;
pub mod recall;
pub mod receive;
pub mod send;
pub mod sync_lite;
pub mod termination;
