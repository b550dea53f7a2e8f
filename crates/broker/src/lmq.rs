//! Light queues (LMQ): `%LMQ%<name>`, which messages of ordinary topics name in a property. They have one queue, no
//! configuration, and neither have groups of such a name.

use crate::Broker;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use crate::topics::{Topic, attributes};
use roxmq_protocol::code::response;
use roxmq_protocol::names::{self, LMQ_PREFIX};
use roxmq_protocol::properties::{Properties, name};
use roxmq_store::multi_dispatch::{LMQ_QUEUE, is_dispatched, is_light_queue, lmq_names};
use std::borrow::Cow;

/// Light queues at most without `enableLmqQuota`: each takes memory.
const COUNT_MAX: usize = 1_000_000;
/// Light queues that one message may name.
const NAMES_MAX: usize = 1_000;
/// Between the parts of a lite topic's name.
pub(crate) const LITE_SEPARATOR: char = '$';

/// The light queue of a lite topic.
pub(crate) fn of_lite_topic(parent: &str, lite_topic: &str) -> String {
    format!("{LMQ_PREFIX}{LITE_SEPARATOR}{parent}{LITE_SEPARATOR}{lite_topic}")
}

/// The topic whose queue a request means that may name a lite topic.
pub(crate) fn of_request<'a>(topic: &'a str, lite_topic: Option<&str>) -> Cow<'a, str> {
    match lite_topic.filter(|lite_topic| !lite_topic.trim().is_empty()) {
        Some(lite_topic) => Cow::Owned(of_lite_topic(topic, lite_topic)),
        None => Cow::Borrowed(topic),
    }
}

/// Parent and lite topic of a light queue that is one's.
pub(crate) fn lite_parts(queue: &str) -> Option<(&str, &str)> {
    let rest = queue.strip_prefix(LMQ_PREFIX)?.strip_prefix(LITE_SEPARATOR)?;
    let (parent, lite_topic) = rest.split_once(LITE_SEPARATOR)?;
    let is_whole = !parent.is_empty() && !lite_topic.is_empty() && !lite_topic.contains(LITE_SEPARATOR);
    is_whole.then_some((parent, lite_topic))
}

/// Whether messages of the topic are entered into the light queues that they name.
fn is_open(config: &BrokerConfig, topic: &Topic) -> bool {
    (config.enable_lmq && config.enable_multi_dispatch) || attributes::is_lite(&topic.attributes)
}

/// The light queues that a message names in its properties, as it is about to be stored in the topic.
pub(crate) fn list_of<'a>(broker: &Broker, topic: &Topic, properties: Properties<'a>) -> &'a str {
    match properties.get(name::INNER_MULTI_DISPATCH) {
        Some(list) if is_dispatched(&topic.topic_name) && is_open(&broker.config(), topic) => {
            broker.lite.coming(broker, list);
            list
        }
        _ => "",
    }
}

/// [`list_of`] for a message that a client sends: refused if there is no room for queues that would be new.
pub(crate) fn admitted_list<'a>(
    broker: &Broker,
    config: &BrokerConfig,
    topic: &Topic,
    list: &'a str,
) -> Result<&'a str, Refusal> {
    if !is_dispatched(&topic.topic_name) || !is_open(config, topic) {
        return Ok("");
    }
    let count = list.split(',').count();
    if count > NAMES_MAX {
        return Err(Refusal::new(
            response::MESSAGE_ILLEGAL,
            format!("the message names {count} queues in INNER_MULTI_DISPATCH, the limit is {NAMES_MAX}"),
        ));
    }
    lmq_names(list).try_for_each(|queue| check_room(broker, config, queue))?;
    broker.lite.coming(broker, list);
    Ok(list)
}

/// Refuses a light queue that would be one too many.
pub(crate) fn check_room(broker: &Broker, config: &BrokerConfig, queue: &str) -> Result<(), Refusal> {
    if names::is_lmq(queue) && !is_light_queue(queue) {
        return Err(Refusal::invalid(format!("there can't be a light queue of the name '{queue}'")));
    }
    let limit = if config.enable_lmq_quota { config.max_lmq_consume_queue_num } else { COUNT_MAX };
    let count = broker.store.lmq_count();
    if !names::is_lmq(queue) || count < limit || broker.store.queue(queue, LMQ_QUEUE).is_some() {
        return Ok(());
    }
    Err(Refusal::new(
        response::LMQ_QUOTA_EXCEEDED,
        format!(
            "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED] there are {count} light queues, the limit is {limit} (maxLmqConsumeQueueNum with enableLmqQuota): {queue} is not made"
        ),
    ))
}

/// Refuses what is asked for a light queue that isn't there: nothing is kept for names that anybody makes up.
pub(crate) fn check_known(broker: &Broker, topic: &str) -> Result<(), Refusal> {
    if names::is_lmq(topic) && broker.store.queue(topic, LMQ_QUEUE).is_none() {
        return Err(Refusal::topic_missing(topic));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lite_topics_have_light_queues() {
        assert_eq!(of_lite_topic("T", "a"), "%LMQ%$T$a");
        let check = |queue, expected| assert_eq!(lite_parts(queue), expected, "{queue}");
        check("%LMQ%$T$a", Some(("T", "a")));
        check("%LMQ%$T$", None);
        check("%LMQ%$$a", None);
        check("%LMQ%$T", None);
        check("%LMQ%$T$a$b", None);
        check("%LMQ%T$a", None);
        check("$T$a", None);
    }
}
