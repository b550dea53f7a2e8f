//! Messages in the two forms they have: that of the clients, and that of the brokers.

pub mod check;
mod digest;
pub mod kind;
pub mod queue_choice;
mod reserved;
pub mod stored;
pub mod to_broker;
pub mod transaction_id;
