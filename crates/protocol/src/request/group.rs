//! Groups by name, and what is asked about them: codes 38, 203, 204, 207, 208, 303, 315, 317, 343, 345, 352.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// Nothing but a consumer group under its long name (38, 203).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupHeader<'a> {
    pub consumer_group: Cow<'a, str>,
}

impl<'a> ConsumerGroupHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ConsumerGroupHeader { consumer_group: ext.need_str("consumerGroup")? })
    }
}

/// Nothing but a producer group (204).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerGroupHeader<'a> {
    pub producer_group: Cow<'a, str>,
}

impl<'a> ProducerGroupHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ProducerGroupHeader { producer_group: ext.need_str("producerGroup")? })
    }
}

/// A group and perhaps a topic (303, 343, 345, 352).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupHeader<'a> {
    pub group: Cow<'a, str>,
    pub topic: Option<Cow<'a, str>>,
}

impl<'a> GroupHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(GroupHeader { group: ext.need_str("group")?, topic: ext.str("topic") })
    }
}

/// Code 207.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteGroup<'a> {
    pub group_name: Cow<'a, str>,
    pub clean_offset: bool,
}

impl<'a> DeleteGroup<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(DeleteGroup {
            group_name: ext.need_str("groupName")?,
            clean_offset: ext.bool("cleanOffset").unwrap_or(false),
        })
    }
}

/// Code 208.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetConsumeStats<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Option<Cow<'a, str>>,
    /// Topics separated by `;`.
    pub topic_list: Option<Cow<'a, str>>,
}

impl<'a> GetConsumeStats<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(GetConsumeStats {
            consumer_group: ext.need_str("consumerGroup")?,
            topic: ext.str("topic").filter(|topic| !topic.is_empty()),
            topic_list: ext.str("topicList").filter(|topics| !topics.is_empty()),
        })
    }
}

/// Code 308.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryCorrectionOffset<'a> {
    pub topic: Cow<'a, str>,
    pub compare_group: Cow<'a, str>,
    /// Groups that don't count, separated by `,`.
    pub filter_groups: Option<Cow<'a, str>>,
}

impl<'a> QueryCorrectionOffset<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(QueryCorrectionOffset {
            topic: ext.need_str("topic")?,
            compare_group: ext.need_str("compareGroup")?,
            filter_groups: ext.str("filterGroups"),
        })
    }
}

/// Code 223.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetConsumerStatus<'a> {
    pub topic: Cow<'a, str>,
    pub group: Cow<'a, str>,
    /// The client's id, whatever the field is called; all clients if it is absent.
    pub client_id: Option<Cow<'a, str>>,
}

impl<'a> GetConsumerStatus<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(GetConsumerStatus {
            topic: ext.need_str("topic")?,
            group: ext.need_str("group")?,
            client_id: ext.str("clientAddr").filter(|id| !id.trim().is_empty()),
        })
    }
}

/// Code 315.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewBrokerStats<'a> {
    pub stats_name: Cow<'a, str>,
    pub stats_key: Cow<'a, str>,
}

impl<'a> ViewBrokerStats<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ViewBrokerStats { stats_name: ext.need_str("statsName")?, stats_key: ext.need_str("statsKey")? })
    }
}
