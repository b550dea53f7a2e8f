//! Sends: requests 10, 310 and 320.
//!
//! The sends of a burst are checked and encoded one by one, appended together when the burst is over, and then
//! answered in one go. A refused message leaves no trace and its neighbours are stored all the same.

mod admit;
mod answer;
mod burst;
mod failure;
mod message;
mod properties;
mod rules;
mod single;
mod topics;
mod unique_id;

pub(crate) use admit::dead_letter_topic;
pub(crate) use burst::SendBurst;
pub(crate) use failure::refusal_of as refusal_of_append;
pub(crate) use single::SingleSend;
