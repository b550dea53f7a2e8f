//! Keeps what is known of the cluster up to date: brokers, and the topics and groups that are used.

use super::topics::{self, Routed};
use super::{Network, groups};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How much time is at least between two looks at the cluster.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// How many topics and groups are asked for at the same time.
const REFRESHES_MAX: usize = 16;

pub async fn run(network: Arc<Network>) {
    let mut last = Instant::now();
    loop {
        let due = tokio::time::Instant::from_std(last + network.refresh);
        // An early look is for what is in trouble; it doesn't put off the next for everything.
        let is_early = tokio::time::timeout_at(due, network.changed.notified()).await.is_ok();
        let start = Instant::now();
        network.look().await;
        if is_early && start < last + network.refresh {
            let is_away = |broker: &str| network.members.is_absent(broker) || !network.is_reachable(broker);
            let has_trouble =
                |routed: &Routed| routed.topic.brokers.iter().any(|broker| is_away(&broker.name));
            let since = last.checked_sub(network.refresh).unwrap_or(last);
            let topics = network.topics.used_since(since, start, has_trouble);
            refresh(&network, topics, Vec::new()).await;
        } else {
            let topics = network.topics.used_since(last, start, |_| true);
            let groups = network.groups.used_since(last, start, |_| true);
            last = start;
            refresh(&network, topics, groups).await;
        }
        tokio::time::sleep(LOOK_PAUSE.saturating_sub(start.elapsed())).await;
    }
}

async fn refresh(network: &Arc<Network>, topics: Vec<Box<str>>, groups: Vec<Box<str>>) {
    let turns = Arc::new(Semaphore::new(REFRESHES_MAX));
    let mut tasks = JoinSet::new();
    for topic in topics {
        let (network, turns) = (Arc::clone(network), Arc::clone(&turns));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            network.topics.refresh(&topic, |before| topics::ask(&network, &topic, before)).await;
        });
    }
    for group in groups {
        let (network, turns) = (Arc::clone(network), Arc::clone(&turns));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            network.groups.refresh(&group, |_| groups::ask(&network, &group)).await;
        });
    }
    while tasks.join_next().await.is_some() {}
}
