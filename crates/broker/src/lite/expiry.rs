//! What ends by itself: the time of messages that are out, subscriptions that nobody renews, lite topics that nobody
//! uses.

use crate::Broker;
use crate::lmq;
use crate::topics::attributes;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use roxmq_store::{Millis, QueueOffset};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Lite topics that go in one round: each deletion waits for the disk.
const DELETIONS_MAX: usize = 1_000;

/// Lets clients look again where the time of what is out is up. Runs until its task is dropped.
pub(crate) async fn run_deadlines(broker: Arc<Broker>) {
    let lite = &broker.lite;
    lite.deadlines.run(&*broker.clock, || lite.next_free(), |now| lite.free_due(now)).await;
}

pub(crate) async fn expire_subscriptions(broker: Arc<Broker>) {
    loop {
        sleep(Duration::from_millis(broker.config().lite_subscription_check_interval_ms.max(1))).await;
        let since = broker.clock.now().0.saturating_sub(broker.config().lite_subscription_check_timeout_ms);
        for key in broker.lite.silent_since(Millis(since)) {
            tracing::info!(
                group = &*key.0,
                client_id = &*key.1,
                "a client renewed no subscription to lite topics"
            );
            broker.lite.remove_client(&broker, &key);
        }
    }
}

pub(crate) async fn expire_topics(broker: Arc<Broker>) {
    loop {
        sleep(Duration::from_millis(broker.config().lite_ttl_check_interval_ms.max(1))).await;
        let work = {
            let broker = Arc::clone(&broker);
            move || delete_expired(&broker)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(0)) => {}
            Ok(Ok(count)) => tracing::info!(count, "lite topics that nobody used were deleted"),
            Ok(Err(error)) => {
                tracing::warn!(%error, "looking for unused lite topics failed; they are looked for again")
            }
            Err(error) => tracing::error!(%error, "looking for unused lite topics was cut short"),
        }
    }
}

fn delete_expired(broker: &Broker) -> io::Result<usize> {
    let now = broker.clock.now();
    let mut deleted = 0;
    for queue in broker.store.topics() {
        let Some((parent, _)) = lmq::lite_parts(&queue) else { continue };
        let Some(parent) = broker.topics.get(parent) else { continue };
        let ttl_minutes = attributes::lite_expiration(&parent.attributes);
        let Some(last) = last_used(broker, &queue)? else { continue };
        if !is_expired(now.0.saturating_sub(last.0), ttl_minutes, broker.config().min_lite_ttl_ms) {
            continue;
        }
        broker.delete_topic(&queue).map_err(io::Error::other)?;
        deleted += 1;
        if deleted == DELETIONS_MAX {
            break;
        }
    }
    Ok(deleted)
}

/// When the last message came; none for a lite topic without any.
fn last_used(broker: &Broker, queue: &str) -> io::Result<Option<Millis>> {
    let Some(queue) = broker.store.queue(queue, LMQ_QUEUE) else { return Ok(None) };
    let max = queue.max_offset().0;
    if max == 0 {
        return Ok(None);
    }
    // What the log no longer has is older than anything.
    Ok(Some(broker.store.store_time(&queue, QueueOffset(max - 1))?.unwrap_or(Millis(0))))
}

/// No or a negative time means for ever.
fn is_expired(unused_ms: i64, ttl_minutes: i32, min_ms: i64) -> bool {
    ttl_minutes > 0 && unused_ms >= min_ms && unused_ms > i64::from(ttl_minutes) * 60_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lite_topics_go_after_their_time_and_never_too_soon() {
        let check = |unused_ms, ttl, expected| {
            assert_eq!(is_expired(unused_ms, ttl, 900_000), expected, "{unused_ms} ms, {ttl} min");
        };
        check(900_000, 1, true);
        check(899_999, 1, false);
        check(1_800_000, 30, false);
        check(1_800_001, 30, true);
        check(i64::MAX, -1, false);
        check(i64::MAX, 0, false);
        check(-5, 1, false);
    }
}
