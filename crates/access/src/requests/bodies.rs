//! Needs that stand in a request's body. Whoever handles the request reads it again: these are asked seldom, or for many
//! messages at once.

use crate::entry::Action::{Create, Sub, Update};
use crate::needs::{Need, Needs};
use crate::resource::Resource;
use roxmq_protocol::body::assignment::{MessageRequestModeSetting, QueryAssignment};
use roxmq_protocol::body::batch_ack::BatchAckBody;
use roxmq_protocol::body::check_client::CheckClientRequest;
use roxmq_protocol::body::group_config::{SubscriptionGroupConfig, SubscriptionGroupList};
use roxmq_protocol::body::heartbeat::HeartbeatData;
use roxmq_protocol::body::lite::LiteSubscriptions;
use roxmq_protocol::body::lock_batch::LockBatchRequest;
use roxmq_protocol::body::topic_config::TopicConfigList;
use roxmq_protocol::json::{FromJson, JsonError};

type Read = Result<(), JsonError>;

pub(super) fn heartbeat(body: &[u8], needs: &mut Needs<'_>) -> Read {
    for consumer in HeartbeatData::from_json_bytes(body)?.consumer_data_set {
        for subscription in consumer.subscription_data_set {
            add(needs, Need::consumed(&subscription.topic, &consumer.group_name, &[Sub]));
        }
        add(needs, Need::consume(consumer.group_name));
    }
    Ok(())
}

pub(super) fn check_client(body: &[u8], needs: &mut Needs<'_>) -> Read {
    let request = CheckClientRequest::from_json_bytes(body)?;
    let group = request.group.unwrap_or_default();
    if let Some(subscription) = request.subscription_data {
        add(needs, Need::consumed(&subscription.topic, &group, &[Sub]));
    }
    add(needs, Need::consume(group));
    Ok(())
}

pub(super) fn lock_batch(body: &[u8], needs: &mut Needs<'_>) -> Read {
    let request = LockBatchRequest::from_json_bytes(body)?;
    let group = request.consumer_group.unwrap_or_default();
    for queue in request.mq_set {
        add(needs, Need::consumed(&queue.topic, &group, &[Sub]));
    }
    add(needs, Need::consume(group));
    Ok(())
}

pub(super) fn batch_ack(body: &[u8], needs: &mut Needs<'_>) -> Read {
    for ack in BatchAckBody::from_json_bytes(body)?.acks {
        add(needs, Need::consumed(&ack.topic, &ack.consumer_group, &[Sub]));
        add(needs, Need::consume(ack.consumer_group));
    }
    Ok(())
}

pub(super) fn lite_subscriptions(body: &[u8], needs: &mut Needs<'_>) -> Read {
    for subscription in LiteSubscriptions::from_json_bytes(body)?.subscriptions {
        add(needs, Need::consumed(&subscription.topic, &subscription.group, &[Sub]));
        add(needs, Need::consume(subscription.group));
    }
    Ok(())
}

pub(super) fn query_assignment(body: &[u8], needs: &mut Needs<'_>) -> Read {
    let query = QueryAssignment::from_json_bytes(body)?;
    add(needs, Need::consumed(&query.topic, &query.consumer_group, &[Sub]));
    add(needs, Need::consume(query.consumer_group));
    Ok(())
}

pub(super) fn request_mode(body: &[u8], needs: &mut Needs<'_>) -> Read {
    let setting = MessageRequestModeSetting::from_json_bytes(body)?;
    add(needs, Need::of_topic(setting.topic, &[Update]));
    add(needs, Need::new(Resource::group(setting.consumer_group), &[Update]));
    Ok(())
}

pub(super) fn topics(body: &[u8], needs: &mut Needs<'_>) -> Read {
    for topic in TopicConfigList::from_json_bytes(body)?.topic_config_list {
        add(needs, Need::of_topic(topic.topic_name, &[Create]));
    }
    Ok(())
}

pub(super) fn group(body: &[u8], needs: &mut Needs<'_>) -> Read {
    let config = SubscriptionGroupConfig::from_json_bytes(body)?;
    add(needs, Need::new(Resource::group(config.group_name), &[Create]));
    Ok(())
}

pub(super) fn groups(body: &[u8], needs: &mut Needs<'_>) -> Read {
    for config in SubscriptionGroupList::from_json_bytes(body)?.group_config_list {
        add(needs, Need::new(Resource::group(config.group_name), &[Create]));
    }
    Ok(())
}

/// Bodies repeat themselves: a thousand acknowledgements need what one needs. Only the last few are looked at, so that a
/// long list costs no more than its length.
fn add(needs: &mut Needs<'_>, need: Need<'static>) {
    const LOOKED_AT: usize = 4;
    if !needs.iter().rev().take(LOOKED_AT).any(|other| *other == need) {
        needs.push(need);
    }
}
