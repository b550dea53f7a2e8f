//! Who is connected: the members of a consumer group (203), of a producer group (204), all producers (328).

use super::answer;
use crate::Broker;
use crate::clients::member::{Member, Members};
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::connection::{
    Connection as MemberConnection, ConsumerConnection, ProducerConnection, ProducerInfo, ProducerTableInfo,
};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::group::{ConsumerGroupHeader, ProducerGroupHeader};
use roxmq_remoting::Connection;
use std::sync::Arc;

pub(crate) fn of_consumer_group(
    broker: &Broker,
    _: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let name = ConsumerGroupHeader::decode(&frame.header.ext)?.consumer_group;
    let Some(group) = broker.clients.consumer_group(&name) else {
        let remark = format!("the consumer group[{name}] not online");
        return Err(Refusal::new(response::CONSUMER_NOT_ONLINE, remark));
    };
    let subscriptions = group.info.subscriptions().iter();
    Ok(answer(&ConsumerConnection {
        connection_set: connections(&group.members),
        consume_from_where: group.info.consume_from_where,
        consume_type: group.info.consume_type,
        message_model: group.info.message_model,
        subscription_table: subscriptions.map(|(topic, sub)| (topic.clone(), (**sub).clone())).collect(),
    }))
}

pub(crate) fn of_producer_group(
    broker: &Broker,
    _: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let name = ProducerGroupHeader::decode(&frame.header.ext)?.producer_group;
    let Some(group) = broker.clients.producer_group(&name) else {
        return Err(Refusal::failed(format!("the producer group[{name}] not exist")));
    };
    Ok(answer(&ProducerConnection { connection_set: connections(&group.members) }))
}

pub(crate) fn all_producers(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let groups = broker.clients.producer_groups();
    let data = groups.iter().map(|group| (group.name.to_string(), producers(&group.members))).collect();
    Ok(answer(&ProducerTableInfo { data }))
}

fn connections(members: &Members<Arc<Connection>>) -> Vec<MemberConnection> {
    let clients = members.iter().map(|member| &member.client);
    clients
        .map(|client| MemberConnection {
            client_addr: client.channel.remote().to_string(),
            client_id: client.client_id.clone(),
            language: client.language,
            version: client.version,
        })
        .collect()
}

fn producers(members: &Members<Arc<Connection>>) -> Vec<ProducerInfo> {
    let info = |member: &Arc<Member<Arc<Connection>>>| ProducerInfo {
        client_id: member.client.client_id.clone(),
        language: member.client.language,
        last_update_timestamp: member.last_seen().0,
        // As Java prints an address; tools cut the slash off.
        remote_ip: format!("/{}", member.client.channel.remote()),
        version: member.client.version,
    };
    members.iter().map(info).collect()
}
