//! Who reads what: the groups of a topic (300), the topics of a group (343), a group's subscription (345).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::check_client::QuerySubscriptionAnswer;
use roxmq_protocol::body::list::{GroupList, TopicList};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::group::GroupHeader;
use roxmq_protocol::request::topic::TopicHeader;

/// Groups that subscribe to the topic now, and groups that have offsets of it.
pub(crate) fn groups_of_topic(
    broker: &Broker,
    _: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let topic = TopicHeader::decode(&frame.header.ext)?.topic;
    let online = broker.clients.groups_subscribed_to(&topic);
    let known = broker.offsets.groups_of_topic(&topic);
    let group_list = online.iter().map(|group| group.to_string()).chain(known).collect();
    Ok(answer(&GroupList { group_list }))
}

pub(crate) fn topics_of_group(
    broker: &Broker,
    _: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let group = GroupHeader::decode(&frame.header.ext)?.group;
    let topic_list = broker.offsets.of_group(&group).into_keys().collect();
    Ok(answer(&TopicList { broker_addr: Some(broker.advertised.to_string()), topic_list }))
}

pub(crate) fn subscription(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = GroupHeader::decode(&frame.header.ext)?;
    let topic = header.topic.as_deref();
    let subscription = topic.and_then(|topic| broker.clients.subscription(&header.group, topic));
    Ok(answer(&QuerySubscriptionAnswer {
        group: header.group.to_string(),
        subscription_data: subscription.map(|subscription| (*subscription).clone()),
        topic: topic.map(str::to_owned),
    }))
}
