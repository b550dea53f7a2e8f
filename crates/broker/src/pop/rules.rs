//! What holds for every kind of pop, of queues and of lite topics, and for looks and questions that take nothing.

use crate::config::BrokerConfig;
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use crate::topics::Topic;
use roxmq_protocol::code::response;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::Millis;

/// Messages that one pop asks for at most.
pub(crate) const COUNT_MAX: i32 = 32;
/// How long a message may be invisible: longer than anybody works on one, and short enough to add to any time.
pub(super) const INVISIBLE_MS_MAX: i64 = 366 * 24 * 3_600_000;
/// How late a request may be after the time it was willing to wait: nobody reads its answer any more.
const LATE_MS_MAX: i64 = 500;

/// When the client asked; 0 if it doesn't say.
pub(crate) fn born(time: i64, now: Millis) -> Millis {
    if time == 0 { now } else { Millis(time) }
}

pub(crate) fn check_in_time(
    config: &BrokerConfig,
    born: Millis,
    poll_time: i64,
    now: Millis,
) -> Result<(), Refusal> {
    let late_ms = now.0.saturating_sub(born.0).saturating_sub(poll_time.max(0));
    if late_ms <= LATE_MS_MAX {
        return Ok(());
    }
    let broker = &config.broker_name;
    let remark =
        format!("the broker[{broker}] pop message is timeout too much: its time was up {late_ms} ms ago");
    Err(Refusal::new(response::POLLING_TIMEOUT, remark))
}

/// Whether the broker lets anybody do this with messages.
pub(crate) fn check_broker(config: &BrokerConfig, what: &str) -> Result<(), Refusal> {
    let (broker, permission) = (&config.broker_name, config.broker_permission);
    if perm::is_readable(permission) {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "the broker[{broker}] {what} message is forbidden: brokerPermission is {permission}"
    )))
}

pub(crate) fn check_invisible_time(invisible_ms: i64) -> Result<(), Refusal> {
    if (1..=INVISIBLE_MS_MAX).contains(&invisible_ms) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "invisibleTime[{invisible_ms}] is illegal, it must be from 1 to {INVISIBLE_MS_MAX} ms"
    )))
}

pub(crate) fn check_topic(topic: &Topic) -> Result<(), Refusal> {
    if perm::is_readable(topic.perm) {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "the topic[{}] peeking message is forbidden: its perm is {}",
        topic.topic_name, topic.perm
    )))
}

pub(crate) fn check_group(group: &SubscriptionGroupConfig) -> Result<(), Refusal> {
    if group.consume_enable {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "subscription group no permission, {}: its consumeEnable is false",
        group.group_name
    )))
}
