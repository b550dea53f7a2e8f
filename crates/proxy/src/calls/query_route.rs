//! The queues of a topic, and where they are.

use crate::addresses;
use crate::invoker::TopicBroker;
use crate::message::kind::accepted_types;
use crate::names;
use crate::proxy::{Proxy, call_site};
use crate::refusal::{Result, ok};
use crate::schema::{
    Broker, Endpoints, MessageQueue, Permission, QueryRouteRequest, QueryRouteResponse, Resource,
};
use roxmq_protocol::sys_flag::perm;
use tonic::Request;

pub async fn handle(proxy: &Proxy, request: Request<QueryRouteRequest>) -> Result<QueryRouteResponse> {
    // Whoever asks has to say who it is, though no client asks brokers for anything here.
    proxy.client(&request)?;
    let name = names::topic(request.get_ref().topic.as_ref())?;
    addresses::check(request.get_ref().endpoints.as_ref())?;
    let topic = proxy.facts.topic(name).await?;
    let here = addresses::here(call_site(&request)?, request.get_ref().endpoints.as_ref());
    let resource = request.get_ref().topic.clone().unwrap_or_default();
    let types: Vec<i32> = accepted_types(&topic).iter().map(|kind| (*kind).into()).collect();
    let mut queues = Vec::new();
    for broker in &topic.brokers {
        let at = proxied(broker, &here);
        for (id, permission) in permissions(broker).into_iter().enumerate() {
            queues.push(MessageQueue {
                id: id.try_into().unwrap_or(i32::MAX),
                permission: permission.into(),
                accept_message_types: types.clone(),
                ..queue(&resource, at.clone())
            });
        }
    }
    Ok(QueryRouteResponse { status: Some(ok()), message_queues: queues })
}

/// A queue with nothing but its topic and its broker.
pub fn queue(topic: &Resource, broker: Broker) -> MessageQueue {
    MessageQueue { topic: Some(topic.clone()), broker: Some(broker), ..MessageQueue::default() }
}

/// The broker at the address where the client finds it.
pub fn proxied(broker: &TopicBroker, here: &Endpoints) -> Broker {
    let registered = broker.address.as_deref().and_then(addresses::registered);
    let endpoints = registered.unwrap_or_else(|| here.clone());
    Broker { name: broker.name.to_string(), id: broker.id, endpoints: Some(endpoints) }
}

/// What may be done with each queue. As with the Java server, the queues that can be both read and written to come
/// last.
fn permissions(broker: &TopicBroker) -> Vec<Permission> {
    let count = |queues: i32| usize::try_from(queues).unwrap_or(0);
    let (read, write) = (count(broker.read_queues), count(broker.write_queues));
    let (surplus, common) = match (perm::is_readable(broker.perm), perm::is_writeable(broker.perm)) {
        (true, true) if read >= write => ((Permission::Read, read - write), (Permission::ReadWrite, write)),
        (true, true) => ((Permission::Write, write - read), (Permission::ReadWrite, read)),
        (true, false) => ((Permission::Read, read), (Permission::None, 0)),
        (false, true) => ((Permission::Write, write), (Permission::None, 0)),
        (false, false) => ((Permission::None, read.max(write).max(1)), (Permission::None, 0)),
    };
    [surplus, common].into_iter().flat_map(|(permission, count)| vec![permission; count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_have_the_permissions_of_both_ends() {
        let check = |perm: i32, read_queues: i32, write_queues: i32, expected: &[Permission]| {
            let broker =
                TopicBroker { name: "b".into(), id: 0, address: None, perm, read_queues, write_queues };
            assert_eq!(
                permissions(&broker),
                expected,
                "perm {perm}, {read_queues} and {write_queues} queues"
            );
        };
        use Permission::{Read, ReadWrite, Write};
        check(6, 2, 2, &[ReadWrite, ReadWrite]);
        check(6, 3, 1, &[Read, Read, ReadWrite]);
        check(6, 1, 2, &[Write, ReadWrite]);
        check(4, 2, 3, &[Read, Read]);
        check(2, 2, 1, &[Write]);
        check(0, 2, 3, &[Permission::None; 3]);
        check(0, 0, 0, &[Permission::None]);
        check(6, -1, 1, &[Write]);
    }
}
