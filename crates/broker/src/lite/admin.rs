//! What tools ask about lite topics (200074 to 200079).

use super::state::client_key;
use super::{bind_topic, parent};
use crate::Broker;
use crate::groups::SubscriptionGroupConfig;
use crate::lmq;
use crate::refusal::Refusal;
use crate::topics::attributes;
use roxmq_protocol::body::consume_stats::OffsetWrapper;
use roxmq_protocol::body::lite::{
    BrokerLiteInfo, ClientGroup, LiteClientInfo, LiteGroupInfo, LiteLagInfo, LiteTopicInfo, ParentTopicInfo,
};
use roxmq_protocol::body::topic_stats::TopicOffset;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::ext::FieldError;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::request::lite::LiteQuery;
use roxmq_store::QueueOffset;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries of one answer at most.
const SHOWN_MAX: usize = 10_000;

fn answer(body: &impl ToJson) -> Command {
    Command::response(response::SUCCESS).body(body.to_json())
}

fn needed<'a>(value: &'a Option<impl AsRef<str>>, field: &'static str) -> Result<&'a str, Refusal> {
    Ok(value.as_ref().ok_or(FieldError::Missing(field))?.as_ref())
}

fn count(of: usize) -> i32 {
    i32::try_from(of).unwrap_or(i32::MAX)
}

/// Groups by the parent topic they are bound to.
fn groups_by_parent(broker: &Broker) -> BTreeMap<String, BTreeSet<String>> {
    let mut groups = BTreeMap::<String, BTreeSet<String>>::new();
    for group in broker.groups.all() {
        if let Some(topic) = bind_topic(&group) {
            groups.entry(topic.to_owned()).or_default().insert(group.group_name.clone());
        }
    }
    groups
}

/// The light queues of a parent's lite topics.
fn queues_of(broker: &Broker, parent: &str) -> Vec<Arc<str>> {
    let mut queues = broker.store.topics();
    queues.retain(|queue| lmq::lite_parts(queue).is_some_and(|(of, _)| of == parent));
    queues
}

/// 200074
pub(crate) fn broker_info(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let (clients, subscriptions, orders) = broker.lite.counts();
    let is_parent = |topic: &&Arc<crate::topics::Topic>| attributes::is_lite(&topic.attributes);
    let topics = broker.topics.all();
    Ok(answer(&BrokerLiteInfo {
        queues: count(broker.store.topics().len()),
        light_queues: count(broker.store.lmq_count()),
        clients: count(clients),
        groups: groups_by_parent(broker),
        subscriptions: count(subscriptions),
        light_queues_max: count(broker.config().max_lmq_consume_queue_num),
        offsets: count(broker.offsets.all().values().map(BTreeMap::len).sum()),
        orders: count(orders),
        store_type: Some("default".to_owned()),
        topics: topics
            .iter()
            .filter(is_parent)
            .map(|topic| (topic.topic_name.clone(), attributes::lite_expiration(&topic.attributes)))
            .collect(),
    }))
}

/// 200075
pub(crate) fn parent_info(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let query = LiteQuery::decode(&fields)?;
    let topic = needed(&query.parent_topic, "topic")?;
    let known = parent(broker, topic)?;
    Ok(answer(&ParentTopicInfo {
        groups: groups_by_parent(broker).remove(topic).unwrap_or_default(),
        lite_topics: count(queues_of(broker, topic).len()),
        light_queues: count(broker.store.lmq_count()),
        topic: topic.to_owned(),
        ttl_minutes: attributes::lite_expiration(&known.attributes),
    }))
}

/// 200076
pub(crate) fn topic_info(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let query = LiteQuery::decode(&fields)?;
    let (topic, lite_topic) =
        (needed(&query.parent_topic, "parentTopic")?, needed(&query.lite_topic, "liteTopic")?);
    parent(broker, topic)?;
    let queue = lmq::of_lite_topic(topic, lite_topic);
    let client = |(group, client_id): (Arc<str>, Arc<str>)| ClientGroup {
        client_id: client_id.to_string(),
        group: group.to_string(),
    };
    let subscribers = broker.lite.subscribers(&queue).into_iter().map(client).take(SHOWN_MAX).collect();
    let mut offset = TopicOffset::default();
    if let Some(queue) = broker.store.queue(&queue, LMQ_QUEUE) {
        (offset.min_offset, offset.max_offset) = (queue.min_offset().0, queue.max_offset().0);
        if offset.max_offset > 0 {
            let last = broker.store.store_time(&queue, QueueOffset(offset.max_offset - 1))?;
            offset.last_update_timestamp = last.map_or(0, |time| time.0);
        }
    }
    Ok(answer(&LiteTopicInfo {
        lite_topic: lite_topic.to_owned(),
        parent_topic: topic.to_owned(),
        is_here: true,
        subscribers,
        offset,
    }))
}

/// 200077
pub(crate) fn client_info(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let query = LiteQuery::decode(&fields)?;
    let topic = needed(&query.parent_topic, "parentTopic")?;
    let (group, client_id) = (needed(&query.group, "group")?, needed(&query.client_id, "clientId")?);
    parent(broker, topic)?;
    lite_group(broker, group)?;
    let view = broker.lite.view(&client_key(group, client_id)).filter(|view| view.parent == topic);
    let shown = usize::try_from(query.max_count).unwrap_or(0).min(SHOWN_MAX);
    let mut info = LiteClientInfo {
        client_id: client_id.to_owned(),
        group: group.to_owned(),
        parent_topic: topic.to_owned(),
        last_access: -1,
        last_consume: -1,
        lite_topic_count: -1,
        ..LiteClientInfo::default()
    };
    if let Some(view) = view {
        let lite_topics = view.queues.iter().filter_map(|queue| lmq::lite_parts(queue));
        info.lite_topics = lite_topics.map(|(_, lite_topic)| lite_topic.to_owned()).take(shown).collect();
        info.lite_topic_count = count(view.queues.len());
        (info.last_access, info.last_consume) = (view.accessed.0, view.consumed.0);
    }
    Ok(answer(&info))
}

/// 200078
pub(crate) fn group_info(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let query = LiteQuery::decode(&fields)?;
    let group = needed(&query.group, "group")?;
    let config = lite_group(broker, group)?;
    let topic = bind_topic(&config).unwrap_or_default();
    let mut info = LiteGroupInfo {
        earliest_unconsumed: -1,
        group: group.to_owned(),
        parent_topic: topic.to_owned(),
        lite_topic: query.lite_topic.as_deref().map(str::to_owned),
        total_lag: -1,
        ..LiteGroupInfo::default()
    };
    match &query.lite_topic {
        Some(lite_topic) => {
            let queue = lmq::of_lite_topic(topic, lite_topic);
            if let Some(lag) = lag(broker, group, &queue)? {
                (info.total_lag, info.earliest_unconsumed) = (lag.info.lag, lag.info.earliest_unconsumed);
                info.offsets = Some(lag.offsets);
            }
        }
        None => {
            let mut lags = Vec::new();
            for queue in queues_of(broker, topic) {
                lags.extend(lag(broker, group, &queue)?.map(|lag| lag.info).filter(|info| info.lag > 0));
            }
            let shown = usize::try_from(query.top_k).unwrap_or(0).min(SHOWN_MAX);
            info.total_lag = lags.iter().map(|lag| lag.lag).sum();
            info.earliest_unconsumed = lags.iter().map(|lag| lag.earliest_unconsumed).min().unwrap_or(0);
            lags.sort_by_key(|lag| std::cmp::Reverse(lag.lag));
            info.most_behind = lags.iter().take(shown).cloned().collect();
            lags.sort_by_key(|lag| lag.earliest_unconsumed);
            info.longest_behind = lags.into_iter().take(shown).collect();
        }
    }
    Ok(answer(&info))
}

/// Lets clients look at all their lite topics (200079).
pub(crate) fn trigger(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let query = LiteQuery::decode(&fields)?;
    let group = needed(&query.group, "group")?;
    lite_group(broker, group)?;
    match &query.client_id {
        Some(client_id) => broker.lite.trigger(&client_key(group, client_id)),
        None => broker.lite.clients_of(group).iter().for_each(|key| broker.lite.trigger(key)),
    }
    Ok(Command::response(response::SUCCESS))
}

fn lite_group(broker: &Broker, group: &str) -> Result<Arc<SubscriptionGroupConfig>, Refusal> {
    let known = broker.groups.get(group).ok_or_else(|| Refusal::group_missing(group))?;
    if bind_topic(&known).is_none() {
        return Err(Refusal::invalid(format!("Group [{group}] is not a LITE group (lite.bind.topic).")));
    }
    Ok(known)
}

struct Lag {
    info: LiteLagInfo,
    offsets: OffsetWrapper,
}

/// How far the group is behind in a light queue; none if it never read there.
fn lag(broker: &Broker, group: &str, name: &str) -> Result<Option<Lag>, Refusal> {
    let Some(queue) = broker.store.queue(name, LMQ_QUEUE) else { return Ok(None) };
    let Some(consumed) = broker.offsets.get(group, name, LMQ_QUEUE) else { return Ok(None) };
    let max = queue.max_offset().0;
    let time = |offset: i64| broker.store.store_time(&queue, QueueOffset(offset));
    let lite_topic = lmq::lite_parts(name).map_or(name, |(_, lite_topic)| lite_topic);
    let info = LiteLagInfo {
        lag: (max - consumed).max(0),
        earliest_unconsumed: if consumed < max { time(consumed)?.map_or(0, |time| time.0) } else { 0 },
        lite_topic: lite_topic.to_owned(),
    };
    let last = if consumed > 0 { time(consumed - 1)?.map_or(0, |time| time.0) } else { 0 };
    let offsets = OffsetWrapper {
        broker_offset: max,
        consumer_offset: consumed,
        last_timestamp: last,
        ..OffsetWrapper::default()
    };
    Ok(Some(Lag { info, offsets }))
}
