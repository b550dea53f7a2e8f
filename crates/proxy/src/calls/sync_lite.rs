//! Which lite topics a client wants: passed on to the brokers, which keep it.

use crate::announce;
use crate::message::check::lite_topic;
use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::offset_option::OffsetType;
use crate::schema::{
    Code, LiteSubscriptionAction, OffsetOption, SyncLiteSubscriptionRequest, SyncLiteSubscriptionResponse,
};
use crate::settings::{LITE_QUOTA_ATTRIBUTE, lite_quota};
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::body::lite::{self, LiteAction, LiteSubscription, LiteSubscriptions, OffsetOptionType};
use roxmq_protocol::code::request;
use roxmq_protocol::json::ToJson;
use std::time::Instant;
use tonic::Request;

/// Lite topics in one call beyond a client's quota.
const BEYOND_QUOTA: usize = 300;
/// The attribute that names the topic of a group for lite topics.
pub const BOUND_TOPIC: &str = "lite.bind.topic";

pub async fn handle(
    proxy: &Proxy,
    request: Request<SyncLiteSubscriptionRequest>,
) -> Result<SyncLiteSubscriptionResponse> {
    let client = proxy.client(&request)?;
    let asked = request.into_inner();
    let topic = names::topic(asked.topic.as_ref())?;
    let group = names::group(asked.group.as_ref())?;
    if asked.action() == LiteSubscriptionAction::PartialAdd {
        asked.lite_topic_set.iter().try_for_each(|name| lite_topic(name, &proxy.config))?;
    }
    check_bound(proxy, topic, group, asked.lite_topic_set.len()).await?;
    check_rate(proxy, asked.action())?;
    let subscription = LiteSubscription {
        action: action(asked.action()),
        client_id: client.id.to_string(),
        group: group.to_owned(),
        lite_topics: asked.lite_topic_set.iter().cloned().collect(),
        offset_option: asked.offset_option.and_then(offset_option),
        topic: topic.to_owned(),
        version: asked.version.unwrap_or_default(),
    };
    let body = LiteSubscriptions { subscriptions: vec![subscription] }.to_json();
    let brokers = proxy.invoker.brokers_of(&[topic.to_owned()]).await?;
    let control = client.request(request::LITE_SUBSCRIPTION_CTL).body(body);
    announce::to_all(&client, &brokers, &control).await?;
    Ok(SyncLiteSubscriptionResponse { status: Some(ok()) })
}

async fn check_bound(proxy: &Proxy, topic: &str, group: &str, count: usize) -> Result<()> {
    let config = proxy.facts.group(group).await?;
    match config.attributes.get(BOUND_TOPIC) {
        Some(bound) if bound == topic => check_count(&config, count),
        Some(bound) => {
            let text = format!("group {group} is for the lite topics of {bound}, not of {topic}");
            Err(Refusal::new(Code::IllegalTopic, text))
        }
        None => {
            let text = format!("group {group} is not for lite topics: it lacks the attribute {BOUND_TOPIC}");
            Err(Refusal::new(Code::IllegalConsumerGroup, text))
        }
    }
}

/// Clients keep to the quota that their settings say. One that says more in one call than a client that is just
/// changing its mind could is wrong.
fn check_count(group: &SubscriptionGroupConfig, count: usize) -> Result<()> {
    let quota = lite_quota(group);
    let limit = usize::try_from(quota).unwrap_or(0).saturating_add(BEYOND_QUOTA);
    if count <= limit {
        return Ok(());
    }
    let text = format!(
        "the call has {count} lite topics, the limit is {limit}: {quota} ({LITE_QUOTA_ATTRIBUTE} of the group {}) \
         and {BEYOND_QUOTA} more",
        group.group_name
    );
    Err(Refusal::new(Code::LiteSubscriptionQuotaExceeded, text))
}

fn check_rate(proxy: &Proxy, action: LiteSubscriptionAction) -> Result<()> {
    let limit = proxy.config.lite_subscriptions_per_s_max;
    if action != LiteSubscriptionAction::PartialAdd || proxy.lite_subscriptions.take(limit, Instant::now()) {
        return Ok(());
    }
    let text = format!(
        "there were {limit} calls within this second, which is the limit (maxSyncLiteSubscriptionRate)"
    );
    Err(Refusal::new(Code::TooManyRequests, text))
}

fn action(action: LiteSubscriptionAction) -> LiteAction {
    match action {
        LiteSubscriptionAction::PartialAdd => LiteAction::PartialAdd,
        LiteSubscriptionAction::PartialRemove => LiteAction::PartialRemove,
        LiteSubscriptionAction::CompleteAdd => LiteAction::CompleteAdd,
        LiteSubscriptionAction::CompleteRemove => LiteAction::CompleteRemove,
    }
}

fn offset_option(option: OffsetOption) -> Option<lite::OffsetOption> {
    let (kind, value) = match option.offset_type? {
        OffsetType::Policy(policy) => (OffsetOptionType::Policy, policy.into()),
        OffsetType::Offset(offset) => (OffsetOptionType::Offset, offset),
        OffsetType::TailN(count) => (OffsetOptionType::TailN, count),
        OffsetType::Timestamp(time) => (OffsetOptionType::Timestamp, time),
    };
    Some(lite::OffsetOption { kind, value })
}
