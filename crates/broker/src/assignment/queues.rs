//! The queues of a topic that its consumers share out, on all brokers that have it.
//!
//! This broker knows its own; of the others' the name servers tell. What they told counts for a while
//! (`loadBalancePollNameServerInterval`), and longer if none of them answers.

use crate::Broker;
use crate::topics::QUEUES_MAX;
use foldhash::HashMap;
use parking_lot::Mutex;
use roxmq_protocol::body::route::TopicRouteData;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::message_queue::MessageQueue;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;
use roxmq_store::Millis;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What one name server is waited for.
const ROUTE_TIMEOUT: Duration = Duration::from_secs(3);
/// Topics whose queues elsewhere are remembered. More are asked for each time.
const TOPICS_MAX: usize = 100_000;

type Queues = Arc<BTreeSet<MessageQueue>>;

#[derive(Default)]
pub(crate) struct TopicRoutes {
    told: Mutex<HashMap<String, Told>>,
}

/// What a name server told of a topic.
#[derive(Clone)]
struct Told {
    queues: Queues,
    asked_at: Millis,
}

/// The topic's queues; none if neither this broker nor a name server knows the topic.
pub(super) async fn of_topic(broker: &Broker, topic: &str) -> Option<BTreeSet<MessageQueue>> {
    if names::is_lmq(topic) {
        let queue = MessageQueue::new(topic, &broker.config().broker_name, 0);
        return Some(BTreeSet::from([queue]));
    }
    let elsewhere = elsewhere(broker, topic).await;
    let own = own(broker, topic);
    if own.is_none() && elsewhere.is_none() {
        return None;
    }
    let own_name = &broker.config().broker_name;
    let others = elsewhere.iter().flat_map(|queues| queues.iter());
    let others = others.filter(|queue| queue.broker_name != *own_name).cloned();
    Some(own.into_iter().flatten().chain(others).collect())
}

fn own(broker: &Broker, topic: &str) -> Option<Vec<MessageQueue>> {
    let known = broker.topics.get(topic)?;
    let config = broker.config();
    let readable = perm::is_readable(known.perm & config.broker_permission);
    let count = if readable { known.read_queue_nums } else { 0 };
    Some((0..count).map(|id| MessageQueue::new(topic, &config.broker_name, id)).collect())
}

/// What name servers say, or said before.
async fn elsewhere(broker: &Broker, topic: &str) -> Option<Queues> {
    let now = broker.clock.now();
    let poll_ms =
        i64::try_from(broker.config().load_balance_poll_name_server_interval_ms).unwrap_or(i64::MAX);
    let known = broker.routes.told.lock().get_mut(topic).map(|told| {
        let due = now.0.saturating_sub(told.asked_at.0) >= poll_ms;
        if due {
            // Whoever comes meanwhile needn't ask as well.
            told.asked_at = now;
        }
        (told.queues.clone(), due)
    });
    if let Some((queues, false)) = &known {
        return Some(Arc::clone(queues));
    }
    match ask(broker, topic).await {
        Some(Some(queues)) => {
            let queues: Queues = Arc::new(queues);
            let mut told = broker.routes.told.lock();
            if told.len() < TOPICS_MAX || told.contains_key(topic) {
                told.insert(topic.to_owned(), Told { queues: Arc::clone(&queues), asked_at: now });
            }
            Some(queues)
        }
        Some(None) => {
            broker.routes.told.lock().remove(topic);
            None
        }
        None => known.map(|(queues, _)| queues),
    }
}

/// The answer of the first name server that has one: the topic's queues, or that there is no such topic.
async fn ask(broker: &Broker, topic: &str) -> Option<Option<BTreeSet<MessageQueue>>> {
    for server in broker.name_servers.list() {
        let request = Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", topic);
        match broker.name_servers.call(&server, request, ROUTE_TIMEOUT).await {
            Ok(answer) if answer.code == response::SUCCESS => {
                match TopicRouteData::from_json_bytes(&answer.body) {
                    Ok(route) => return Some(Some(readable_queues(topic, &route))),
                    Err(error) => {
                        tracing::warn!(server, topic, %error, "a name server's route can't be read");
                    }
                }
            }
            Ok(answer) if answer.code == response::TOPIC_NOT_EXIST => return Some(None),
            Ok(answer) => {
                let remark = answer.remark.unwrap_or_default();
                tracing::warn!(server, topic, code = answer.code, %remark, "a name server didn't tell a route");
            }
            Err(error) => tracing::warn!(server, topic, %error, "a name server didn't tell a route"),
        }
    }
    None
}

fn readable_queues(topic: &str, route: &TopicRouteData) -> BTreeSet<MessageQueue> {
    let readable = route.queue_datas.iter().filter(|data| perm::is_readable(data.perm));
    readable
        .flat_map(|data| {
            let count = data.read_queue_nums.min(QUEUES_MAX);
            (0..count).map(|id| MessageQueue::new(topic, &data.broker_name, id))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::BrokerOptions;
    use crate::config::{BrokerConfig, CurrentConfig};
    use crate::registration::{BoxFuture, NameServers};
    use crate::topics::topic_config;
    use roxmq_protocol::body::route::QueueData;
    use roxmq_protocol::json::ToJson;
    use roxmq_remoting::CallError;
    use roxmq_testkit::{FaultFiles, TestClock};
    use std::path::PathBuf;

    /// Two name servers that answer the same; the first is asked in vain while it is down.
    #[derive(Default)]
    struct Tells {
        route: Mutex<Option<TopicRouteData>>,
        down: Mutex<Vec<&'static str>>,
        asked: Mutex<usize>,
    }

    impl NameServers for Tells {
        fn list(&self) -> Vec<String> {
            vec!["first".to_owned(), "second".to_owned()]
        }

        fn call<'a>(
            &'a self,
            server: &'a str,
            request: Command,
            _: Duration,
        ) -> BoxFuture<'a, Result<Command, CallError>> {
            assert_eq!((request.code, request.field("topic")), (105, Some("T")));
            *self.asked.lock() += 1;
            let answer = if self.down.lock().contains(&server) {
                Err(CallError::Closed)
            } else {
                Ok(match &*self.route.lock() {
                    Some(route) => Command::response(response::SUCCESS).body(route.to_json()),
                    None => Command::response(response::TOPIC_NOT_EXIST),
                })
            };
            Box::pin(std::future::ready(answer))
        }
    }

    fn queue_data(broker_name: &str, queues: i32, perm: i32) -> QueueData {
        QueueData {
            broker_name: broker_name.to_owned(),
            perm,
            read_queue_nums: queues,
            ..QueueData::default()
        }
    }

    fn route(queue_datas: Vec<QueueData>) -> Option<TopicRouteData> {
        Some(TopicRouteData { queue_datas, ..TopicRouteData::default() })
    }

    fn open(tells: &Arc<Tells>, clock: &Arc<TestClock>) -> Arc<Broker> {
        let config = BrokerConfig {
            store_path_root_dir: Some(PathBuf::from("/store")),
            mapped_file_size_commit_log: 8 << 20,
            max_hash_slot_num: 100,
            max_index_num: 400,
            ..BrokerConfig::default()
        };
        let (broker, _) = Broker::open(BrokerOptions {
            config: Arc::new(CurrentConfig::new(config)),
            files: FaultFiles::new(),
            clock: Arc::clone(clock) as Arc<_>,
            name_servers: Arc::clone(tells) as Arc<_>,
            advertised: "127.0.0.1:10911".parse().expect("an address"),
        })
        .expect("a broker");
        broker
    }

    async fn shown(broker: &Broker) -> Option<Vec<String>> {
        let queues = of_topic(broker, "T").await?;
        Some(queues.iter().map(|queue| format!("{}:{}", queue.broker_name, queue.queue_id)).collect())
    }

    #[tokio::test]
    async fn own_queues_are_known_and_others_are_asked_for_now_and_then() {
        let (tells, clock) = (Arc::new(Tells::default()), Arc::new(TestClock::at(Millis(1_000_000))));
        let broker = open(&tells, &clock);
        assert_eq!(shown(&broker).await, None);
        // What the name server says of this broker may be old.
        let other = queue_data("broker-b", 1, 6);
        *tells.route.lock() = route(vec![queue_data("broker-a", 4, 6), other.clone(), queue_data("c", 4, 2)]);
        assert_eq!(shown(&broker).await.expect("known"), ["broker-b:0"]);
        broker.topics.put(topic_config("T", 2, 6)).expect("a topic");
        assert_eq!(shown(&broker).await.expect("known"), ["broker-a:0", "broker-a:1", "broker-b:0"]);
        assert_eq!(*tells.asked.lock(), 2);
        clock.advance(Duration::from_secs(30));
        *tells.route.lock() = None;
        assert_eq!(shown(&broker).await.expect("known"), ["broker-a:0", "broker-a:1"]);
    }

    #[tokio::test]
    async fn what_was_told_counts_on_while_nobody_answers() {
        let (tells, clock) = (Arc::new(Tells::default()), Arc::new(TestClock::at(Millis(1_000_000))));
        let broker = open(&tells, &clock);
        *tells.route.lock() = route(vec![queue_data("broker-b", 1, 6)]);
        tells.down.lock().push("first");
        assert_eq!(shown(&broker).await.expect("known"), ["broker-b:0"]);
        tells.down.lock().push("second");
        clock.advance(Duration::from_secs(30));
        assert_eq!(shown(&broker).await.expect("known"), ["broker-b:0"]);
        assert_eq!(*tells.asked.lock(), 4);
    }

    #[tokio::test]
    async fn a_topic_that_may_not_be_read_has_no_queues() {
        let (tells, clock) = (Arc::new(Tells::default()), Arc::new(TestClock::at(Millis(1_000_000))));
        let broker = open(&tells, &clock);
        broker.topics.put(topic_config("T", 2, 2)).expect("a topic");
        assert_eq!(shown(&broker).await.expect("known"), Vec::<String>::new());
    }
}
