//! Tells the name servers what this broker has: everything at start and every 30 seconds, a changed topic at once.

mod remote;
mod request;

pub use remote::RemoteNameServers;

use crate::broker::Broker;
use parking_lot::Mutex;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_remoting::CallError;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// A call that somebody polls.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How long a stop waits for a name server to take the broker off its lists.
const UNREGISTER_TIMEOUT: Duration = Duration::from_secs(3);
/// With more changed topics than this, everything is told again.
const CHANGED_TOPICS_MAX: usize = 100;

/// The name servers, over the network or in this process.
pub trait NameServers: Send + Sync + 'static {
    /// What each is called, in [`call`](Self::call) and in logs.
    fn list(&self) -> Vec<String>;

    /// Sends a request (103, 104) to one of them.
    fn call<'a>(
        &'a self,
        server: &'a str,
        request: Command,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Command, CallError>>;
}

/// For a broker that nobody has to find.
#[derive(Debug, Default)]
pub struct NoNameServers;

impl NameServers for NoNameServers {
    fn list(&self) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(&'a self, _: &'a str, _: Command, _: Duration) -> BoxFuture<'a, Result<Command, CallError>> {
        Box::pin(std::future::ready(Err(CallError::Closed)))
    }
}

/// What name servers haven't been told yet.
#[derive(Debug, Default)]
pub(crate) struct TopicChanges {
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pending {
    topics: BTreeSet<String>,
    everything: bool,
}

impl TopicChanges {
    /// A topic is new or has changed.
    pub(crate) fn changed(&self, topic: &str) {
        let mut pending = self.pending.lock();
        pending.topics.insert(topic.to_owned());
        pending.everything |= pending.topics.len() > CHANGED_TOPICS_MAX;
        drop(pending);
        self.wake.notify_one();
    }

    /// Something went, or changed for all topics.
    pub(crate) fn everything(&self) {
        self.pending.lock().everything = true;
        self.wake.notify_one();
    }

    fn take(&self) -> Pending {
        std::mem::take(&mut *self.pending.lock())
    }
}

/// What was last heard from each name server, so that a log tells only of changes.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    reached: Mutex<BTreeMap<String, bool>>,
}

impl Registration {
    fn note(&self, server: &str, outcome: Result<Command, CallError>) {
        let problem = match outcome {
            Ok(answer) if answer.code == response::SUCCESS => None,
            Ok(answer) => Some(format!("code {}: {}", answer.code, answer.remark.unwrap_or_default())),
            Err(error) => Some(error.to_string()),
        };
        let before = self.reached.lock().insert(server.to_owned(), problem.is_none());
        match problem {
            None if before != Some(true) => tracing::info!(server, "registered with the name server"),
            Some(problem) if before != Some(false) => {
                tracing::warn!(
                    server,
                    problem,
                    "the name server didn't take the registration; it is tried again"
                );
            }
            _ => {}
        }
    }
}

/// Registers until the task is stopped.
pub(crate) async fn run(broker: Arc<Broker>) {
    let period = Duration::from_millis(broker.config().register_name_server_period_ms);
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => broker.register().await,
            () = broker.topic_changes.wake.notified() => register_changes(&broker).await,
        }
    }
}

async fn register_changes(broker: &Arc<Broker>) {
    let pending = broker.topic_changes.take();
    if pending.everything {
        return broker.register().await;
    }
    let topics: Vec<_> = pending.topics.iter().filter_map(|topic| broker.topics.get(topic)).collect();
    if !topics.is_empty() {
        send_to_all(broker, request::register(broker, &topics), None).await;
    }
}

impl Broker {
    /// Tells every name server of everything; returns when each has answered or doesn't.
    pub async fn register(self: &Arc<Self>) {
        // What changes from here on is told again.
        drop(self.topic_changes.take());
        send_to_all(self, request::register(self, &self.topics.all()), None).await;
    }

    /// Has the name servers take this broker off their lists.
    pub async fn unregister(self: &Arc<Self>) {
        send_to_all(self, request::unregister(self), Some(UNREGISTER_TIMEOUT)).await;
    }
}

/// Sends the request to all name servers at once.
async fn send_to_all(broker: &Arc<Broker>, request: Command, timeout: Option<Duration>) {
    let config_timeout = Duration::from_millis(broker.config().register_broker_timeout_ms);
    let timeout = timeout.unwrap_or(config_timeout);
    let mut calls = JoinSet::new();
    for server in broker.name_servers.list() {
        let (broker, request) = (Arc::clone(broker), request.clone());
        calls.spawn(async move {
            let outcome = broker.name_servers.call(&server, request, timeout).await;
            broker.registration.note(&server, outcome);
        });
    }
    while calls.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_taken_once() {
        let changes = TopicChanges::default();
        changes.changed("a");
        changes.changed("b");
        changes.changed("a");
        let expected = ["a".to_owned(), "b".to_owned()].into();
        assert_eq!(changes.take(), Pending { topics: expected, everything: false });
        assert_eq!(changes.take(), Pending::default());
        changes.everything();
        assert!(changes.take().everything);
    }

    #[test]
    fn many_changes_are_told_as_everything() {
        let changes = TopicChanges::default();
        (0..=CHANGED_TOPICS_MAX).for_each(|topic| changes.changed(&topic.to_string()));
        assert!(changes.take().everything);
    }
}
