//! JSON as Java's fastjson writes and reads it.
//!
//! It differs from the standard where it matters to peers: integer keys of maps stand without quotes, maps keyed by
//! a message queue have whole objects for keys, and readers take much that isn't JSON. Here reading is as lenient
//! ([`parse()`]), and the type of a map's key decides how it is written ([`Writer`]). Keys come out sorted, nulls are
//! left out.

mod fields;
mod parse;
mod write;

pub use fields::{Fields, FromJson, JsonKey};
pub(crate) use fields::{expect_object, fields_except};
pub use parse::{Parser, parse};
pub use serde_json::{Map, Value};
pub use write::{Form, ToJson, Writer};

/// Why a body or a file isn't what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("the JSON is broken at byte {at}: {reason}")]
    Syntax { at: usize, reason: &'static str },
    #[error("the JSON field {0} is missing")]
    Missing(&'static str),
    #[error("the JSON field {field} should be {expected} but is {found}")]
    Type { field: &'static str, expected: &'static str, found: String },
}
