//! Clients that leave, and requests that are passed on to a client: codes 35, 307, 309.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

/// Code 35.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnregisterClient<'a> {
    pub client_id: Cow<'a, str>,
    pub producer_group: Option<Cow<'a, str>>,
    pub consumer_group: Option<Cow<'a, str>>,
}

impl<'a> UnregisterClient<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(UnregisterClient {
            client_id: ext.need_str("clientID")?,
            producer_group: ext.str("producerGroup"),
            consumer_group: ext.str("consumerGroup"),
        })
    }
}

/// Code 307.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerRunningInfo<'a> {
    pub consumer_group: Cow<'a, str>,
    pub client_id: Cow<'a, str>,
    pub jstack_enable: bool,
}

impl<'a> ConsumerRunningInfo<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ConsumerRunningInfo {
            consumer_group: ext.need_str("consumerGroup")?,
            client_id: ext.need_str("clientId")?,
            jstack_enable: ext.bool("jstackEnable").unwrap_or(false),
        })
    }
}

/// Code 309.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumeMessageDirectly<'a> {
    pub consumer_group: Cow<'a, str>,
    pub client_id: Option<Cow<'a, str>>,
    pub msg_id: Option<Cow<'a, str>>,
    pub broker_name: Option<Cow<'a, str>>,
    pub topic: Option<Cow<'a, str>>,
}

impl<'a> ConsumeMessageDirectly<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(ConsumeMessageDirectly {
            consumer_group: ext.need_str("consumerGroup")?,
            client_id: ext.str("clientId"),
            msg_id: ext.str("msgId"),
            broker_name: ext.str("brokerName"),
            topic: ext.str("topic"),
        })
    }
}
