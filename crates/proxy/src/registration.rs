//! Clients made known to the brokers: the heartbeats that a client of the remoting protocol would send, and its
//! goodbye.

use crate::announce;
use crate::calls::sync_lite::BOUND_TOPIC;
use crate::client::Client;
use crate::proxy::{Proxy, now_ms};
use crate::refusal::{Refusal, Result};
use crate::schema::settings::PubSub;
use crate::schema::{ClientType, Code, FilterType, Settings, Subscription, SubscriptionEntry};
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::body::heartbeat::{
    ConsumeFromWhere, ConsumeType, ConsumerData, HeartbeatData, MessageModel, ProducerData,
};
use roxmq_protocol::code::request;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::subscription::{EXPRESSION_SQL92, EXPRESSION_TAG, SubscriptionData};

/// Registers what the settings say, or renews it.
pub async fn register(proxy: &Proxy, client: &Client, settings: &Settings) -> Result<()> {
    let heartbeat = heartbeat(client, settings)?;
    if let [consumer] = heartbeat.consumer_data_set.as_slice() {
        // Brokers pass a group that isn't there over in silence.
        let group = proxy.facts.group(&consumer.group_name).await.map_err(no_group)?;
        check_lite(&group, settings.client_type(), consumer)?;
    }
    let brokers = proxy.invoker.brokers_of(&topics(settings)).await?;
    let beat = client.request(request::HEART_BEAT).body(heartbeat.to_json());
    announce::to_all(client, &brokers, &beat).await
}

/// Takes it back. A broker that can't be told forgets the client with its connection.
pub async fn unregister(proxy: &Proxy, client: &Client, settings: &Settings) -> Result<()> {
    let (field, groups) = match &settings.pub_sub {
        Some(PubSub::Publishing(_)) => ("producerGroup", topics(settings)),
        Some(PubSub::Subscription(subscription)) => {
            ("consumerGroup", subscription.group.iter().map(|group| group.name.clone()).collect())
        }
        None => return Ok(()),
    };
    let brokers = proxy.invoker.brokers_of(&topics(settings)).await?;
    for group in &groups {
        let leave =
            client.request(request::UNREGISTER_CLIENT).with("clientID", &client.id).with(field, group);
        announce::to_all(client, &brokers, &leave).await?;
    }
    Ok(())
}

/// What the client sends to, or receives from.
fn topics(settings: &Settings) -> Vec<String> {
    match &settings.pub_sub {
        Some(PubSub::Publishing(publishing)) => {
            publishing.topics.iter().map(|topic| topic.name.clone()).collect()
        }
        Some(PubSub::Subscription(subscription)) => {
            let entries = subscription.subscriptions.iter();
            entries.filter_map(|entry| entry.topic.as_ref()).map(|topic| topic.name.clone()).collect()
        }
        None => Vec::new(),
    }
}

fn no_group(refusal: Refusal) -> Refusal {
    match refusal.code {
        Code::ConsumerGroupNotFound => Refusal { code: Code::IllegalConsumerGroup, ..refusal },
        _ => refusal,
    }
}

/// A group for lite topics is for consumers of lite topics, and they for no other.
fn check_lite(
    group: &SubscriptionGroupConfig,
    client_type: ClientType,
    consumer: &ConsumerData,
) -> Result<()> {
    let name = &consumer.group_name;
    let refused = |code, text: String| Err(Refusal::new(code, text));
    match (group.attributes.get(BOUND_TOPIC), client_type == ClientType::LitePushConsumer) {
        (None, false) => Ok(()),
        (None, true) => {
            let text = format!("group {name} is not for lite topics: it lacks the attribute {BOUND_TOPIC}");
            refused(Code::IllegalConsumerGroup, text)
        }
        (Some(bound), false) => {
            let text = format!("group {name} is only for consumers of the lite topics of {bound}");
            refused(Code::IllegalConsumerGroup, text)
        }
        (Some(bound), true) => {
            match consumer.subscription_data_set.iter().find(|subscription| subscription.topic != *bound) {
                None => Ok(()),
                Some(other) => {
                    let other = &other.topic;
                    let text = format!("group {name} is for the lite topics of {bound}, not of {other}");
                    refused(Code::IllegalTopic, text)
                }
            }
        }
    }
}

fn heartbeat(client: &Client, settings: &Settings) -> Result<HeartbeatData> {
    let mut heartbeat = HeartbeatData { client_id: client.id.to_string(), ..HeartbeatData::default() };
    match &settings.pub_sub {
        // The group of a producer is its topic, so that a topic's transactions can be asked for.
        Some(PubSub::Publishing(publishing)) => {
            let groups =
                publishing.topics.iter().map(|topic| ProducerData { group_name: topic.name.clone() });
            heartbeat.producer_data_set = groups.collect();
        }
        Some(PubSub::Subscription(subscription)) => {
            heartbeat.consumer_data_set = vec![consumer(subscription, settings.client_type())?];
        }
        None => {}
    }
    Ok(heartbeat)
}

fn consumer(subscription: &Subscription, client_type: ClientType) -> Result<ConsumerData> {
    let group = subscription.group.as_ref().map(|group| group.name.clone()).unwrap_or_default();
    let consume_type = match client_type {
        ClientType::SimpleConsumer => ConsumeType::Actively,
        _ => ConsumeType::Passively,
    };
    Ok(ConsumerData {
        consume_from_where: ConsumeFromWhere::LastOffset,
        consume_type,
        group_name: group,
        message_model: MessageModel::Clustering,
        subscription_data_set: subscriptions(subscription)?,
        unit_mode: false,
    })
}

/// What a consumer subscribes to, as brokers write it.
pub fn subscriptions<T: FromIterator<SubscriptionData>>(subscription: &Subscription) -> Result<T> {
    subscription.subscriptions.iter().map(subscription_data).collect()
}

fn subscription_data(entry: &SubscriptionEntry) -> Result<SubscriptionData> {
    let topic = crate::names::topic(entry.topic.as_ref())?;
    let (kind, expression) = match &entry.expression {
        None => (EXPRESSION_TAG, ""),
        Some(filter) if filter.r#type() == FilterType::Sql => (EXPRESSION_SQL92, filter.expression.as_str()),
        Some(filter) => (EXPRESSION_TAG, filter.expression.as_str()),
    };
    SubscriptionData::parse(topic, expression, Some(kind), now_ms())
        .map_err(|error| Refusal::new(Code::IllegalFilterExpression, error.to_string()))
}
