//! What `proto/` describes, as Rust types.
//!
//! The names of fields, enums and calls are those of the clients' schema.

mod codec;

#[allow(clippy::all, clippy::pedantic)]
mod generated {
    tonic::include_proto!("apache.rocketmq.v2");
}

pub use codec::SmallBuffers;
pub use generated::*;

/// The schema itself, for clients that ask for it.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schema.bin"));
