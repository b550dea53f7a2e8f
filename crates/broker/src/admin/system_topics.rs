//! The broker's own topics (305).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::list::TopicList;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;

pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, _: &Frame<'_>) -> Result<Command, Refusal> {
    Ok(answer(&TopicList {
        broker_addr: None,
        topic_list: broker.topics.system_topics().into_iter().collect(),
    }))
}
