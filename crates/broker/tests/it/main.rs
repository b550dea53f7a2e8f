//! The broker over real sockets, a module for each of its concerns.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod assignment;
mod bad_input;
mod batch;
mod clients;
mod delay;
mod filter;
mod groups;
mod light_queues;
mod lite;
mod lite_admin;
mod locks;
mod long_poll;
mod metrics;
mod node;
mod notification;
mod offsets;
mod operators;
mod pop;
mod pop_consumer;
mod pop_handover;
mod pop_load;
mod pop_order;
mod pop_retry;
mod pop_waiting;
mod priority;
mod pull;
mod query;
mod relay;
mod removal;
mod reply;
mod requests;
mod resets;
mod retry;
mod send;
mod stats_admin;
mod timers;
mod timers_recall;
mod timers_restart;
mod topics;
mod transactions;
mod wire;
