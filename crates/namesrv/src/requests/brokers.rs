//! What brokers say about themselves (103, 104, 322, 904).

use super::{Answer, Ask, RequestError, success};
use crate::kv::ORDER_TOPIC_CONFIG;
use crate::namesrv::Namesrv;
use crate::route::{Registration, TopicQueues};
use crate::service::Session;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::register_broker::RegisterBrokerBody;
use roxmq_protocol::json::{FromJson, ToJson};
use roxmq_protocol::request::namesrv::{BrokerHeader, BrokerHeartbeat, RegisterBroker};

/// The field by which our own brokers say that a registration lists every topic they have, so that a deleted topic
/// leaves the routes at once. The Java name server ignores it.
pub const FULL_REGISTRATION: &str = "fullRegistration";

/// Java brokers of 5.x with `compressedRegister=true` compress the body and say that they don't. No JSON object starts
/// like this.
const ZLIB_FIRST_BYTE: u8 = 0x78;

pub fn register(server: &Namesrv, session: &mut Session, ask: &Ask<'_, '_>) -> Answer {
    let header = RegisterBroker::decode(ask.fields())?;
    check_crc(&header, ask.frame.body)?;
    let version = ask.frame.header.version;
    let compressed = header.compressed || ask.frame.body.first() == Some(&ZLIB_FIRST_BYTE);
    let body = RegisterBrokerBody::decode(ask.frame.body, compressed, version)?;
    let registration = registration(header, body, ask.fields().bool(FULL_REGISTRATION).unwrap_or(false));
    let (broker_name, broker_addr) = (registration.broker_name.clone(), registration.broker_addr.clone());
    let registered = server.register(registration, ask.connection.id())?;
    session.remember(broker_name, broker_addr);
    server.keep_connection(ask.connection);

    let mut answer = success()
        .with_some("haServerAddr", registered.ha_server_addr)
        .with_some("masterAddr", registered.master_addr);
    if server.config().return_order_topic_config
        && let Some(json) = server.kv().namespace_json(ORDER_TOPIC_CONFIG)
    {
        answer = answer.body(json);
    }
    Ok(answer)
}

pub fn unregister(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let broker = BrokerHeader::decode(ask.fields())?;
    server.unregister(&broker.broker_name, &broker.broker_addr);
    Ok(success())
}

pub fn data_version(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let broker = BrokerHeader::decode(ask.fields())?;
    let theirs = match ask.frame.body {
        [] => None,
        body => Some(DataVersion::from_json_bytes(body)?),
    };
    let mut table = server.table().write();
    table.heard_of(&broker.cluster_name, &broker.broker_name, &broker.broker_addr, server.now());
    let ours = table.data_version(&broker.cluster_name, &broker.broker_name, &broker.broker_addr);
    let changed = ours.is_none() || ours != theirs.as_ref();
    let answer = success().with("changed", changed);
    Ok(match ours {
        Some(ours) => answer.body(ours.to_json()),
        None => answer,
    })
}

pub fn heartbeat(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let broker = BrokerHeartbeat::decode(ask.fields())?;
    let mut table = server.table().write();
    table.heard_of(&broker.cluster_name, &broker.broker_name, &broker.broker_addr, server.now());
    Ok(success())
}

fn check_crc(header: &RegisterBroker<'_>, body: &[u8]) -> Result<(), RequestError> {
    /// Java keeps a CRC in a signed number and clears its sign.
    const WITHOUT_SIGN: u32 = 0x7FFF_FFFF;
    let found = (crc32fast::hash(body) & WITHOUT_SIGN) as i32;
    if header.body_crc32 != 0 && header.body_crc32 != found {
        return Err(RequestError::Crc { found, expected: header.body_crc32 });
    }
    Ok(())
}

fn registration(header: RegisterBroker<'_>, body: RegisterBrokerBody, full: bool) -> Registration {
    let topics = body.topic_table;
    Registration {
        cluster: header.broker.cluster_name.into_owned(),
        broker_name: header.broker.broker_name.into_owned(),
        broker_id: header.broker.broker_id,
        broker_addr: header.broker.broker_addr.into_owned(),
        ha_server_addr: header.ha_server_addr.map(|addr| addr.into_owned()).unwrap_or_default(),
        zone_name: header.zone_name.map(|zone| zone.into_owned()),
        heartbeat_timeout_ms: header.heartbeat_timeout_millis.and_then(|millis| u64::try_from(millis).ok()),
        enable_acting_master: header.enable_acting_master,
        data_version: topics.data_version,
        topics: topics
            .topic_config_table
            .into_iter()
            .map(|(name, topic)| (name, TopicQueues::from(&topic)))
            .collect(),
        mappings: topics.topic_queue_mapping_info_map,
        filter_servers: body.filter_server_list,
        full,
    }
}
