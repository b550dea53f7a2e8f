//! The store as its callers see it: append, read, flush, crash, recover, delete.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may, too")]

mod append;
mod check;
mod disk;
mod fixture;
mod flush;
mod multi_dispatch;
mod open;
mod recovery;
mod retention;
mod time;
mod together;
mod topic_retention;
mod topics;
