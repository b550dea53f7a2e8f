//! The heads of answers on the hot path, written straight into an output buffer.

mod head;
mod pop;
mod pull;
mod send;

pub use head::ResponseHead;
pub use pop::PopAnswer;
pub use pull::PullAnswer;
pub use send::{SendAnswer, StoredAnswers};
