//! The broker of this process, over connections without sockets.

use super::{
    FromBroker, GivenUp, Invoker, Link, Pending, TakeFromBroker, Topic, TopicBroker, Unanswered, success,
    unreadable,
};
use crate::peer::Peer;
use crate::refusal::Result;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::body::topic_config::TopicConfig;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_remoting::{LocalConnection, LocalEnds, Service};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For what is answered at once.
const TIMEOUT: Duration = Duration::from_secs(2);

pub struct LocalInvoker<S: Service> {
    service: Arc<S>,
    broker: Arc<str>,
    broker_id: i32,
    /// For what no client asked itself.
    own: LocalLink<S>,
}

impl<S: Service> LocalInvoker<S> {
    /// `service` is that of the broker with this name.
    pub fn new(service: Arc<S>, broker: &str, broker_id: i32) -> Self {
        let broker: Arc<str> = broker.into();
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let own = LocalConnection::open(
            Arc::clone(&service),
            LocalEnds { remote: nowhere, local: nowhere },
            |request| tracing::debug!(code = request.code, "the broker asks its own proxy for something"),
        );
        let own = LocalLink { broker: Arc::clone(&broker), connection: own };
        LocalInvoker { service, broker, broker_id, own }
    }

    async fn ask(&self, request: Command) -> Result<Command> {
        success(self.own.call(&self.broker, request, TIMEOUT).await?)
    }
}

impl<S: Service> Invoker for LocalInvoker<S> {
    fn open(&self, peer: Peer, take: TakeFromBroker) -> Arc<dyn Link> {
        let broker = Arc::clone(&self.broker);
        let ends = LocalEnds { remote: peer.remote, local: peer.local };
        let connection = LocalConnection::open(Arc::clone(&self.service), ends, move |request| {
            take(FromBroker { broker: Arc::clone(&broker), request });
        });
        Arc::new(LocalLink { broker: Arc::clone(&self.broker), connection })
    }

    fn topic<'a>(&'a self, topic: &'a str) -> Pending<'a, Arc<Topic>> {
        Box::pin(async move {
            let answer = self.ask(Command::request(request::GET_TOPIC_CONFIG).with("topic", topic)).await?;
            let config = TopicConfig::from_json_bytes(&answer.body).map_err(unreadable)?;
            let broker = TopicBroker {
                name: Arc::clone(&self.broker),
                id: self.broker_id,
                address: None,
                perm: config.perm,
                read_queues: config.read_queue_nums,
                write_queues: config.write_queue_nums,
            };
            Ok(Arc::new(Topic { attributes: config.attributes, brokers: vec![broker] }))
        })
    }

    fn group<'a>(&'a self, group: &'a str) -> Pending<'a, Arc<SubscriptionGroupConfig>> {
        Box::pin(async move {
            let asked = Command::request(request::GET_SUBSCRIPTIONGROUP_CONFIG).with("group", group);
            let answer = self.ask(asked).await?;
            SubscriptionGroupConfig::from_json_bytes(&answer.body).map(Arc::new).map_err(unreadable)
        })
    }

    fn brokers_of<'a>(&'a self, _: &'a [String]) -> Pending<'a, Vec<Arc<str>>> {
        Box::pin(async { Ok(vec![Arc::clone(&self.broker)]) })
    }

    fn knows(&self, broker: &str) -> bool {
        *broker == *self.broker
    }

    fn is_reachable(&self, broker: &str) -> bool {
        self.knows(broker)
    }

    fn retry(&self, _: &str) -> Option<Instant> {
        None
    }
}

struct LocalLink<S: Service> {
    broker: Arc<str>,
    connection: Arc<LocalConnection<S>>,
}

impl<S: Service> Link for LocalLink<S> {
    fn call<'a>(
        &'a self,
        broker: &'a str,
        request: Command,
        timeout: Duration,
    ) -> Pending<'a, Command, Unanswered> {
        Box::pin(async move {
            if *broker != *self.broker {
                return Err(Unanswered::NoBroker(broker.into()));
            }
            let called = self.connection.call(request, timeout).await;
            called.map_err(|reason| Unanswered::of_call(broker, reason))
        })
    }

    fn call_until<'a>(
        &'a self,
        broker: &'a str,
        request: Box<Command>,
        timeout: Duration,
        given_up: GivenUp,
    ) -> Pending<'a, Command, Unanswered> {
        Box::pin(async move {
            if *broker != *self.broker {
                return Err(Unanswered::NoBroker(broker.into()));
            }
            let called = self.connection.call_until(request, timeout, given_up).await;
            called.map_err(|reason| Unanswered::of_call(broker, reason))
        })
    }

    fn answer(&self, _: &str, opaque: i32, answer: Command) {
        self.connection.answer(opaque, answer);
    }

    fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }
}
