//! Whole tables of offsets, for replicas and tools: of all consumers (43), of the delay levels (45).

use super::answer;
use crate::Broker;
use crate::offsets::GroupOffsets;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::offset_table::{ConsumerOffsetTable, DelayOffsetTable, QueueOffsets};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use std::collections::BTreeMap;

pub(crate) fn of_consumers(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let committed = broker.offsets.all();
    let topics_of = |topics: &BTreeMap<String, _>| topics.keys().cloned().collect();
    let groups = committed.iter().map(|(group, topics)| (group.clone(), topics_of(topics)));
    Ok(answer(&ConsumerOffsetTable {
        data_version: version(broker),
        group_topic_map: Some(groups.collect()),
        offset_table: by_topic_and_group(&committed),
        pull_offset_table: Some(by_topic_and_group(&broker.offsets.all_pulled())),
    }))
}

fn by_topic_and_group(offsets: &GroupOffsets) -> BTreeMap<String, QueueOffsets> {
    let mut table = BTreeMap::new();
    for (group, topics) in offsets {
        for (topic, queues) in topics {
            let offsets = queues.iter().map(|(queue, offset)| (queue.0, *offset)).collect();
            table.insert(format!("{topic}@{group}"), offsets);
        }
    }
    table
}

pub(crate) fn of_delay_levels(broker: &Broker, _: &Caller<'_>, _: &Frame<'_>) -> Result<Command, Refusal> {
    let offset_table = broker.delay_offsets.all();
    Ok(answer(&DelayOffsetTable { data_version: version(broker), offset_table }))
}

/// Offsets change all the time: every answer is a new version.
fn version(broker: &Broker) -> DataVersion {
    DataVersion::default().next(broker.clock.now().0)
}
