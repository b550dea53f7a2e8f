//! The bytes that RocketMQ's clients, servers and store files exchange.
//!
//! Pure: no IO, no clock, no logs. Decoding bytes from outside never panics, and takes no more memory than the bytes
//! that are there justify: what inflates does so up to a limit.

pub mod batch;
pub mod body;
pub mod code;
pub mod command;
pub mod compression;
pub mod ext;
pub mod frame;
pub mod header;
pub mod java_hash;
pub mod json;
pub mod language;
pub mod message_id;
pub mod message_queue;
pub mod names;
pub mod properties;
pub mod properties_text;
pub mod recall_handle;
pub mod receipt;
pub mod record;
pub mod request;
pub mod response;
mod scan;
pub mod signature;
pub mod subscription;
pub mod sys_flag;
pub mod text;
pub mod version;

#[cfg(test)]
mod test_bytes;
