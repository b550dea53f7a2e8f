//! Messages looked up other than by pulling: codes 12, 33, 321.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// The field that says that the key of a query is a unique key.
pub const UNIQUE_KEY_QUERY: &str = "_UNIQUE_KEY_QUERY";

/// Code 12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryMessage<'a> {
    pub topic: Cow<'a, str>,
    pub key: Cow<'a, str>,
    pub max_num: i32,
    pub begin_timestamp: i64,
    pub end_timestamp: i64,
    /// `K` for keys, `U` for unique keys, `T` for tags.
    pub index_type: Option<Cow<'a, str>>,
    pub last_key: Option<Cow<'a, str>>,
    pub unique_key: bool,
}

impl<'a> QueryMessage<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(QueryMessage {
            topic: ext.need_str("topic")?,
            key: ext.need_str("key")?,
            max_num: ext.need_i32("maxNum")?,
            begin_timestamp: ext.need_i64("beginTimestamp")?,
            end_timestamp: ext.need_i64("endTimestamp")?,
            index_type: ext.str("indexType"),
            last_key: ext.str("lastKey"),
            unique_key: ext.bool(UNIQUE_KEY_QUERY).unwrap_or(false),
        })
    }
}

/// Code 33.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewMessage<'a> {
    pub topic: Option<Cow<'a, str>>,
    /// Where in the commit log.
    pub offset: i64,
}

impl<'a> ViewMessage<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ViewMessage { topic: ext.str("topic"), offset: ext.need_i64("offset")? })
    }
}

/// Code 321.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryConsumeQueue<'a> {
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    pub index: i64,
    pub count: i32,
    pub consumer_group: Option<Cow<'a, str>>,
}

impl<'a> QueryConsumeQueue<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(QueryConsumeQueue {
            topic: ext.need_str("topic")?,
            queue_id: ext.need_i32("queueId")?,
            index: ext.need_i64("index")?,
            count: ext.need_i32("count")?,
            consumer_group: ext.str("consumerGroup"),
        })
    }
}
