//! Resets the offsets of consumers that are online by asking them to (220), the way of servers before 5.0.

use super::answer;
use super::queue_view::QueueView;
use crate::Broker;
use crate::clients::ConsumerGroup;
use crate::refusal::Refusal;
use roxmq_protocol::body::offset_table::{QueueOffset, ResetOffsetList, ResetOffsetTable};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::language::Language;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_protocol::request::offset::ResetOffset;
use roxmq_protocol::version;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn reset(
    broker: &Broker,
    header: &ResetOffset<'_>,
    queues: i32,
    caller: Language,
) -> Result<Command, Refusal> {
    let offset_table = targets(broker, header, queues)?;
    let group = reachable(broker, header)?;
    let push = Command::request(request::RESET_CONSUMER_CLIENT_OFFSET)
        .with("topic", &header.topic)
        .with("group", &header.group)
        .with("timestamp", header.timestamp)
        .with("isForce", header.force)
        .with("queueId", -1)
        .body(body(&offset_table, caller));
    for member in group.members.iter() {
        member.client.channel.oneway(push.clone());
    }
    tracing::info!(group = %header.group, topic = %header.topic, "consumers were asked to reset their offsets");
    Ok(answer(&ResetOffsetTable { offset_table }))
}

fn targets(
    broker: &Broker,
    header: &ResetOffset<'_>,
    queues: i32,
) -> Result<BTreeMap<MessageQueue, i64>, Refusal> {
    let mut targets = BTreeMap::new();
    for id in 0..queues {
        let queue = QueueView::of(broker, &header.topic, id);
        let Some(current) = queue.consumed(&header.group) else {
            return Err(Refusal::failed(format!(
                "THe consumer group <{}> not exist: it has no offset of queue {id} of topic {}",
                header.group, header.topic
            )));
        };
        let wanted = queue.offset_at(header.timestamp)?;
        targets.insert(queue.name(), if header.force { wanted } else { wanted.min(current) });
    }
    Ok(targets)
}

/// The group, if it is online and all its members are new enough to be asked.
fn reachable(broker: &Broker, header: &ResetOffset<'_>) -> Result<Arc<ConsumerGroup>, Refusal> {
    let Some(group) = broker.clients.consumer_group(&header.group) else {
        let remark = format!(
            "Consumer not online, so can not reset offset, Group: {} Topic: {} Timestamp: {}",
            header.group, header.topic, header.timestamp
        );
        return Err(Refusal::new(response::CONSUMER_NOT_ONLINE, remark));
    };
    let too_old = group.members.iter().find(|member| member.client.version < version::V3_0_7_SNAPSHOT);
    if let Some(member) = too_old {
        return Err(Refusal::failed(format!(
            "the client does not support this feature. version={} client={}",
            version::name(member.client.version),
            member.client.client_id
        )));
    }
    Ok(group)
}

/// C++ clients read a list, all others a map.
fn body(offsets: &BTreeMap<MessageQueue, i64>, caller: Language) -> Vec<u8> {
    if caller != Language::Cpp {
        return ResetOffsetTable { offset_table: offsets.clone() }.to_json();
    }
    let offset_table = offsets
        .iter()
        .map(|(queue, offset)| QueueOffset {
            broker_name: queue.broker_name.clone(),
            offset: *offset,
            queue_id: queue.queue_id,
            topic: queue.topic.clone(),
        })
        .collect();
    ResetOffsetList { offset_table }.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_gets_the_body_it_reads() {
        let check = |language, expected: &str| {
            let offsets = BTreeMap::from([(MessageQueue::new("T", "b", 1), 5)]);
            assert_eq!(String::from_utf8(body(&offsets, language)).expect("UTF-8"), expected);
        };
        check(Language::Java, r#"{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5}}"#);
        check(Language::Cpp, r#"{"offsetTable":[{"brokerName":"b","offset":5,"queueId":1,"topic":"T"}]}"#);
    }
}
