//! Where to find topics and brokers (105, 106, 901).

use super::{Answer, Ask, RequestError, success};
use crate::kv::ORDER_TOPIC_CONFIG;
use crate::namesrv::Namesrv;
use crate::route::keep_zone;
use roxmq_protocol::body::cluster_info::{BrokerMemberGroup, BrokerMemberGroupAnswer};
use roxmq_protocol::body::route::BrokerData;
use roxmq_protocol::json::{Form, ToJson};
use roxmq_protocol::request::namesrv::{GetRoute, MemberGroup};

pub fn route(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let config = server.config();
    if config.need_wait_for_service && server.seconds_since_start() < config.wait_seconds_for_service.into() {
        return Err(RequestError::NotReady { seconds: config.wait_seconds_for_service });
    }
    let wanted = GetRoute::decode(ask.fields());
    let topic = wanted.topic.as_deref().unwrap_or("null");
    let found = server.table().read().route(topic, config.route_policy());
    let Some(mut route) = found else {
        return Err(RequestError::NoRoute { topic: topic.to_owned() });
    };
    if config.order_message_enable {
        route.order_topic_conf = server.kv().get(ORDER_TOPIC_CONFIG, topic);
    }
    let mut form = wanted.form(ask.frame.header.version);
    let zone = wanted.zone_name.as_deref().filter(|zone| wanted.zone_mode && !zone.trim().is_empty());
    if let Some(zone) = zone {
        keep_zone(&mut route, zone);
        // As the Java server does: its zone filter writes the route anew, in its own way.
        form = Form::Compact;
    }
    route.broker_datas.iter_mut().for_each(|broker| choose_addresses(server, ask, broker));
    Ok(success().body(route.to_json_in(form)))
}

pub fn cluster_info(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let mut info = server.table().read().cluster_info();
    info.broker_addr_table.values_mut().for_each(|broker| choose_addresses(server, ask, broker));
    Ok(success().body(info.to_json()))
}

/// Asked by brokers about their own set: what they registered, whatever clients are told.
pub fn member_group(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let MemberGroup { cluster_name, broker_name } = MemberGroup::decode(ask.fields())?;
    let group = BrokerMemberGroup {
        broker_addrs: server.table().read().members(&broker_name),
        broker_name: broker_name.into_owned(),
        cluster: cluster_name.into_owned(),
    };
    Ok(success().body(BrokerMemberGroupAnswer { broker_member_group: Some(group) }.to_json()))
}

fn choose_addresses(server: &Namesrv, ask: &Ask<'_, '_>, broker: &mut BrokerData) {
    for (id, addr) in &mut broker.broker_addrs {
        *addr = server.addresses().choose(&ask.asker, &broker.broker_name, *id, addr).into_owned();
    }
}
