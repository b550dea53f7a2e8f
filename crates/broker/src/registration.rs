//! Tells the name servers what this broker has: everything at start and every 30 seconds, a changed topic at once.

mod changes;
mod remote;
mod request;

pub use remote::RemoteNameServers;

pub(crate) use changes::TopicChanges;

use crate::broker::Broker;
use parking_lot::Mutex;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_remoting::CallError;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A call that somebody polls.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How long a stop waits for a name server to take the broker off its lists.
const UNREGISTER_TIMEOUT: Duration = Duration::from_secs(3);

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
    broker.topic_changes.note_told(pending.changes);
}

impl Broker {
    /// Tells every name server of everything; returns when each has answered or doesn't.
    pub async fn register(self: &Arc<Self>) {
        // What changes from here on is told again.
        let changes = self.topic_changes.take().changes;
        send_to_all(self, request::register(self, &self.topics.all()), None).await;
        self.topic_changes.note_told(changes);
    }

    /// Returns when the name servers know of this broker and of everything that it has now, or don't answer.
    pub async fn registered(&self) {
        self.topic_changes.wait_told().await;
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
    use crate::broker::BrokerOptions;
    use crate::config::{BrokerConfig, CurrentConfig};
    use crate::topics::topic_config;
    use roxmq_protocol::body::register_broker::RegisterBrokerBody;
    use roxmq_protocol::body::topic_config::TopicConfig;
    use roxmq_protocol::code::request;
    use roxmq_protocol::version;
    use roxmq_store::clock::SystemClock;
    use roxmq_testkit::FaultFiles;
    use std::path::PathBuf;
    use tokio::sync::mpsc;

    /// Two name servers that hand on what they are told.
    struct Heard(mpsc::UnboundedSender<(String, Command)>);

    impl NameServers for Heard {
        fn list(&self) -> Vec<String> {
            vec!["first".to_owned(), "second".to_owned()]
        }

        fn call<'a>(
            &'a self,
            server: &'a str,
            request: Command,
            _: Duration,
        ) -> BoxFuture<'a, Result<Command, CallError>> {
            let _ = self.0.send((server.to_owned(), request));
            Box::pin(std::future::ready(Ok(Command::response(response::SUCCESS))))
        }
    }

    struct Listener(mpsc::UnboundedReceiver<(String, Command)>);

    impl Listener {
        /// What both were told next, which is the same.
        async fn next(&mut self) -> Command {
            let (first, told) = self.0.recv().await.expect("a request");
            let (second, again) = self.0.recv().await.expect("a request");
            assert_ne!(first, second);
            assert_eq!(told, again);
            told
        }

        async fn next_topics(&mut self) -> BTreeMap<String, TopicConfig> {
            let told = self.next().await;
            assert_eq!(told.code, request::REGISTER_BROKER);
            let body =
                RegisterBrokerBody::decode(&told.body, false, version::V5_5_0).expect("a registration");
            body.topic_table.topic_config_table
        }
    }

    fn open() -> (Arc<Broker>, Listener) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let config = BrokerConfig {
            store_path_root_dir: Some(PathBuf::from("/store")),
            mapped_file_size_commit_log: 8 << 20,
            max_hash_slot_num: 100,
            max_index_num: 400,
            ..BrokerConfig::default()
        };
        let options = BrokerOptions {
            config: Arc::new(CurrentConfig::new(config)),
            files: FaultFiles::new(),
            clock: Arc::new(SystemClock),
            name_servers: Arc::new(Heard(sender)),
            advertised: "192.0.2.7:10911".parse().expect("an address"),
        };
        let (broker, _) = Broker::open(options).expect("a broker");
        (broker, Listener(receiver))
    }

    #[tokio::test]
    async fn everything_is_told_at_start_then_what_changes_then_the_end() {
        let (broker, mut told) = open();
        broker.run().expect("tasks");
        let all = told.next_topics().await;
        assert!(all.contains_key("TBW102") && all.len() == broker.topics.len());
        broker.topics.put(topic_config("T", 2, 6)).expect("a topic");
        let changed = told.next_topics().await;
        assert_eq!(changed.keys().collect::<Vec<_>>(), ["T"]);
        broker.delete_topic("T").expect("a deletion");
        let all = told.next_topics().await;
        assert!(!all.contains_key("T") && all.contains_key("TBW102"));
        broker.shutdown().await;
        let end = told.next().await;
        assert_eq!(end.code, request::UNREGISTER_BROKER);
        assert_eq!(end.field("brokerAddr"), Some("192.0.2.7:10911"));
    }

    /// A second server that found the ports taken took the first one off the name servers' lists.
    #[tokio::test]
    async fn who_never_ran_takes_nobody_off_the_lists() {
        let (broker, mut told) = open();
        broker.shutdown().await;
        drop(broker);
        assert_eq!(told.0.recv().await, None);
    }

    #[tokio::test]
    async fn a_registration_has_the_fields_of_javas() {
        let (broker, mut told) = open();
        let register = {
            let broker = Arc::clone(&broker);
            tokio::spawn(async move { broker.register().await })
        };
        let request = told.next().await;
        register.await.expect("told");
        let check = |field: &str, expected: &str| assert_eq!(request.field(field), Some(expected), "{field}");
        check("brokerName", "broker-a");
        check("brokerAddr", "192.0.2.7:10911");
        check("clusterName", "DefaultCluster");
        check("haServerAddr", "192.0.2.7:10912");
        check("brokerId", "0");
        check("compressed", "false");
        check("bodyCrc32", &(crc32fast::hash(&request.body) & 0x7FFF_FFFF).to_string());
    }
}
