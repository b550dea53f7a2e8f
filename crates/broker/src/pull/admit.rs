//! Whether a consumer may pull, and what it gets to see. The order of the rules is that of the Java server.

use super::{QueueKey, subscription};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::filter::MessageFilter;
use crate::groups::SubscriptionGroupConfig;
use crate::lmq;
use crate::refusal::Refusal;
use crate::stats::GroupStats;
use crate::topics::Topic;
use roxmq_protocol::body::heartbeat::ConsumeType;
use roxmq_protocol::code::request::LITE_PULL_MESSAGE;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::ext::FieldError;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::names;
use roxmq_protocol::request::pull::PullHeader;
use roxmq_protocol::sys_flag::perm;
use roxmq_protocol::sys_flag::pull as flag;
use roxmq_remoting::Connection;
use roxmq_store::read::ReadLimits;
use roxmq_store::{ConsumeQueue, QueueId, QueueOffset};
use std::sync::Arc;

/// How many queue entries one pull looks at for one that its filter passes.
const SCAN_MAX: usize = 800;

/// A pull that may be carried out.
pub(super) struct Pull {
    pub(super) topic: Arc<Topic>,
    pub(super) group: Arc<SubscriptionGroupConfig>,
    pub(super) stats: Arc<GroupStats>,
    pub(super) queue: Arc<ConsumeQueue>,
    pub(super) filter: MessageFilter,
    pub(super) limits: ReadLimits,
    /// For what has to be read from the disk.
    pub(super) disk_limits: ReadLimits,
    /// The offset the consumer asked for.
    pub(super) asked: QueueOffset,
    /// Where to read next: beyond what was asked once a held pull has passed messages that it doesn't want.
    pub(super) position: QueueOffset,
    /// How long the consumer is willing to wait.
    pub(super) suspend_ms: Option<i64>,
}

impl Pull {
    pub(super) fn queue_key(&self) -> QueueKey {
        QueueKey::of(&self.queue)
    }

    pub(super) fn group_name(&self) -> &str {
        &self.group.group_name
    }

    pub(super) fn topic_name(&self) -> &str {
        &self.topic.topic_name
    }
}

pub(super) enum Admission {
    Pull(Pull),
    /// The group's offset was set: the consumer is to go there first.
    GoTo(Pull, QueueOffset),
}

/// Which prohibition it was, for clients that tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forbidden {
    Broker = 1,
    Group = 2,
    Topic = 3,
    Broadcast = 4,
    Subscription = 5,
}

#[derive(Debug)]
pub(super) struct Refused {
    refusal: Refusal,
    forbidden: Option<Forbidden>,
}

impl Refused {
    pub(super) fn forbidden(what: Forbidden, remark: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Refused { refusal: Refusal::denied(remark), forbidden: Some(what) }
    }

    pub(super) fn into_response(self) -> Command {
        let kind = self.forbidden.map(|forbidden| forbidden as i32);
        self.refusal.into_response().with_some("forbiddenType", kind)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused { refusal, forbidden: None }
    }
}

impl From<FieldError> for Refused {
    fn from(error: FieldError) -> Self {
        Refusal::from(error).into()
    }
}

pub(super) fn admit(
    broker: &Broker,
    connection: &Connection,
    frame: &Frame<'_>,
) -> Result<Admission, Refused> {
    let header = PullHeader::decode(&frame.header.ext)?;
    let config = broker.config();
    check_broker(&config, frame.header.code == LITE_PULL_MESSAGE)?;
    let group = broker
        .groups
        .get_or_create(&header.consumer_group)
        .ok_or_else(|| Refusal::group_missing(&header.consumer_group))?;
    check_group(&group)?;
    let topic = broker.topics.get(&header.topic).ok_or_else(|| Refusal::topic_missing(&header.topic))?;
    check_topic(&topic)?;
    check_numbers(&header, topic.read_queue_nums)?;
    let queue_name = lmq::of_request(&header.topic, header.lite_topic.as_deref());
    lmq::check_room(broker, &config, &queue_name)?;
    let filter = subscription::filter(broker, &config, &header, &group)?;
    if config.reject_pull_consumer_enable {
        check_consumer(broker, &header.consumer_group, connection)?;
    }
    let queue_id = QueueId(header.queue_id);
    // The Go pull consumer asks for 0 messages and means as many as there may be.
    let wanted = match header.max_msg_nums {
        0 => usize::MAX,
        count => count as usize,
    };
    let limits = |count: usize, bytes| ReadLimits {
        count_max: wanted.min(count).max(1),
        bytes_max: bytes,
        scan_max: SCAN_MAX,
    };
    let pull = Pull {
        queue: broker.store.queue_or_create(&queue_name, queue_id),
        stats: broker.stats.group(&header.topic, &header.consumer_group),
        topic,
        group,
        filter,
        limits: limits(
            config.max_transfer_count_on_message_in_memory,
            config.max_transfer_bytes_on_message_in_memory,
        ),
        disk_limits: limits(
            config.max_transfer_count_on_message_in_disk,
            config.max_transfer_bytes_on_message_in_disk,
        ),
        asked: QueueOffset(header.queue_offset),
        position: QueueOffset(header.queue_offset),
        suspend_ms: suspend_ms(&config, &header),
    };
    if config.use_server_side_reset_offset
        && let Some(offset) = broker.resets.take(&header.consumer_group, &header.topic, queue_id)
    {
        return Ok(Admission::GoTo(pull, QueueOffset(offset)));
    }
    if header.sys_flag & flag::COMMIT_OFFSET != 0 && header.commit_offset >= 0 {
        broker.offsets.commit(&header.consumer_group, &header.topic, queue_id, header.commit_offset);
    }
    Ok(Admission::Pull(pull))
}

fn check_broker(config: &BrokerConfig, lite: bool) -> Result<(), Refused> {
    let broker = &config.broker_name;
    if !perm::is_readable(config.broker_permission) {
        let permission = config.broker_permission;
        let remark =
            format!("the broker[{broker}] pulling message is forbidden: brokerPermission is {permission}");
        return Err(Refused::forbidden(Forbidden::Broker, remark));
    }
    if lite && !config.lite_pull_message_enable {
        let remark =
            format!("the broker[{broker}] for lite pull consumer is forbidden (litePullMessageEnable)");
        return Err(Refused::forbidden(Forbidden::Broker, remark));
    }
    Ok(())
}

/// Where consumers that pull when they like are turned away (`rejectPullConsumerEnable`), only members of groups that
/// are online may pull: the heartbeats of others aren't taken.
fn check_consumer(broker: &Broker, group: &str, connection: &Connection) -> Result<(), Refusal> {
    let online = broker.clients.consumer_group(group);
    let pushes = online.as_ref().is_some_and(|online| online.info.consume_type != ConsumeType::Actively);
    let is_member = online.is_some_and(|online| online.members.contains(connection.id()));
    if pushes || is_member || names::is_system_group(group) {
        return Ok(());
    }
    let remark = format!(
        "the consumer's group info not exist, or the pull consumer is rejected by server: {group} \
         (rejectPullConsumerEnable)"
    );
    Err(Refusal::new(response::SUBSCRIPTION_NOT_EXIST, remark))
}

fn check_group(group: &SubscriptionGroupConfig) -> Result<(), Refused> {
    if group.consume_enable {
        return Ok(());
    }
    let remark =
        format!("subscription group no permission, {}: its consumeEnable is false", group.group_name);
    Err(Refused::forbidden(Forbidden::Group, remark))
}

fn check_topic(topic: &Topic) -> Result<(), Refused> {
    if perm::is_readable(topic.perm) {
        return Ok(());
    }
    let remark =
        format!("the topic[{}] pulling message is forbidden: its perm is {}", topic.topic_name, topic.perm);
    Err(Refused::forbidden(Forbidden::Topic, remark))
}

fn check_numbers(header: &PullHeader<'_>, read_queues: i32) -> Result<(), Refusal> {
    let PullHeader { queue_id, max_msg_nums, suspend_timeout_millis, sys_flag, .. } = header;
    if !(0..read_queues).contains(queue_id) {
        return Err(Refusal::invalid(format!(
            "queueId[{queue_id}] is illegal, topic:[{}] topicConfig.readQueueNums:[{read_queues}]",
            header.topic
        )));
    }
    if *max_msg_nums < 0 {
        return Err(Refusal::invalid(format!(
            "maxMsgNums[{max_msg_nums}] is illegal, it must not be negative"
        )));
    }
    if sys_flag & flag::SUSPEND != 0 && *suspend_timeout_millis < 0 {
        return Err(Refusal::invalid(format!(
            "suspendTimeoutMillis[{suspend_timeout_millis}] is illegal, it must not be negative"
        )));
    }
    Ok(())
}

fn suspend_ms(config: &BrokerConfig, header: &PullHeader<'_>) -> Option<i64> {
    if header.sys_flag & flag::SUSPEND == 0 {
        return None;
    }
    Some(if config.long_polling_enable {
        header.suspend_timeout_millis
    } else {
        i64::try_from(config.short_polling_time_ms).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(change: impl FnOnce(&mut PullHeader<'static>)) -> PullHeader<'static> {
        let mut header = PullHeader {
            consumer_group: "g".into(),
            topic: "t".into(),
            queue_id: 0,
            queue_offset: 0,
            max_msg_nums: 32,
            sys_flag: flag::SUSPEND | flag::SUBSCRIPTION,
            commit_offset: 0,
            suspend_timeout_millis: 15_000,
            subscription: None,
            sub_version: 0,
            expression_type: None,
            max_msg_bytes: None,
            request_source: None,
            proxy_forward_client_id: None,
            lite_topic: None,
        };
        change(&mut header);
        header
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let check = |name: &str, change: &dyn Fn(&mut PullHeader<'static>)| {
            let refusal = check_numbers(&header(change), 4).expect_err(name);
            assert_eq!(refusal.code, response::INVALID_PARAMETER);
            assert!(refusal.remark.starts_with(name), "{refusal}");
        };
        for queue_id in [-2, -1, 4, 1_000_000] {
            check(&format!("queueId[{queue_id}]"), &|header| header.queue_id = queue_id);
        }
        for count in [-1, i32::MIN] {
            check(&format!("maxMsgNums[{count}]"), &|header| header.max_msg_nums = count);
        }
        check("suspendTimeoutMillis[-1]", &|header| header.suspend_timeout_millis = -1);
        let legal = header(|header| {
            (header.queue_id, header.max_msg_nums, header.queue_offset) = (3, i32::MAX, -5);
            (header.suspend_timeout_millis, header.sys_flag) = (-1, 0);
        });
        assert_eq!(check_numbers(&legal, 4), Ok(()));
    }

    #[test]
    fn a_prohibition_says_which_it_is() {
        let response = Refused::forbidden(Forbidden::Topic, "no").into_response();
        assert_eq!((response.code, response.field("forbiddenType")), (16, Some("3")));
    }
}
