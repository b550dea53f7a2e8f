//! A topic as a cluster has it: its queues by the route that the name servers know, its attributes by a broker.

use super::Network;
use crate::invoker::{Topic, TopicBroker, unreadable};
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::body::attributes::Attributes;
use roxmq_protocol::body::route::{QueueData, TopicRouteData};
use roxmq_protocol::body::topic_config::TopicConfig;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use std::sync::Arc;
use std::time::Instant;

/// A topic, and the route that it was read from.
pub struct Routed {
    pub topic: Arc<Topic>,
    pub route: TopicRouteData,
}

/// `before` is what was known of it.
pub async fn ask(network: &Network, name: &str, before: Option<Arc<Routed>>) -> Result<Routed> {
    match route(network, name).await {
        Ok(route) => {
            network.members.learn(route.broker_datas.iter(), Instant::now());
            let mut brokers = brokers(&route);
            if let Some(before) = &before {
                keep_restarting(network, &mut brokers, &before.topic.brokers).await;
            }
            let attributes = match attributes(network, name, &brokers).await {
                Ok(attributes) => attributes,
                // The queues are there, whatever became of the topic on one of them.
                Err(refusal) if refusal.code == Code::TopicNotFound => Attributes::default(),
                Err(refusal) => before.map(|before| before.topic.attributes.clone()).ok_or(refusal)?,
            };
            Ok(Routed { topic: Arc::new(Topic { attributes, brokers }), route })
        }
        // A name server that has just started doesn't know a topic before its brokers come back. They know.
        Err(refusal) if refusal.code == Code::TopicNotFound => {
            let Some(before) = before else { return Err(refusal) };
            let brokers = before.topic.brokers.clone();
            let attributes = attributes(network, name, &brokers).await?;
            Ok(Routed { topic: Arc::new(Topic { attributes, brokers }), route: before.route.clone() })
        }
        Err(refusal) => Err(refusal),
    }
}

/// Brokers that left the cluster a moment ago keep their queues, so that message groups stay where they are. Those that are
/// still there have the topic no longer.
async fn keep_restarting(network: &Network, brokers: &mut Vec<TopicBroker>, before: &[TopicBroker]) {
    let is_lost = |broker: &TopicBroker| !is_among(brokers, broker);
    // It may have left after the last look.
    if before.iter().any(|broker| is_lost(broker) && !network.members.is_absent(&broker.name)) {
        network.look().await;
    }
    let now = Instant::now();
    add_lost(brokers, before, |broker| network.members.has_just_left(broker, now));
}

fn add_lost(brokers: &mut Vec<TopicBroker>, before: &[TopicBroker], is_kept: impl Fn(&str) -> bool) {
    for broker in before {
        if !is_among(brokers, broker) && is_kept(&broker.name) {
            brokers.push(broker.clone());
        }
    }
    brokers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
}

fn is_among(brokers: &[TopicBroker], broker: &TopicBroker) -> bool {
    brokers.iter().any(|known| (&known.name, known.id) == (&broker.name, broker.id))
}

async fn route(network: &Network, topic: &str) -> Result<TopicRouteData> {
    let asked = Command::request(request::GET_ROUTEINFO_BY_TOPIC)
        .with("topic", topic)
        .with("acceptStandardJsonOnly", true);
    let answer = network.name_servers.call(asked).await?;
    match answer.code {
        response::SUCCESS => TopicRouteData::from_json_bytes(&answer.body).map_err(unreadable),
        _ => Err(Refusal::from_broker(&answer)),
    }
}

/// In order of names, then of ids.
fn brokers(route: &TopicRouteData) -> Vec<TopicBroker> {
    let mut queues: Vec<&QueueData> = route.queue_datas.iter().collect();
    queues.sort_by(|a, b| a.broker_name.cmp(&b.broker_name));
    let mut brokers = Vec::new();
    for queue in queues {
        let Some(broker) = route.broker_datas.iter().find(|data| data.broker_name == queue.broker_name)
        else {
            continue;
        };
        let name: Arc<str> = broker.broker_name.as_str().into();
        brokers.extend(broker.broker_addrs.keys().filter_map(|id| {
            Some(TopicBroker {
                name: Arc::clone(&name),
                id: i32::try_from(*id).ok()?,
                // Clients reach every broker here.
                address: None,
                perm: queue.perm,
                read_queues: queue.read_queue_nums,
                write_queues: queue.write_queue_nums,
            })
        }));
    }
    brokers
}

/// As the first broker says that says something.
async fn attributes(network: &Network, topic: &str, brokers: &[TopicBroker]) -> Result<Attributes> {
    let mut refused =
        Refusal::new(Code::InternalServerError, format!("topic {topic} has no broker that could be asked"));
    let mut names: Vec<_> = brokers.iter().map(|broker| &broker.name).collect();
    names.dedup();
    for name in names {
        let asked = Command::request(request::GET_TOPIC_CONFIG).with("topic", topic);
        match network.ask(name, asked).await {
            Ok(answer) => {
                return Ok(TopicConfig::from_json_bytes(&answer.body).map_err(unreadable)?.attributes);
            }
            // A broker from before there were attributes.
            Err(refusal) if refusal.code == Code::NotImplemented => return Ok(Attributes::default()),
            Err(refusal) => refused = refusal,
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::body::route::BrokerData;
    use std::collections::BTreeMap;

    #[test]
    fn lost_brokers_keep_their_place_if_they_may_come_back() {
        let broker = |name: &str, id, write_queues| TopicBroker {
            name: name.into(),
            id,
            address: None,
            perm: 6,
            read_queues: 4,
            write_queues,
        };
        let before = [broker("a", 0, 4), broker("b", 0, 4), broker("b", 1, 4), broker("c", 0, 4)];
        let mut now = vec![broker("b", 1, 4), broker("c", 0, 8)];
        add_lost(&mut now, &before, |_| false);
        assert_eq!(now, [broker("b", 1, 4), broker("c", 0, 8)]);
        add_lost(&mut now, &before, |name| name == "b");
        assert_eq!(now, [broker("b", 0, 4), broker("b", 1, 4), broker("c", 0, 8)]);
        add_lost(&mut now, &before, |_| true);
        assert_eq!(now, [broker("a", 0, 4), broker("b", 0, 4), broker("b", 1, 4), broker("c", 0, 8)]);
    }

    #[test]
    fn queues_without_brokers_are_none() {
        let queue = |broker: &str, perm, read_queue_nums, write_queue_nums| QueueData {
            broker_name: broker.to_owned(),
            perm,
            read_queue_nums,
            write_queue_nums,
            ..QueueData::default()
        };
        let broker = |name: &str, ids: &[i64]| BrokerData {
            broker_name: name.to_owned(),
            broker_addrs: ids.iter().map(|id| (*id, "h:1".to_owned())).collect::<BTreeMap<_, _>>(),
            ..BrokerData::default()
        };
        let route = TopicRouteData {
            queue_datas: vec![queue("b", 4, 2, 1), queue("gone", 6, 4, 4), queue("a", 6, 4, 4)],
            broker_datas: vec![broker("a", &[0, 1]), broker("b", &[0, i64::MAX]), broker("idle", &[0])],
            ..TopicRouteData::default()
        };
        let expected = [("a", 0, 6, 4, 4), ("a", 1, 6, 4, 4), ("b", 0, 4, 2, 1)].map(
            |(name, id, perm, read_queues, write_queues)| TopicBroker {
                name: name.into(),
                id,
                address: None,
                perm,
                read_queues,
                write_queues,
            },
        );
        assert_eq!(brokers(&route), expected);
    }
}
