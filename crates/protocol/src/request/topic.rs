//! Topics by name and their settings: codes 17, 21, 215 and those that carry nothing but a topic.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// Nothing but a topic (105, 202, 215, 216, 217, 300, 351 and more).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicHeader<'a> {
    pub topic: Cow<'a, str>,
}

impl<'a> TopicHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(TopicHeader { topic: ext.need_str("topic")? })
    }
}

/// Code 17.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTopic<'a> {
    pub topic: Cow<'a, str>,
    pub default_topic: Option<Cow<'a, str>>,
    pub read_queue_nums: i32,
    pub write_queue_nums: i32,
    pub perm: i32,
    pub topic_filter_type: Option<Cow<'a, str>>,
    pub topic_sys_flag: i32,
    pub order: bool,
    /// `+key=value,-key`; [`crate::body::attributes`] reads it.
    pub attributes: Option<Cow<'a, str>>,
    pub force: bool,
}

impl<'a> CreateTopic<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(CreateTopic {
            topic: ext.need_str("topic")?,
            default_topic: ext.str("defaultTopic"),
            read_queue_nums: ext.need_i32("readQueueNums")?,
            write_queue_nums: ext.need_i32("writeQueueNums")?,
            perm: ext.need_i32("perm")?,
            topic_filter_type: ext.str("topicFilterType"),
            topic_sys_flag: ext.i32("topicSysFlag")?.unwrap_or(0),
            order: ext.bool("order").unwrap_or(false),
            attributes: ext.str("attributes"),
            force: ext.bool("force").unwrap_or(false),
        })
    }
}

/// Codes 21 and 201: a part of a table, or all of it if no part is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePart<'a> {
    pub sequence: Option<i32>,
    /// The DataVersion, as JSON, of the table that the earlier parts came from.
    pub data_version: Option<Cow<'a, str>>,
    pub max_num: Option<i32>,
}

impl<'a> TablePart<'a> {
    pub fn decode_topics(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Self::decode(ext, "topicSeq", "maxTopicNum")
    }

    pub fn decode_groups(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Self::decode(ext, "groupSeq", "maxGroupNum")
    }

    fn decode(ext: &ExtFields<'a>, sequence: &'static str, max: &'static str) -> Result<Self, FieldError> {
        Ok(TablePart {
            sequence: ext.i32(sequence)?,
            data_version: ext.str("dataVersion").filter(|version| !version.is_empty()),
            max_num: ext.i32(max)?,
        })
    }
}
