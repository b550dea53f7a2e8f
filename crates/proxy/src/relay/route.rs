//! The route of a topic, with the proxy in the place of every broker (105).

use crate::invoker::NetworkInvoker;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::body::route::TopicRouteData;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::request::namesrv::GetRoute;
use std::collections::BTreeMap;

const MASTER_ID: i64 = 0;

pub async fn answer(invoker: &NetworkInvoker, here: &str, request: &Command) -> Result<Command> {
    let fields = request.ext_fields();
    let wanted = GetRoute::decode(&fields);
    let topic = wanted.topic.as_deref().filter(|topic| !topic.is_empty());
    let topic = topic.ok_or_else(|| Refusal::new(Code::BadRequest, "the request has no field topic"))?;
    let route = proxied(invoker.route(topic).await?, here);
    Ok(Command::response(response::SUCCESS).body(route.to_json_in(wanted.form(request.version))))
}

/// Slaves can't be asked through the proxy, and brokers without a master neither.
fn proxied(mut route: TopicRouteData, here: &str) -> TopicRouteData {
    route.broker_datas.retain(|broker| broker.broker_addrs.contains_key(&MASTER_ID));
    for broker in &mut route.broker_datas {
        broker.broker_addrs = BTreeMap::from([(MASTER_ID, here.to_owned())]);
    }
    let brokers = &route.broker_datas;
    route.queue_datas.retain(|queue| brokers.iter().any(|broker| broker.broker_name == queue.broker_name));
    route.filter_server_table.clear();
    route
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::body::route::{BrokerData, QueueData};

    #[test]
    fn every_master_is_here() {
        let broker = |name: &str, ids: &[i64]| BrokerData {
            broker_name: name.to_owned(),
            broker_addrs: ids.iter().map(|id| (*id, format!("{name}:{id}"))).collect(),
            ..BrokerData::default()
        };
        let queues = |name: &str| QueueData { broker_name: name.to_owned(), perm: 6, ..QueueData::default() };
        let route = TopicRouteData {
            broker_datas: vec![broker("a", &[0, 1]), broker("b", &[1]), broker("c", &[0])],
            queue_datas: vec![queues("a"), queues("b"), queues("c")],
            ..TopicRouteData::default()
        };
        let route = proxied(route, "h:8080");
        let brokers: Vec<_> =
            route.broker_datas.iter().map(|data| (&*data.broker_name, &data.broker_addrs)).collect();
        let here = BTreeMap::from([(0, "h:8080".to_owned())]);
        assert_eq!(brokers, [("a", &here), ("c", &here)]);
        assert_eq!(route.queue_datas, [queues("a"), queues("c")]);
    }
}
