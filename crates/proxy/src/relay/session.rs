//! One client of the remoting protocol, as long as it is connected.

use super::destination::{self, Destination};
use super::membership::Membership;
use super::{Relay, answers, asked, kinds, route};
use crate::access::AccessControl;
use crate::invoker::{Link, NetworkInvoker, NetworkLink};
use crate::refusal::Result;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use roxmq_remoting::Connection;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

/// What a broker gets for its answer, beyond the time that the request itself lets it wait.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that a request can let a broker wait.
const WAIT_MAX: Duration = Duration::from_secs(600);

pub struct Session {
    invoker: Arc<NetworkInvoker>,
    pub link: NetworkLink,
    membership: Membership,
    /// Where the client is told to find every broker.
    here: String,
    /// Whether topics take only the kind of message that they are for.
    check_message_type: bool,
    access: Option<Arc<AccessControl>>,
    /// Where the client comes from.
    source: IpAddr,
}

impl Session {
    pub fn open(relay: &Relay, connection: &Arc<Connection>) -> Arc<Self> {
        let here = relay.here.clone().unwrap_or_else(|| {
            let local = connection.local();
            SocketAddr::new(local.ip().to_canonical(), local.port()).to_string()
        });
        let source = connection.remote().ip();
        Arc::new_cyclic(|session: &Weak<Session>| {
            let (session, connection) = (Weak::clone(session), Arc::downgrade(connection));
            let link = relay.invoker.link(Box::new(move |from| asked::pass_on(&session, &connection, from)));
            Session {
                invoker: Arc::clone(&relay.invoker),
                link,
                membership: Membership::default(),
                here,
                check_message_type: relay.check_message_type,
                access: relay.access.clone(),
                source,
            }
        })
    }

    /// An answer now, or later over the connection.
    pub fn serve(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        request: Command,
        encoding: Encoding,
    ) -> Option<Command> {
        let Some(destination) = destination::of(request.code) else {
            return Some(answers::unknown(request.code));
        };
        let session = Arc::clone(self);
        if request.is_oneway() {
            start(async move {
                match session.admit(&request).await {
                    Ok(()) => session.pass_on_oneway(destination, request).await,
                    Err(refusal) => {
                        tracing::debug!(code = request.code, %refusal, "a request that nobody answers is refused");
                    }
                }
            });
            return None;
        }
        let (connection, promise) = (Arc::clone(connection), connection.promise_answer());
        start(async move {
            let opaque = request.opaque;
            let answer = match session.admit(&request).await {
                Ok(()) => session.answer(destination, request).await,
                Err(refusal) => answers::refusal(refusal),
            };
            connection.respond(opaque, encoding, answer);
            drop(promise);
        });
        None
    }

    /// Whether the client may ask for it.
    async fn admit(&self, request: &Command) -> Result<()> {
        match &self.access {
            None => Ok(()),
            Some(access) => access.check_request(request, self.invoker.cluster(), self.source).await,
        }
    }

    async fn answer(&self, destination: Destination, request: Command) -> Command {
        let Session { invoker, link, membership, here, .. } = self;
        match destination {
            Destination::Route => {
                route::answer(invoker, here, &request).await.unwrap_or_else(answers::refusal)
            }
            Destination::Heartbeat => {
                membership.heartbeat(invoker, link, request).await.unwrap_or_else(answers::refusal)
            }
            Destination::Leave => membership.leave(link, request).await,
            Destination::ConsumerIds => {
                membership.consumer_ids(invoker, link, request).await.unwrap_or_else(answers::refusal)
            }
            Destination::Any => self.any(invoker.all_brokers(), request).await,
            Destination::AnyOfTopic => {
                let topics: Vec<_> = destination::topic_in_body(&request).into_iter().collect();
                match invoker.brokers_of_topics(&topics).await {
                    Ok(brokers) => self.any(brokers, request).await,
                    Err(refusal) => answers::refusal(refusal),
                }
            }
            Destination::Named | Destination::NamedInBody => match self.broker(destination, &request).await {
                Some(broker) => match self.check(&request).await {
                    Ok(()) => {
                        let timeout = timeout(&request);
                        let answer = link.call(&broker, request, timeout).await;
                        answer.unwrap_or_else(|failure| answers::unanswered(&failure))
                    }
                    Err(refusal) => answers::refusal(refusal),
                },
                None => answers::unnamed(request.code),
            },
        }
    }

    async fn check(&self, request: &Command) -> Result<()> {
        if self.check_message_type { kinds::check(&self.invoker, request).await } else { Ok(()) }
    }

    async fn pass_on_oneway(&self, destination: Destination, request: Command) {
        let code = request.code;
        match self.broker(destination, &request).await {
            Some(broker) => {
                if let Err(refusal) = self.check(&request).await {
                    return tracing::debug!(code, %refusal, "a request that nobody answers is refused");
                }
                if let Err(failure) = self.link.oneway(&broker, request).await {
                    tracing::debug!(code, %failure, "a request that nobody answers is lost");
                }
            }
            // What is said to several is said in the same way, and the answer is for nobody.
            None => drop(self.answer(destination, request).await),
        }
    }

    /// The broker that a request is for, if that is one.
    async fn broker(&self, destination: Destination, request: &Command) -> Option<String> {
        match destination {
            Destination::Named => match destination::named(request) {
                Some(broker) => Some(broker),
                None => self.only_broker(destination::topic(request)).await,
            },
            Destination::NamedInBody => destination::named_in_body(request),
            _ => None,
        }
    }

    /// The one broker that there is, or that the topic has.
    async fn only_broker(&self, topic: Option<&str>) -> Option<String> {
        let mut brokers = self.invoker.all_brokers();
        if brokers.len() != 1 {
            brokers = self.invoker.brokers_of_topics(&[topic?.to_owned()]).await.ok()?;
        }
        match brokers.as_slice() {
            [broker] => Some(broker.to_string()),
            _ => None,
        }
    }

    /// The answer of the first that has one, or what the last says.
    async fn any(&self, brokers: Vec<Arc<str>>, request: Command) -> Command {
        let mut last = answers::unknown(request.code);
        for broker in brokers {
            match self.link.call(&broker, request.clone(), timeout(&request)).await {
                Ok(answer) if answer.code == roxmq_protocol::code::response::SUCCESS => return answer,
                Ok(answer) => last = answer,
                Err(failure) => last = answers::unanswered(&failure),
            }
        }
        last
    }
}

/// How long the answer may take: pulls and pops say how long they wait for messages.
fn timeout(request: &Command) -> Duration {
    let wait = request.field("suspendTimeoutMillis").or_else(|| request.field("pollTime"));
    let wait = wait.and_then(|text| text.parse::<u64>().ok()).map_or(Duration::ZERO, Duration::from_millis);
    TIMEOUT + wait.min(WAIT_MAX)
}

/// Takes the first step here and now: requests of a client reach a broker in their order.
fn start(work: impl Future<Output = ()> + Send + 'static) {
    let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
    if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        tokio::spawn(work);
    }
}
