//! Questions about what pops would find or wait for: codes 200052, 200054 and 200055.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// Code 200052.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    /// -1 for all queues.
    pub queue_id: i32,
    pub max_msg_nums: i32,
}

impl<'a> PeekHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(PeekHeader {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            max_msg_nums: ext.need_i32("maxMsgNums")?,
        })
    }
}

/// Code 200054.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    /// -1 for all queues.
    pub queue_id: i32,
    pub poll_time: i64,
    /// When the client asked; 0 for now.
    pub born_time: i64,
    pub order: bool,
    pub attempt_id: Option<Cow<'a, str>>,
    /// `TAG` (for none, too) or `SQL92`.
    pub expression_type: Option<Cow<'a, str>>,
    pub expression: Option<Cow<'a, str>>,
}

impl<'a> NotificationHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(NotificationHeader {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            poll_time: ext.need_i64("pollTime")?,
            born_time: ext.i64("bornTime")?.unwrap_or(0),
            order: ext.bool("order").unwrap_or(false),
            attempt_id: ext.str("attemptId"),
            expression_type: ext.str("expType"),
            expression: ext.str("exp"),
        })
    }
}

/// Code 200055.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollingInfoHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    /// -1 for those who wait for any queue.
    pub queue_id: i32,
}

impl<'a> PollingInfoHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(PollingInfoHeader {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn only_a_question_that_waits_needs_a_time() {
        let mut ext = ExtFields::default();
        for (name, value) in [("consumerGroup", "G"), ("topic", "T"), ("queueId", "-1")] {
            ext.push(Text::plain(name), Text::plain(value));
        }
        assert_eq!(PollingInfoHeader::decode(&ext).map(|header| header.queue_id), Ok(-1));
        assert_eq!(NotificationHeader::decode(&ext), Err(FieldError::Missing("pollTime")));
        ext.push(Text::plain("pollTime"), Text::plain("15000"));
        let header = NotificationHeader::decode(&ext).expect("complete");
        assert_eq!((header.poll_time, header.born_time, header.order), (15_000, 0, false));
        assert_eq!((header.attempt_id, header.expression), (None, None));
    }
}
