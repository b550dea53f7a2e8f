//! How far a group is in its topics (208), and all groups of the broker (317).

use super::queue_view::QueueView;
use super::{answer, is_read_by};
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::consume_stats::{ConsumeStats, ConsumeStatsList};
use roxmq_protocol::command::Command;
use roxmq_protocol::request::group::GetConsumeStats;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn of_group(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let header = GetConsumeStats::decode(&fields)?;
    let group = &*header.consumer_group;
    let mut stats = ConsumeStats::default();
    for topic in topics(broker, &header) {
        let Some(config) = broker.topics.get(&topic) else {
            continue;
        };
        add(broker, group, &topic, config.read_queue_nums, &mut stats)?;
    }
    Ok(answer(&stats))
}

/// The topics that are named in a list, or those of which the group has something to show.
fn topics(broker: &Broker, header: &GetConsumeStats<'_>) -> BTreeSet<String> {
    if let Some(list) = &header.topic_list {
        return list.split(';').filter(|topic| !topic.is_empty()).map(str::to_owned).collect();
    }
    let group = &*header.consumer_group;
    let named = match &header.topic {
        Some(topic) => BTreeSet::from([topic.to_string()]),
        None => broker.offsets.of_group(group).into_keys().collect(),
    };
    named.into_iter().filter(|topic| is_read_by(broker, topic, group)).collect()
}

pub(crate) fn of_broker(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let ordered_only = request.ext_fields().bool("isOrder").unwrap_or(false);
    let mut answered =
        ConsumeStatsList { broker_addr: Some(broker.advertised.to_string()), ..ConsumeStatsList::default() };
    for config in broker.groups.all() {
        let group = &config.group_name;
        let mut of_group = Vec::new();
        for topic in broker.offsets.of_group(group).into_keys() {
            let Some(config) = broker.topics.get(&topic).filter(|config| config.order || !ordered_only)
            else {
                continue;
            };
            if !is_read_by(broker, &topic, group) {
                continue;
            }
            let mut stats = ConsumeStats::default();
            add(broker, group, &topic, config.write_queue_nums, &mut stats)?;
            for offsets in stats.offset_table.values() {
                answered.total_diff += offsets.broker_offset - offsets.consumer_offset;
                answered.total_inflight_diff += offsets.pull_offset - offsets.consumer_offset;
            }
            of_group.push(stats);
        }
        answered.consume_stats_list.push(BTreeMap::from([(group.clone(), of_group)]));
    }
    Ok(answer(&answered))
}

fn add(
    broker: &Broker,
    group: &str,
    topic: &str,
    queues: i32,
    stats: &mut ConsumeStats,
) -> Result<(), Refusal> {
    for id in 0..queues {
        let queue = QueueView::of(broker, topic, id);
        stats.offset_table.insert(queue.name(), queue.progress(group)?);
    }
    stats.consume_tps += broker.stats.group_get_tps(topic, group);
    Ok(())
}
