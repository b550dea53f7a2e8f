//! The key index: places of records by the hash of a key, in the Java server's index files.
//!
//! Derived from the log: what is missing here is put back from there. It doesn't know keys, only their hashes;
//! telling records apart whose keys share a hash is the caller's.

mod index_file;
mod key_index;
pub(crate) mod layout;
mod slot_pages;

pub use key_index::{IndexKey, KeyIndex};
