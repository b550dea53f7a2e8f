//! Whether a consumer may pop, and what it is to get. The order of the rules is that of the Java server.

use super::rules::{self, COUNT_MAX};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::filter::{self, MessageFilter};
use crate::group_waits::Wait;
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use crate::topics::Topic;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::pop::{ANY_QUEUE, PopHeader};
use roxmq_protocol::subscription::EXPRESSION_TAG;
use roxmq_remoting::Connection;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

/// A pop that may be carried out, now or when there is something to answer it with.
pub(crate) struct PopRequest {
    pub(crate) wait: Wait,
    pub(crate) count_max: usize,
    pub(crate) invisible_ms: i64,
    /// A group that is new to a queue begins at its end.
    pub(crate) from_end: bool,
    pub(crate) filter: MessageFilter,
    pub(crate) order: bool,
    /// The same attempt gets the same messages again, although they are out.
    pub(crate) attempt_id: Option<Box<str>>,
    pub(crate) oneway: bool,
}

pub(super) fn admit(
    broker: &Broker,
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
) -> Result<PopRequest, Refusal> {
    let header = PopHeader::decode(&frame.header.ext)?;
    let config = broker.config();
    let now = broker.clock.now();
    let born = rules::born(header.born_time, now);
    check_request(&config, &header, born, now)?;
    let target = target(broker, &header.topic, header.queue_id, &header.consumer_group)?;
    let deadline = Millis(born.0.saturating_add(header.poll_time));
    let wait = wait(connection, frame, target, header.queue_id, deadline);
    let (kind, expression) = (header.expression_type.as_deref(), header.expression.as_deref());
    let filter = wanted(broker, &wait, kind, expression)?;
    Ok(PopRequest {
        wait,
        count_max: header.max_msg_nums as usize,
        invisible_ms: header.invisible_time,
        from_end: header.init_mode == roxmq_protocol::request::pop::INIT_MODE_MAX,
        filter,
        order: header.order,
        attempt_id: header.attempt_id.as_deref().filter(|id| !id.is_empty()).map(Box::from),
        oneway: frame.header.is_oneway(),
    })
}

/// The topic and the group, if the group may get messages of the queue.
pub(super) fn target(
    broker: &Broker,
    topic: &str,
    queue_id: i32,
    group: &str,
) -> Result<(Arc<Topic>, Arc<SubscriptionGroupConfig>), Refusal> {
    let topic = broker.topics.get(topic).ok_or_else(|| Refusal::topic_missing(topic))?;
    rules::check_topic(&topic)?;
    check_queue(&topic, queue_id)?;
    let group = broker.groups.get_or_create(group).ok_or_else(|| Refusal::group_missing(group))?;
    rules::check_group(&group)?;
    Ok((topic, group))
}

/// What the request waits for, which is in any queue if the id is below 0.
pub(super) fn wait(
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
    (topic, group): (Arc<Topic>, Arc<SubscriptionGroupConfig>),
    queue_id: i32,
    deadline: Millis,
) -> Wait {
    Wait {
        group,
        topic,
        queue_id: (queue_id >= 0).then_some(QueueId(queue_id)),
        deadline,
        connection: Arc::clone(connection),
        opaque: frame.header.opaque,
        encoding: frame.header.encoding,
    }
}

/// What the request and the broker's own settings tell.
fn check_request(
    config: &BrokerConfig,
    header: &PopHeader<'_>,
    born: Millis,
    now: Millis,
) -> Result<(), Refusal> {
    let broker = &config.broker_name;
    rules::check_in_time(config, born, header.poll_time, now)?;
    rules::check_broker(config, "pop")?;
    let PopHeader { max_msg_nums, invisible_time, queue_id, .. } = header;
    if *max_msg_nums > COUNT_MAX {
        return Err(Refusal::invalid(format!(
            "the broker[{broker}] pop message's num is greater than 32: maxMsgNums is {max_msg_nums}"
        )));
    }
    if *max_msg_nums < 1 {
        return Err(Refusal::invalid(format!(
            "maxMsgNums[{max_msg_nums}] is illegal, it must be from 1 to 32"
        )));
    }
    rules::check_invisible_time(*invisible_time)?;
    if *queue_id < ANY_QUEUE {
        return Err(Refusal::invalid(format!(
            "queueId[{queue_id}] is illegal, it must be a queue of the topic, or {ANY_QUEUE} for any"
        )));
    }
    if !config.timer_wheel_enable {
        return Err(Refusal::failed(format!(
            "the broker[{broker}] pop message is forbidden because timerWheelEnable is false"
        )));
    }
    Ok(())
}

fn check_queue(topic: &Topic, queue_id: i32) -> Result<(), Refusal> {
    if queue_id >= topic.read_queue_nums {
        return Err(Refusal::invalid(format!(
            "queueId[{queue_id}] is illegal, topic:[{}] topicConfig.readQueueNums:[{}]",
            topic.topic_name, topic.read_queue_nums
        )));
    }
    Ok(())
}

/// Which messages the request asks for; what a heartbeat brought is compiled already.
pub(super) fn wanted(
    broker: &Broker,
    wait: &Wait,
    kind: Option<&str>,
    expression: Option<&str>,
) -> Result<MessageFilter, Refusal> {
    let kind = kind.filter(|kind| !kind.is_empty());
    let Some(expression) = expression.filter(|expression| !expression.is_empty()) else {
        return Ok(MessageFilter::All);
    };
    let filter = broker.filters.filter(wait.group_name(), wait.topic_name(), kind, expression)?;
    filter::check_allowed(&broker.config(), kind.unwrap_or(EXPRESSION_TAG))?;
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pop::rules::INVISIBLE_MS_MAX;
    use roxmq_protocol::code::response;

    fn header() -> PopHeader<'static> {
        PopHeader {
            consumer_group: "g".into(),
            topic: "t".into(),
            queue_id: -1,
            max_msg_nums: 32,
            invisible_time: 60_000,
            poll_time: 15_000,
            ..PopHeader::default()
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let config = BrokerConfig::default();
        let check = |name: &str, change: &dyn Fn(&mut PopHeader<'static>)| {
            let mut header = header();
            change(&mut header);
            let refusal = check_request(&config, &header, Millis(5), Millis(5)).expect_err(name);
            assert_eq!(refusal.code, response::INVALID_PARAMETER, "{refusal}");
            assert!(refusal.remark.contains(name), "{refusal}");
        };
        for count in [0, -1, i32::MIN, 33, i32::MAX] {
            check("maxMsgNums", &|header| header.max_msg_nums = count);
        }
        for time in [0, -1, i64::MIN, i64::MAX, INVISIBLE_MS_MAX + 1] {
            check("invisibleTime", &|header| header.invisible_time = time);
        }
        check("queueId[-2]", &|header| header.queue_id = -2);
        assert_eq!(check_request(&config, &header(), Millis(5), Millis(5)), Ok(()));
    }

    #[test]
    fn a_request_that_comes_too_late_is_not_carried_out() {
        let config = BrokerConfig::default();
        let check = |poll_time, born, now, late: bool| {
            let header = PopHeader { poll_time, ..header() };
            let result = check_request(&config, &header, Millis(born), Millis(now));
            let code = result.err().map(|refusal| refusal.code);
            assert_eq!(code, late.then_some(response::POLLING_TIMEOUT), "{poll_time} {born} {now}");
        };
        check(0, 1_000, 1_500, false);
        check(0, 1_000, 1_501, true);
        check(15_000, 1_000, 16_500, false);
        check(15_000, 1_000, 16_501, true);
        // A client whose clock is ahead.
        check(0, 5_000, 1_000, false);
        check(i64::MAX, 1, 1_000, false);
    }
}
