//! Clients subscribe to lite topics (200071).

use super::state::{ClientKey, client_key};
use super::{RESET_ON_TAKE_OVER, RESET_ON_UNSUBSCRIBE, WILDCARD, bound_group, is_exclusive, is_true, parent};
use crate::Broker;
use crate::dispatch::Answer;
use crate::groups::SubscriptionGroupConfig;
use crate::lmq;
use crate::refusal::Refusal;
use roxmq_protocol::body::lite::{
    LiteAction, LiteSubscription, LiteSubscriptions, OffsetOption, OffsetOptionType,
};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::names;
use roxmq_remoting::Connection;
use roxmq_store::Millis;
use roxmq_store::multi_dispatch::{LMQ_QUEUE, is_light_queue};
use roxmq_store::read::Boundary;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn control(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    Box::pin(async move {
        let work = {
            let broker = Arc::clone(&broker);
            move || carry_out(&broker, &connection, &request)
        };
        broker.disk_work.run(work).await.flatten()
    })
}

fn illegal(remark: &'static str) -> Refusal {
    Refusal::new(response::ILLEGAL_OPERATION, remark)
}

fn carry_out(broker: &Broker, connection: &Arc<Connection>, request: &Command) -> Result<Command, Refusal> {
    if request.body.is_empty() {
        return Err(illegal("Request body is null."));
    }
    let subscriptions = LiteSubscriptions::from_json_bytes(&request.body)?.subscriptions;
    if subscriptions.is_empty() {
        return Err(illegal("LiteSubscriptionCtlRequestBody is empty."));
    }
    for subscription in subscriptions {
        let names = [&subscription.client_id, &subscription.group, &subscription.topic];
        if names.iter().any(|name| name.trim().is_empty()) {
            tracing::warn!(?names, "a subscription to lite topics lacks client, group or topic");
            continue;
        }
        Control {
            broker,
            connection,
            key: client_key(&subscription.group, &subscription.client_id),
            subscription,
        }
        .run()?;
    }
    Ok(Command::response(response::SUCCESS))
}

struct Control<'a> {
    broker: &'a Broker,
    connection: &'a Arc<Connection>,
    key: ClientKey,
    subscription: LiteSubscription,
}

impl Control<'_> {
    fn run(&self) -> Result<(), Refusal> {
        match self.subscription.action {
            LiteAction::PartialAdd => {
                let group = self.admit()?;
                if is_true(&group, WILDCARD) {
                    return Err(illegal(
                        "subscribe lite operation is not supported for this group (lite.sub.wildcard)",
                    ));
                }
                self.named_queues()?.iter().try_for_each(|queue| self.add(&group, queue))
            }
            LiteAction::CompleteAdd => {
                let group = self.admit()?;
                let all = is_true(&group, WILDCARD);
                // Noted before it looks at what is there, so that nothing comes in between.
                self.broker.lite.set_wildcard(&self.key, &self.subscription.topic, all);
                let wanted = if all { self.all_queues() } else { self.named_queues()? };
                for queue in self.broker.lite.queues_of(&self.key) {
                    if !wanted.contains(&*queue) {
                        self.remove(&queue);
                    }
                }
                wanted.iter().try_for_each(|queue| self.add(&group, queue))
            }
            LiteAction::PartialRemove => {
                self.named_queues()?.iter().for_each(|queue| self.remove(queue));
                Ok(())
            }
            LiteAction::CompleteRemove => {
                for queue in self.broker.lite.remove_client(self.broker, &self.key) {
                    self.left(&queue);
                }
                Ok(())
            }
            LiteAction::Unknown => Ok(()),
        }
    }

    /// Only groups that may consume, and those only what they are bound to.
    fn admit(&self) -> Result<Arc<SubscriptionGroupConfig>, Refusal> {
        let LiteSubscription { group, topic, .. } = &self.subscription;
        if !self.broker.groups.get(group).is_some_and(|known| known.consume_enable) {
            return Err(illegal("Consumer group is not allowed to consume."));
        }
        parent(self.broker, topic)?;
        let known = bound_group(self.broker, group, topic)?;
        let limit = self.broker.config().max_lite_subscription_count;
        self.broker.lite.renew(&self.key, topic, self.connection, limit, self.broker.clock.now())?;
        Ok(known)
    }

    fn named_queues(&self) -> Result<BTreeSet<String>, Refusal> {
        let queue = |lite_topic: &String| {
            let queue = lmq::of_lite_topic(&self.subscription.topic, lite_topic);
            if names::check_topic(lite_topic).is_err() || !is_light_queue(&queue) {
                return Err(Refusal::invalid(format!("the lite topic '{lite_topic}' is no name")));
            }
            Ok(queue)
        };
        self.subscription.lite_topics.iter().map(queue).collect()
    }

    /// Every lite topic of the parent.
    fn all_queues(&self) -> BTreeSet<String> {
        let topics = self.broker.store.topics();
        let of_parent = |queue: &Arc<str>| {
            lmq::lite_parts(queue).is_some_and(|(parent, _)| parent == self.subscription.topic)
        };
        topics.iter().filter(|queue| of_parent(queue)).map(|queue| queue.to_string()).collect()
    }

    fn add(&self, group: &SubscriptionGroupConfig, queue: &str) -> Result<(), Refusal> {
        lmq::check_room(self.broker, &self.broker.config(), queue)?;
        if !self.broker.lite.subscribe(self.broker, &self.key, &self.subscription.topic, queue)? {
            return Ok(());
        }
        if is_exclusive(group) {
            self.take_over(group, queue);
        }
        match &self.subscription.offset_option {
            Some(option) if self.subscription.action == LiteAction::PartialAdd => {
                reset_offset(self.broker, &self.subscription.group, queue, option)
            }
            _ => Ok(()),
        }
    }

    /// The others of the group lose the lite topic, and are told.
    fn take_over(&self, group: &SubscriptionGroupConfig, queue: &str) {
        let taken = self.broker.lite.take_over(&self.key, queue);
        if taken.is_empty() {
            return;
        }
        if is_true(group, RESET_ON_TAKE_OVER) {
            self.reset_to_start(queue);
        }
        let lite_topic = lmq::lite_parts(queue).map_or(queue, |(_, lite_topic)| lite_topic);
        for (connection, (group, client_id)) in taken {
            let notice = Command::request(request::NOTIFY_UNSUBSCRIBE_LITE)
                .with("liteTopic", lite_topic)
                .with("consumerGroup", group)
                .with("clientId", client_id);
            connection.oneway(notice);
        }
    }

    fn remove(&self, queue: &str) {
        if self.broker.lite.unsubscribe(self.broker, &self.key, queue) {
            self.left(queue);
        }
    }

    fn left(&self, queue: &str) {
        let group = self.broker.groups.get(&self.subscription.group);
        if group.is_some_and(|group| is_true(&group, RESET_ON_UNSUBSCRIBE)) {
            self.reset_to_start(queue);
        }
    }

    fn reset_to_start(&self, queue: &str) {
        set_offset(self.broker, &self.subscription.group, queue, 0);
    }
}

/// Where the group goes on in a light queue, if the option says so.
fn reset_offset(broker: &Broker, group: &str, queue: &str, option: &OffsetOption) -> Result<(), Refusal> {
    let known = broker.store.queue(queue, LMQ_QUEUE);
    let max = known.as_ref().map_or(0, |queue| queue.max_offset().0);
    let current = broker.offsets.get(group, queue, LMQ_QUEUE);
    let target = match (option.kind, option.value) {
        (OffsetOptionType::Policy, OffsetOption::POLICY_MIN) => Some(0),
        (OffsetOptionType::Policy, OffsetOption::POLICY_MAX) => Some(max),
        (OffsetOptionType::Offset, offset) => Some(offset.clamp(0, max)),
        (OffsetOptionType::TailN, count) => {
            current.map(|current| current.saturating_sub(count).clamp(0, max))
        }
        (OffsetOptionType::Timestamp, time) => match &known {
            Some(queue) => Some(broker.store.offset_by_time(queue, Millis(time), Boundary::Lower)?.0),
            None => None,
        },
        _ => None,
    };
    if let Some(target) = target.filter(|target| Some(*target) != current) {
        set_offset(broker, group, queue, target);
    }
    Ok(())
}

fn set_offset(broker: &Broker, group: &str, queue: &str, offset: i64) {
    broker.offsets.commit(group, queue, LMQ_QUEUE, offset);
    broker.lite.clear_order(group, queue);
}
