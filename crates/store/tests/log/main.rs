//! The store as its callers see it: append, read, flush, crash, recover, delete.

mod append;
mod fixture;
