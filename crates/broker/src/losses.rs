//! Says which groups lose messages that go before the groups have read them, because the time of the log's files or of
//! a topic was over or the disk was full. Looks only; what goes is the store's business.

use crate::Broker;
use crate::offsets::{GroupOffsets, QueueOffsets};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often somebody looks whether messages went, which costs next to nothing.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Topic to queue to the first offset that can still be read.
type Minimums = BTreeMap<String, QueueOffsets>;

#[derive(Debug, PartialEq, Eq)]
struct Loss {
    topic: String,
    group: String,
    messages: i64,
}

/// Warns of each loss and counts it. Runs until its task is dropped.
pub(crate) async fn watch(broker: Arc<Broker>) {
    let mut removals = broker.store.removals();
    let mut before = minimums(&broker);
    loop {
        sleep(LOOK_INTERVAL).await;
        if broker.store.removals() == removals {
            continue;
        }
        removals = broker.store.removals();
        let now = minimums(&broker);
        for Loss { topic, group, messages } in losses(&before, &now, &broker.offsets.all()) {
            broker.stats.group(&topic, &group).lost.add(messages as u64, 0);
            tracing::warn!(topic, group, messages, "messages were deleted before the group had read them");
        }
        before = now;
    }
}

fn minimums(broker: &Broker) -> Minimums {
    let queues = |topic: &str| {
        broker.store.queues(topic).iter().map(|queue| (queue.id(), queue.min_offset().0)).collect()
    };
    broker.store.topics().iter().map(|topic| (topic.to_string(), queues(topic))).collect()
}

/// What the move of the minimums from `before` to `now` has taken from groups with these offsets.
fn losses(before: &Minimums, now: &Minimums, offsets: &GroupOffsets) -> Vec<Loss> {
    let mut found = Vec::new();
    for (group, topics) in offsets {
        for (topic, committed) in topics {
            let Some(now) = now.get(topic) else { continue };
            let before = before.get(topic);
            let lost = |(queue, offset): (&_, &i64)| {
                let now = now.get(queue).copied().unwrap_or(0);
                let read =
                    before.and_then(|before| before.get(queue)).map_or(*offset, |min| *offset.max(min));
                now.saturating_sub(read).max(0)
            };
            let messages = committed.iter().map(lost).sum();
            if messages > 0 {
                found.push(Loss { topic: topic.clone(), group: group.clone(), messages });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_store::QueueId;

    fn table(topic: &str, queues: &[i64]) -> BTreeMap<String, QueueOffsets> {
        BTreeMap::from([(topic.to_owned(), (0..).map(QueueId).zip(queues.iter().copied()).collect())])
    }

    /// Log files were deleted that groups had not read, and their owners noticed by the missing messages only.
    #[test]
    fn what_a_group_had_not_read_is_counted_once() {
        let check = |before: &[i64], now: &[i64], committed: &[i64], expected: i64| {
            let offsets = GroupOffsets::from([("g".to_owned(), table("T", committed))]);
            let found = losses(&table("T", before), &table("T", now), &offsets);
            let messages: i64 = found.iter().map(|loss| loss.messages).sum();
            assert_eq!(messages, expected, "{before:?} {now:?} {committed:?}");
            assert!(found.iter().all(|loss| (&*loss.topic, &*loss.group) == ("T", "g")));
        };
        check(&[0, 0], &[100, 50], &[10, 60], 90);
        check(&[100], &[150], &[10], 50);
        check(&[100], &[100], &[10], 0);
        check(&[0], &[100], &[100], 0);
        check(&[0], &[100], &[i64::MAX], 0);
        // A queue that is new, and one of a topic made anew.
        check(&[], &[30], &[0], 30);
        check(&[100], &[20], &[0], 0);
        let offsets = GroupOffsets::from([("g".to_owned(), table("Other", &[0]))]);
        assert_eq!(losses(&table("T", &[0]), &table("T", &[9]), &offsets), []);
    }
}
