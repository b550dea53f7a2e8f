//! A client's settings: what it sent, with what it is to keep to.

use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result};
use crate::retries;
use crate::schema::retry_policy::Strategy;
use crate::schema::settings::PubSub;
use crate::schema::{
    ClientType, Code, CustomizedBackoff, ExponentialBackoff, Metric, Publishing, RetryPolicy, Settings,
    Subscription,
};
use crate::wire_time::duration;
use roxmq_protocol::body::group_config::{RetryPolicyType, SubscriptionGroupConfig};

/// `lite.sub.client.quota` where a group has none.
const LITE_QUOTA: i32 = 2_000;
pub const LITE_QUOTA_ATTRIBUTE: &str = "lite.sub.client.quota";

/// Whether the settings are such that a client may have them.
pub fn check(settings: &Settings) -> Result<()> {
    match &settings.pub_sub {
        Some(PubSub::Publishing(publishing)) => {
            publishing.topics.iter().try_for_each(|topic| names::topic(Some(topic)).map(drop))
        }
        Some(PubSub::Subscription(subscription)) => {
            names::group(subscription.group.as_ref())?;
            match settings.client_type() {
                ClientType::PushConsumer | ClientType::SimpleConsumer | ClientType::LitePushConsumer => {
                    Ok(())
                }
                other => {
                    let raw = settings.client_type.unwrap_or_default();
                    // Of a type that this server doesn't know there is only the number.
                    let name = ClientType::try_from(raw)
                        .map_or_else(|_| raw.to_string(), |_| other.as_str_name().to_owned());
                    let text = format!("a client of the type {name} can't subscribe");
                    Err(Refusal::new(Code::UnrecognizedClientType, text))
                }
            }
        }
        None => {
            Err(Refusal::new(Code::BadRequest, "there is no publishing or subscription data in settings"))
        }
    }
}

/// What the client is to keep to.
pub async fn answer(proxy: &Proxy, mut settings: Settings) -> Result<Settings> {
    let config = &proxy.config;
    settings.metric = Some(Metric { on: false, endpoints: None });
    match &mut settings.pub_sub {
        Some(PubSub::Publishing(publishing)) => {
            let Publishing { max_body_size, validate_message_type, .. } = publishing;
            *max_body_size = config.body_bytes_max.try_into().unwrap_or(i32::MAX);
            *validate_message_type = config.check_message_type;
            settings.backoff_policy = Some(RetryPolicy {
                max_attempts: config.producer_attempts_max,
                strategy: Some(Strategy::ExponentialBackoff(ExponentialBackoff {
                    initial: Some(duration(config.producer_backoff_initial_ms)),
                    max: Some(duration(config.producer_backoff_max_ms)),
                    multiplier: config.producer_backoff_multiplier,
                })),
            });
        }
        Some(PubSub::Subscription(subscription)) => {
            let group = proxy.facts.group(names::group(subscription.group.as_ref())?).await?;
            settings.backoff_policy = Some(consumer_retries(&group));
            fill_subscription(subscription, &group, proxy);
        }
        None => {}
    }
    Ok(settings)
}

/// How many lite topics a client of the group may subscribe to.
pub fn lite_quota(group: &SubscriptionGroupConfig) -> i32 {
    let given = group.attributes.get(LITE_QUOTA_ATTRIBUTE).and_then(|quota| quota.parse().ok());
    given.unwrap_or(LITE_QUOTA)
}

fn fill_subscription(subscription: &mut Subscription, group: &SubscriptionGroupConfig, proxy: &Proxy) {
    let config = &proxy.config;
    subscription.fifo = Some(group.consume_message_orderly);
    subscription.receive_batch_size = Some(config.receive_batch_max);
    subscription.long_polling_timeout = Some(duration(config.polling_ms_max));
    subscription.lite_subscription_quota = Some(lite_quota(group));
    subscription.max_lite_topic_size = config.lite_topic_bytes_max.try_into().ok();
}

fn consumer_retries(group: &SubscriptionGroupConfig) -> RetryPolicy {
    let policy = &group.group_retry_policy;
    let strategy = match policy.policy_type {
        RetryPolicyType::Exponential => {
            let given = policy.exponential_retry_policy.clone().unwrap_or_default();
            Strategy::ExponentialBackoff(ExponentialBackoff {
                initial: Some(duration(given.initial_ms)),
                max: Some(duration(given.max_ms)),
                multiplier: given.multiplier as f32,
            })
        }
        _ => {
            let next = retries::pauses_ms(policy).iter().map(|ms| duration(*ms)).collect();
            Strategy::CustomizedBackoff(CustomizedBackoff { next })
        }
    };
    RetryPolicy { max_attempts: group.retry_max_times.saturating_add(1), strategy: Some(strategy) }
}
