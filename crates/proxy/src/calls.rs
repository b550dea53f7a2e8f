//! The calls of the service, a file for each.

pub mod heartbeat;
pub mod query_assignment;
pub mod query_route;
pub mod send;
pub mod termination;
