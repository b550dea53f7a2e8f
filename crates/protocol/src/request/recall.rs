//! Taking a timer message back: code 370.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallMessage<'a> {
    pub producer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    /// See [`RecallHandle`](crate::recall_handle::RecallHandle).
    pub recall_handle: Cow<'a, str>,
}

impl<'a> RecallMessage<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(RecallMessage {
            producer_group: ext.str("producerGroup").unwrap_or_default(),
            topic: ext.need_str("topic")?,
            recall_handle: ext.need_str("recallHandle")?,
        })
    }
}
