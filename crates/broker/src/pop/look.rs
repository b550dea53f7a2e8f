//! One look for messages for a pop: which queues, in which order.

use super::PopRequest;
use super::take::{TakeError, Taking};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::topics::{Topic, attributes};
use roxmq_protocol::names;
use roxmq_protocol::receipt::ORDER_REVIVE_QUEUE;
use roxmq_store::files::ReadMode;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

/// What a look gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Popped {
    Found,
    Nothing,
    /// There may be something on the disk: look again where waiting for it hurts nobody.
    Cold,
}

/// Messages that are now in flight, and their receipts.
#[derive(Default)]
pub(crate) struct Found {
    pub(super) pop_time: Millis,
    pub(super) revive_queue: i32,
    /// How many messages the queues hold beyond these.
    pub(super) rest: i64,
    pub(super) records: Vec<u8>,
    pub(super) start_offsets: Vec<u8>,
    pub(super) message_offsets: Vec<u8>,
    pub(super) order_counts: Vec<u8>,
    /// Room for what is read before it is written anew.
    pub(super) scratch: Vec<u8>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.rest = 0;
        for bytes in
            [&mut self.records, &mut self.start_offsets, &mut self.message_offsets, &mut self.order_counts]
        {
            bytes.clear();
        }
    }
}

/// Looks for messages for the request, and takes what it finds out of the others' sight.
pub(super) fn look(
    broker: &Arc<Broker>,
    request: &PopRequest,
    mode: ReadMode,
    found: &mut Found,
) -> Result<Popped, TakeError> {
    let turn = broker.pops.next_turn();
    found.clear();
    found.pop_time = broker.clock.now();
    let config = broker.config();
    found.revive_queue = match request.order {
        true => ORDER_REVIVE_QUEUE,
        false => (turn % config.revive_queue_num.clamp(1, REVIVE_QUEUES_MAX) as u32) as i32,
    };
    // As the topic is now: whoever waited may have waited for long.
    let Some(topic) = broker.topics.get(request.wait.topic_name()) else {
        return Ok(Popped::Nothing);
    };
    let has_priorities = attributes::has_priorities(&topic.attributes);
    let chance = Chance::of(turn);
    let by_priority = !request.order && has_priorities && chance.is_below(priority_factor(request));
    let order = match by_priority {
        true => QueueOrder::Priority { highest_first: config.priority_order_asc },
        false => QueueOrder::From(chance),
    };
    let retry_chance = match has_priorities {
        true => config.pop_from_retry_probability_for_priority,
        false => config.pop_from_retry_probability,
    };
    let mut taking = Taking::new(broker, request, &config, mode, found);
    let retry_first = !request.order && chance.is_below(retry_chance);
    if retry_first {
        retry_topics(&mut taking, broker, request, &config, chance)?;
    }
    match request.wait.queue_id {
        Some(queue_id) => taking.queue(&topic.topic_name, queue_id)?,
        None => all_queues(&mut taking, &topic, order)?,
    }
    if !retry_first && !request.order && !taking.is_full() {
        retry_topics(&mut taking, broker, request, &config, chance)?;
    }
    taking.finish()
}

/// So many fit into the byte that a record has for it.
const REVIVE_QUEUES_MAX: i32 = 255;

/// How many of a hundred pops of the group read the queues in the order of priorities; the others see to it that the
/// lower ones get on, too.
fn priority_factor(request: &PopRequest) -> u32 {
    const ALL: u32 = 100;
    let attribute = request.wait.group.attributes.get("priority.factor");
    attribute.and_then(|factor| factor.parse().ok()).unwrap_or(ALL)
}

/// In which order the queues of a topic are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueOrder {
    /// From another one on each time.
    From(Chance),
    Priority {
        highest_first: bool,
    },
}

impl QueueOrder {
    /// The queue that comes as the so manieth.
    fn queue(self, at: i32, queues: i32) -> QueueId {
        QueueId(match self {
            QueueOrder::From(chance) => (chance.0 as i32 + at) % queues,
            QueueOrder::Priority { highest_first: true } => queues - 1 - at,
            QueueOrder::Priority { highest_first: false } => at,
        })
    }
}

fn all_queues(taking: &mut Taking<'_>, topic: &Topic, order: QueueOrder) -> Result<(), TakeError> {
    let queues = topic.read_queue_nums.max(0);
    (0..queues).try_for_each(|at| taking.queue(&topic.topic_name, order.queue(at, queues)))
}

/// What the group failed with: in the retry topic that is written to, and in the one that was under the other form of
/// its name. Both are looked at, as either may be what woke the request; which is first changes.
fn retry_topics(
    taking: &mut Taking<'_>,
    broker: &Broker,
    request: &PopRequest,
    config: &BrokerConfig,
    chance: Chance,
) -> Result<(), TakeError> {
    let v2 = config.enable_retry_topic_v2;
    let both = v2 && config.retrieve_message_from_pop_retry_topic_v1;
    let first_v2 = v2 && !(both && chance.is_even());
    let versions = [Some(first_v2), both.then_some(!first_v2)];
    versions.into_iter().flatten().try_for_each(|v2| {
        let (topic, group) = (request.wait.topic_name(), request.wait.group_name());
        let retry = broker.topics.get(&names::pop_retry_topic(topic, group, v2));
        retry.map_or(Ok(()), |retry| all_queues(taking, &retry, QueueOrder::From(chance)))
    })
}

/// A number below 100 that takes every value once in 100 turns, in no order that a consumer would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chance(u32);

impl Chance {
    fn of(turn: u32) -> Self {
        const STEP: u32 = 61;
        Chance(turn % 100 * STEP % 100)
    }

    fn is_below(self, percent: u32) -> bool {
        self.0 < percent
    }

    fn is_even(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_chances_are_fair() {
        let chances: Vec<_> = (1_000..1_100).map(Chance::of).collect();
        let count = |is: &dyn Fn(&Chance) -> bool| chances.iter().filter(|chance| is(chance)).count();
        assert_eq!(count(&|chance| chance.is_below(20)), 20);
        assert_eq!(count(&|chance| chance.is_below(0)), 0);
        assert_eq!(count(&|chance| chance.is_below(100)), 100);
        assert_eq!(count(&|chance| chance.is_even()), 50);
        let order = |order: QueueOrder| (0..3).map(|at| order.queue(at, 3).0).collect::<Vec<_>>();
        assert_eq!(order(QueueOrder::From(Chance(22))), [1, 2, 0]);
        assert_eq!(order(QueueOrder::Priority { highest_first: true }), [2, 1, 0]);
        assert_eq!(order(QueueOrder::Priority { highest_first: false }), [0, 1, 2]);
        for queues in [2, 3, 4, 8] {
            let begins: std::collections::BTreeSet<_> =
                chances[..20].iter().map(|chance| chance.0 % queues).collect();
            assert_eq!(begins.len(), queues as usize);
        }
    }
}
