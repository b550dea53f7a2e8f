//! The ends of a topic's queues (202).

use super::answer;
use super::queue_view::QueueView;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::topic_stats::{TopicOffset, TopicStatsTable};
use roxmq_protocol::command::Command;
use roxmq_protocol::request::topic::TopicHeader;
use std::collections::BTreeMap;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let name = TopicHeader::decode(&request.ext_fields())?.topic;
    let topic = broker.topics.get(&name).ok_or_else(|| Refusal::topic_missing(&name))?;
    let mut offset_table = BTreeMap::new();
    for id in 0..topic.write_queue_nums.max(topic.read_queue_nums) {
        let queue = QueueView::of(broker, &name, id);
        let max = queue.max();
        let last_update = queue.store_time(max - 1)?.unwrap_or(0);
        let offsets =
            TopicOffset { min_offset: queue.min(), max_offset: max, last_update_timestamp: last_update };
        offset_table.insert(queue.name(), offsets);
    }
    let topic_put_tps = topic.stats.put.windows().messages.minute().tps;
    Ok(answer(&TopicStatsTable { offset_table, topic_put_tps }))
}
