//! The fields of requests, typed, one file for each family of requests.
//!
//! A header here holds what its request carries and decodes from the fields as they came; what it needs and doesn't
//! find, or can't read as its type, is a [`FieldError`] that names the field. Fields that clients are known to leave
//! out have the default that the reference has for them. Texts borrow from the frame.

pub mod client;
pub mod group;
pub mod lite;
pub mod namesrv;
pub mod offset;
pub mod polling;
pub mod pop;
pub mod pull;
pub mod query;
pub mod recall;
pub mod send;
pub mod send_back;
pub mod topic;
pub mod transaction;

pub use crate::ext::{ExtFields, FieldError};
