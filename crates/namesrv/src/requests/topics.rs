//! Topics: lists of them (206, 224, 304, 311 to 313), and single ones told (217) and deleted (216).

use super::{Answer, Ask, Reply, RequestError, success};
use crate::kv::ORDER_TOPIC_CONFIG;
use crate::namesrv::Namesrv;
use crate::route::{TopicQueues, UnitList};
use roxmq_protocol::body::list::TopicList;
use roxmq_protocol::body::route::TopicRouteData;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{FromJson, ToJson};
use roxmq_protocol::request::namesrv::DeleteTopic;
use std::collections::BTreeSet;
use tracing::{info, warn};

pub fn all(server: &Namesrv, _: &Ask<'_, '_>) -> Answer {
    if !server.config().enable_all_topic_list {
        return Err(RequestError::ListDisabled { key: "enableAllTopicList" });
    }
    Ok(list(server.table().read().all_topics(), None))
}

pub fn of_cluster(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    need_lists(server)?;
    let cluster = ask.fields().need_str("cluster")?;
    Ok(list(server.table().read().topics_of_cluster(&cluster), None))
}

pub fn system(server: &Namesrv, _: &Ask<'_, '_>) -> Answer {
    let (topics, broker_addr) = server.table().read().system_topics();
    Ok(list(topics, broker_addr))
}

pub fn unit(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    need_lists(server)?;
    let wanted = match ask.code() {
        request::GET_UNIT_TOPIC_LIST => UnitList::Unit,
        request::GET_HAS_UNIT_SUB_TOPIC_LIST => UnitList::HasUnitSub,
        _ => UnitList::HasUnitSubButNoUnit,
    };
    Ok(list(server.table().read().unit_topics(wanted), None))
}

pub fn register(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let topic = ask.fields().need_str("topic")?;
    if ask.frame.body.is_empty() {
        return Ok(success());
    }
    let route = TopicRouteData::from_json_bytes(ask.frame.body)?;
    let queues: Vec<(String, TopicQueues)> = route
        .queue_datas
        .into_iter()
        .map(|queues| (queues.broker_name.clone(), TopicQueues::from(&queues)))
        .collect();
    if let Err(unknown) = server.table().write().register_topic(&topic, &queues) {
        // Not an error for the broker: it comes with its next full registration.
        warn!(%topic, broker_name = unknown, "a topic of a broker that isn't registered was ignored");
    }
    Ok(success())
}

/// A deleted topic leaves nothing behind: its order configuration goes with its last broker.
pub fn delete(server: &Namesrv, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
    ask.need_admin(server)?;
    let DeleteTopic { topic, cluster_name } = DeleteTopic::decode(ask.fields())?;
    let is_gone = server.table().write().delete_topic(&topic, cluster_name.as_deref());
    info!(%topic, cluster = ?cluster_name, by = %ask.asker.remote, "topic deleted");
    if !is_gone || server.kv().get(ORDER_TOPIC_CONFIG, &topic).is_none() {
        return Ok(Reply::Now(success()));
    }
    let (kv, topic) = (server.kv().clone(), topic.into_owned());
    Ok(Reply::Later(Box::new(move || {
        kv.delete(ORDER_TOPIC_CONFIG, &topic)?;
        Ok(success())
    })))
}

fn need_lists(server: &Namesrv) -> Result<(), RequestError> {
    if server.config().enable_topic_list {
        return Ok(());
    }
    Err(RequestError::ListDisabled { key: "enableTopicList" })
}

fn list(topic_list: BTreeSet<String>, broker_addr: Option<String>) -> Command {
    success().body(TopicList { topic_list, broker_addr }.to_json())
}
