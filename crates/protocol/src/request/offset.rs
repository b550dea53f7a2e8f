//! Offsets of groups and of queues: codes 14, 15, 29, 30, 31, 32, 222.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// A queue of a topic (30, 31, 32).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHeader<'a> {
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
}

impl<'a> QueueHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(QueueHeader { topic: ext.need_str("topic")?, queue_id: ext.need_i32("queueId")? })
    }
}

/// Code 14.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryConsumerOffset<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    pub set_zero_if_not_found: bool,
}

impl<'a> QueryConsumerOffset<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(QueryConsumerOffset {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            set_zero_if_not_found: ext.bool("setZeroIfNotFound").unwrap_or(true),
        })
    }
}

/// Code 15. A missing queue or offset has a response code of its own, so both may be absent here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateConsumerOffset<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    pub queue_id: Option<i32>,
    pub commit_offset: Option<i64>,
}

impl<'a> UpdateConsumerOffset<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(UpdateConsumerOffset {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            queue_id: ext.i32("queueId")?,
            commit_offset: ext.i64("commitOffset")?,
        })
    }
}

/// Code 29.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOffset<'a> {
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    pub timestamp: i64,
    /// The upper boundary was asked for; anything but `upper` means the lower one.
    pub upper: bool,
    pub lite_topic: Option<Cow<'a, str>>,
}

impl<'a> SearchOffset<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(SearchOffset {
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            timestamp: ext.need_i64("timestamp")?,
            upper: ext
                .get("boundaryType")
                .is_some_and(|boundary| boundary.bytes().eq_ignore_ascii_case(b"upper")),
            lite_topic: ext.str("liteTopic"),
        })
    }
}

/// Code 222.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetOffset<'a> {
    pub topic: Cow<'a, str>,
    pub group: Cow<'a, str>,
    /// Negative for all queues.
    pub queue_id: i32,
    pub offset: Option<i64>,
    pub timestamp: i64,
    pub force: bool,
}

impl<'a> ResetOffset<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ResetOffset {
            topic: ext.need_str("topic")?,
            group: ext.need_str("group")?,
            queue_id: ext.i32("queueId")?.unwrap_or(-1),
            offset: ext.i64("offset")?,
            timestamp: ext.need_i64("timestamp")?,
            force: ext.bool("isForce").unwrap_or(false),
        })
    }
}
