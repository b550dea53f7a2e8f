//! Messages that a consumer gives back: code 36.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendBack<'a> {
    /// Where in the commit log the message lies.
    pub offset: i64,
    pub group: Cow<'a, str>,
    /// Negative for the dead letter queue at once, 0 for a delay by the times consumed.
    pub delay_level: i32,
    pub origin_msg_id: Option<Cow<'a, str>>,
    pub origin_topic: Option<Cow<'a, str>>,
    pub unit_mode: bool,
    pub max_reconsume_times: Option<i32>,
}

impl<'a> SendBack<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(SendBack {
            offset: ext.need_i64("offset")?,
            group: ext.need_str("group")?,
            delay_level: ext.need_i32("delayLevel")?,
            origin_msg_id: ext.str("originMsgId"),
            origin_topic: ext.str("originTopic"),
            unit_mode: ext.bool("unitMode").unwrap_or(false),
            max_reconsume_times: ext.i32("maxReconsumeTimes")?,
        })
    }
}
