//! The way to brokers: the one in this process, or those of a cluster.

mod local;
pub mod network;
mod unanswered;

pub use local::LocalInvoker;
pub use network::NetworkInvoker;
pub(crate) use network::NetworkLink;
pub use unanswered::Unanswered;

pub use crate::waiting::GivenUp;

use crate::peer::Peer;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::body::attributes::Attributes;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::JsonError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub type Pending<'a, T, E = Refusal> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A request of a broker's own to a client. It is handed over on the thread that sends it, perhaps under locks of
/// the broker: taking it may neither wait nor call a broker.
#[derive(Debug)]
pub struct FromBroker {
    pub broker: Arc<str>,
    pub request: Command,
}

pub type TakeFromBroker = Box<dyn Fn(FromBroker) + Send + Sync>;

pub trait Invoker: Send + Sync + 'static {
    /// A link for one client, which brokers see as a connection from `peer`.
    fn open(&self, peer: Peer, take: TakeFromBroker) -> Arc<dyn Link>;

    /// The topic as brokers have it; refused if there is none.
    fn topic<'a>(&'a self, topic: &'a str) -> Pending<'a, Arc<Topic>>;

    /// The group as brokers have it, made if they make groups; refused if there is none.
    fn group<'a>(&'a self, group: &'a str) -> Pending<'a, Arc<SubscriptionGroupConfig>>;

    /// The brokers that a client is to be known to because it sends to these topics, or receives from them. Topics
    /// that aren't there have none.
    fn brokers_of<'a>(&'a self, topics: &'a [String]) -> Pending<'a, Vec<Arc<str>>>;

    /// Whether there is a broker of this name, even if it can't be reached for a while.
    fn knows(&self, broker: &str) -> bool;

    /// Whether there is a point in asking this broker now. It may have gone since.
    fn is_reachable(&self, broker: &str) -> bool;

    /// When to ask a broker again that went out of reach a moment ago and may be back soon.
    fn retry(&self, broker: &str) -> Option<Instant>;
}

/// One client's way to the brokers. Dropped, the brokers forget the client.
pub trait Link: Send + Sync {
    fn call<'a>(
        &'a self,
        broker: &'a str,
        request: Command,
        timeout: Duration,
    ) -> Pending<'a, Command, Unanswered>;

    /// As `call`, for a request that waits at the broker. Where there is a way to tell the broker that it is given up, it
    /// is answered soon after that.
    fn call_until<'a>(
        &'a self,
        broker: &'a str,
        request: Box<Command>,
        timeout: Duration,
        given_up: GivenUp,
    ) -> Pending<'a, Command, Unanswered>;

    /// Answers a request of the broker's.
    fn answer(&self, broker: &str, opaque: i32, answer: Command);

    /// Nothing can be sent over it any more.
    fn is_closed(&self) -> bool;
}

/// What is known of a topic, on all its brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topic {
    pub attributes: Attributes,
    /// In order of names.
    pub brokers: Vec<TopicBroker>,
}

/// A topic's queues on one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicBroker {
    pub name: Arc<str>,
    pub id: i32,
    /// Where clients reach it; nothing if they reach it where they reached us.
    pub address: Option<String>,
    /// Bits of [`roxmq_protocol::sys_flag::perm`].
    pub perm: i32,
    pub read_queues: i32,
    pub write_queues: i32,
}

/// The answer if the broker did what it was asked with a message that somebody has received. A receipt that isn't good
/// for a message (any more) never will be; for all other reasons why it didn't clients know one code, and try again.
pub(crate) fn settled(answer: Command) -> Result<Command> {
    let code = match answer.code {
        response::NO_MESSAGE => Code::InvalidReceiptHandle,
        _ => Code::InternalServerError,
    };
    success(answer).map_err(|refusal| Refusal { code, ..refusal })
}

/// The answer if the broker did what it was asked.
pub(crate) fn success(answer: Command) -> Result<Command> {
    if answer.code == response::SUCCESS { Ok(answer) } else { Err(Refusal::from_broker(&answer)) }
}

/// The refusal if an answer's body isn't what it should be.
pub(crate) fn unreadable(error: JsonError) -> Refusal {
    Refusal::new(Code::InternalServerError, format!("the answer can't be read: {error}"))
}
