//! What a name server is asked: codes 100 to 105, 216, 217, 219, 224, 322, 901, 904.

use super::{ExtFields, FieldError};
use crate::json::Form;
use crate::version;
use std::borrow::Cow;

/// The field of a request that asks for the brokers of one zone only.
pub const ZONE_MODE: &str = "__ZONE_MODE";
/// The zone of a client or a broker.
pub const ZONE_NAME: &str = "__ZONE_NAME";

/// A key of a namespace, with a value when it is put (100, 101, 102).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvHeader<'a> {
    pub namespace: Cow<'a, str>,
    pub key: Cow<'a, str>,
    pub value: Option<Cow<'a, str>>,
}

impl<'a> KvHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(KvHeader {
            namespace: ext.need_str("namespace")?,
            key: ext.need_str("key")?,
            value: ext.str("value"),
        })
    }
}

/// Code 103.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterBroker<'a> {
    pub broker: BrokerHeader<'a>,
    pub ha_server_addr: Option<Cow<'a, str>>,
    pub heartbeat_timeout_millis: Option<i64>,
    /// Absent with brokers that don't know of acting masters.
    pub enable_acting_master: Option<bool>,
    pub compressed: bool,
    /// 0 for an unchecked body.
    pub body_crc32: i32,
    pub zone_name: Option<Cow<'a, str>>,
}

impl<'a> RegisterBroker<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(RegisterBroker {
            broker: BrokerHeader::decode(ext)?,
            ha_server_addr: ext.str("haServerAddr"),
            heartbeat_timeout_millis: ext.i64("heartbeatTimeoutMillis")?,
            enable_acting_master: ext.bool("enableActingMaster"),
            compressed: ext.bool("compressed").unwrap_or(false),
            body_crc32: ext.i32("bodyCrc32")?.unwrap_or(0),
            zone_name: ext.str(ZONE_NAME),
        })
    }
}

/// A broker with its address and place (103, 104, 322).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerHeader<'a> {
    pub broker_name: Cow<'a, str>,
    pub broker_addr: Cow<'a, str>,
    pub cluster_name: Cow<'a, str>,
    pub broker_id: i64,
}

impl<'a> BrokerHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(BrokerHeader {
            broker_name: ext.need_str("brokerName")?,
            broker_addr: ext.need_str("brokerAddr")?,
            cluster_name: ext.need_str("clusterName")?,
            broker_id: ext.need_i64("brokerId")?,
        })
    }
}

/// Code 105.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetRoute<'a> {
    /// Absent if the request has no fields at all, which has an answer of its own.
    pub topic: Option<Cow<'a, str>>,
    pub accept_standard_json_only: bool,
    pub zone_mode: bool,
    pub zone_name: Option<Cow<'a, str>>,
}

impl<'a> GetRoute<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Self {
        GetRoute {
            topic: ext.str("topic"),
            accept_standard_json_only: ext.bool("acceptStandardJsonOnly").unwrap_or(false),
            zone_mode: ext.bool(ZONE_MODE).unwrap_or(false),
            zone_name: ext.str(ZONE_NAME),
        }
    }

    /// What a client of this version reads.
    pub fn form(&self, client_version: i32) -> Form {
        let is_new = client_version >= version::V4_9_4 || self.accept_standard_json_only;
        if is_new { Form::Standard } else { Form::Compact }
    }
}

/// A topic, perhaps of one cluster only (216).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteTopic<'a> {
    pub topic: Cow<'a, str>,
    pub cluster_name: Option<Cow<'a, str>>,
}

impl<'a> DeleteTopic<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(DeleteTopic {
            topic: ext.need_str("topic")?,
            cluster_name: ext.str("clusterName").filter(|cluster| !cluster.is_empty()),
        })
    }
}

/// A broker set (901).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberGroup<'a> {
    pub cluster_name: Cow<'a, str>,
    pub broker_name: Cow<'a, str>,
}

impl<'a> MemberGroup<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(MemberGroup {
            cluster_name: ext.need_str("clusterName")?,
            broker_name: ext.need_str("brokerName")?,
        })
    }
}

/// Code 904.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerHeartbeat<'a> {
    pub cluster_name: Cow<'a, str>,
    pub broker_addr: Cow<'a, str>,
    pub broker_name: Cow<'a, str>,
    pub broker_id: Option<i64>,
    pub epoch: Option<i32>,
    pub max_offset: Option<i64>,
    pub confirm_offset: Option<i64>,
    pub heartbeat_timeout_mills: Option<i64>,
    pub election_priority: Option<i32>,
}

impl<'a> BrokerHeartbeat<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(BrokerHeartbeat {
            cluster_name: ext.need_str("clusterName")?,
            broker_addr: ext.need_str("brokerAddr")?,
            broker_name: ext.need_str("brokerName")?,
            broker_id: ext.i64("brokerId")?,
            epoch: ext.i32("epoch")?,
            max_offset: ext.i64("maxOffset")?,
            confirm_offset: ext.i64("confirmOffset")?,
            heartbeat_timeout_mills: ext.i64("heartbeatTimeoutMills")?,
            election_priority: ext.i32("electionPriority")?,
        })
    }
}
