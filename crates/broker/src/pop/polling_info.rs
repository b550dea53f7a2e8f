//! How many pops wait (200055).

use super::admit;
use super::rules;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::polling::PollingInfoHeader;
use roxmq_store::QueueId;

pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = PollingInfoHeader::decode(&frame.header.ext)?;
    rules::check_broker(&broker.config(), "peeking")?;
    let (topic, group) = admit::target(broker, &header.topic, header.queue_id, &header.consumer_group)?;
    let queue_id = (header.queue_id >= 0).then_some(QueueId(header.queue_id));
    let count = broker.pop_waits.count(&group.group_name, &topic.topic_name, queue_id);
    Ok(Command::response(response::SUCCESS).with("pollingNum", count))
}
