//! The heads of answers on the hot path, written straight into an output buffer.

mod head;
mod pull;
mod send;

pub use head::ResponseHead;
pub use pull::PullAnswer;
pub use send::SendAnswer;
