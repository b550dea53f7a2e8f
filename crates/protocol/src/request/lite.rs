//! Lite topics: codes 200070 and 200075 to 200079.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// A pop of whatever lite topics the client has subscribed to (200070).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PopLiteHeader<'a> {
    pub client_id: Cow<'a, str>,
    pub consumer_group: Cow<'a, str>,
    /// The parent topic.
    pub topic: Cow<'a, str>,
    pub max_msg_num: i32,
    pub invisible_time: i64,
    pub poll_time: i64,
    /// When the client asked; 0 for now.
    pub born_time: i64,
    pub attempt_id: Option<Cow<'a, str>>,
}

impl<'a> PopLiteHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(PopLiteHeader {
            client_id: ext.need_str("clientId")?,
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.need_str("topic")?,
            max_msg_num: ext.need_i32("maxMsgNum")?,
            invisible_time: ext.need_i64("invisibleTime")?,
            poll_time: ext.need_i64("pollTime")?,
            born_time: ext.i64("bornTime")?.unwrap_or(0),
            attempt_id: ext.str("attemptId").filter(|id| !id.is_empty()),
        })
    }
}

/// What tools ask about lite topics; which fields count depends on the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteQuery<'a> {
    pub parent_topic: Option<Cow<'a, str>>,
    pub lite_topic: Option<Cow<'a, str>>,
    pub group: Option<Cow<'a, str>>,
    pub client_id: Option<Cow<'a, str>>,
    pub max_count: i32,
    pub top_k: i32,
}

impl<'a> LiteQuery<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        let text = |name: &str| ext.str(name).filter(|text| !text.is_empty());
        Ok(LiteQuery {
            parent_topic: text("parentTopic").or_else(|| text("topic")),
            lite_topic: text("liteTopic"),
            group: text("group"),
            client_id: text("clientId"),
            max_count: ext.i32("maxCount")?.unwrap_or(1000),
            top_k: ext.i32("topK")?.unwrap_or(0),
        })
    }
}

/// The lite topic of a request that may be about one: acknowledgements (200051) and changed times (200053).
pub fn lite_topic<'a>(ext: &ExtFields<'a>) -> Option<Cow<'a, str>> {
    ext.str("liteTopic").filter(|lite_topic| !lite_topic.trim().is_empty())
}
