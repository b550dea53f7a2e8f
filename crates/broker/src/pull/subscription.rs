//! Which messages a pull wants: by its own subscription, or by that of its group's heartbeats.

use super::admit::{Forbidden, Refused};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::filter::{self, MessageFilter};
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::names;
use roxmq_protocol::request::pull::PullHeader;
use roxmq_protocol::subscription::{EXPRESSION_TAG, SubscriptionData};
use roxmq_protocol::sys_flag::pull as flag;

/// The subscription of the request if it says that this counts, else that of the group's heartbeats.
pub(super) fn filter(
    broker: &Broker,
    config: &BrokerConfig,
    header: &PullHeader<'_>,
    group: &SubscriptionGroupConfig,
) -> Result<MessageFilter, Refused> {
    let filter = if header.sys_flag & flag::SUBSCRIPTION != 0 {
        requested_filter(broker, config, header)?
    } else {
        groups_filter(broker, config, header, group)?
    };
    // What failed comes back by the filter of the topic that it failed in.
    let by_origin = config.filter_support_retry && names::group_of_retry_topic(&header.topic).is_some();
    Ok(match filter {
        MessageFilter::Sql(_) if by_origin => broker.filters.by_origin(&header.consumer_group),
        filter => filter,
    })
}

fn groups_filter(
    broker: &Broker,
    config: &BrokerConfig,
    header: &PullHeader<'_>,
    group: &SubscriptionGroupConfig,
) -> Result<MessageFilter, Refused> {
    let (name, topic) = (&*header.consumer_group, &*header.topic);
    let not_there = |what: String| Refusal::new(response::SUBSCRIPTION_NOT_EXIST, what);
    let online = broker.clients.consumer_group(name).ok_or_else(|| {
        not_there(format!("the consumer's group info not exist: no member of {name} is online"))
    })?;
    if !group.consume_broadcast_enable && online.info.is_broadcasting() {
        let remark = format!("the consumer group[{name}] can not consume by broadcast way");
        return Err(Refused::forbidden(Forbidden::Broadcast, remark));
    }
    const READ_BIT: i32 = 1 << 2;
    if broker.groups.forbidden(name, topic) & READ_BIT != 0 {
        let remark = format!("the consumer group[{name}] is forbidden for topic[{topic}]");
        return Err(Refused::forbidden(Forbidden::Subscription, remark));
    }
    let subscription = online.info.subscription(topic).ok_or_else(|| {
        not_there(format!("the consumer's subscription not exist: {name} doesn't subscribe to {topic}"))
    })?;
    if subscription.sub_version < header.sub_version {
        let remark = format!(
            "the consumer's subscription not latest: known is version {}, asked for is {}",
            subscription.sub_version, header.sub_version
        );
        return Err(Refusal::new(response::SUBSCRIPTION_NOT_LATEST, remark).into());
    }
    if subscription.is_by_tags() {
        return Ok(MessageFilter::of(subscription).map_err(Refusal::from)?);
    }
    Ok(registered_filter(broker, config, header, subscription)?)
}

fn requested_filter(
    broker: &Broker,
    config: &BrokerConfig,
    header: &PullHeader<'_>,
) -> Result<MessageFilter, Refusal> {
    let (group, topic) = (&*header.consumer_group, &*header.topic);
    let expression = header.subscription.as_deref().unwrap_or_default();
    let kind = header.expression_type.as_deref();
    let filter = broker.filters.filter(group, topic, kind, expression)?;
    filter::check_allowed(config, kind.filter(|kind| !kind.is_empty()).unwrap_or(EXPRESSION_TAG))?;
    Ok(filter)
}

/// The filter that was compiled when the group's heartbeats brought it.
fn registered_filter(
    broker: &Broker,
    config: &BrokerConfig,
    header: &PullHeader<'_>,
    subscription: &SubscriptionData,
) -> Result<MessageFilter, Refusal> {
    let PullHeader { consumer_group: group, topic, .. } = header;
    let Some(registered) = broker.filters.get(group, topic) else {
        let kind = &subscription.expression_type;
        return Err(Refusal::new(
            response::FILTER_DATA_NOT_EXIST,
            format!(
                "the broker's consumer filter data not exist: {group} has no filter by {kind} for {topic}"
            ),
        ));
    };
    if registered.version < header.sub_version {
        return Err(Refusal::new(
            response::FILTER_DATA_NOT_LATEST,
            format!(
                "the broker's consumer filter data not latest: known is version {}, asked for is {}",
                registered.version, header.sub_version
            ),
        ));
    }
    filter::check_allowed(config, &subscription.expression_type)?;
    match &registered.compiled {
        Ok(expression) => Ok(MessageFilter::Sql(expression.clone())),
        Err(error) => Err(Refusal::new(
            response::FILTER_DATA_NOT_EXIST,
            format!(
                "the broker's consumer filter data not exist: the filter of {group} for {topic} is wrong: {error}"
            ),
        )),
    }
}
