//! The brokers of a cluster, over the network.
//!
//! **Who a client is to a broker.** Brokers tell clients apart by connection: a group has one member for each connection,
//! a question to a client goes over the connection that its heartbeat came over, and a membership ends with it. So every
//! client of the proxy has a connection of its own to each broker that it calls ([`link`]), and whatever a broker does
//! with clients holds behind a proxy as it does without: groups with all their members, checks of transactions,
//! questions of operators, notices. Nothing is to be translated back from a shared connection, where the members of a
//! group would replace each other. This works with brokers of every version.
//!
//! The price is small, because a connection that nobody uses is a task that sleeps without buffers: 1 to 2 KiB here and at
//! the broker, and a file descriptor. It is made by the first call that needs the broker, and only brokers of the client's own
//! topics are told of it. A client that only asks for routes has none. Requests that wait for messages have one more
//! each, so that they can be given up ([`polls`]).
//!
//! **What is known of the cluster.** Brokers by name ([`members`]), topics ([`topics`]) and groups ([`groups`]) are kept
//! while they are used ([`cache`]), asked for again every few seconds, and at once when a connection broke. What is
//! known stays as long as nobody can be asked. So are users and their policies ([`accounts`]), where access is controlled;
//! what goes to brokers is signed then ([`signer`]).
//!
//! **When a broker is gone** its calls fail at once ([`reach`]), and others are chosen where there is a choice. It may be
//! restarting: for [`ABSENCE`] it keeps its place in the topics, and its message groups wait for it. Its name and last
//! address stay known for an hour. When it is back the next call finds it.

mod accounts;
mod cache;
mod groups;
mod link;
mod members;
mod name_servers;
mod polls;
mod reach;
mod signer;
mod topics;
mod upkeep;

use super::{Invoker, Link, Pending, TakeFromBroker, Topic, Unanswered, success, unreadable};
use crate::config::ProxyConfig;
use crate::peer::Peer;
use crate::refusal::Result;
use crate::schema::Code;
use accounts::CachedAccounts;
use cache::{Cache, Limits};
pub(crate) use link::NetworkLink;
use members::Members;
use name_servers::NameServers;
use parking_lot::Mutex;
use reach::Reach;
use roxmq_access::Account;
use roxmq_protocol::body::cluster_info::ClusterInfo;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::body::route::TopicRouteData;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_remoting::{Client, ClientOptions, ClientTls, Connection, Service, TlsError};
use signer::Signer;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use topics::Routed;

/// For what brokers answer at once.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Part of a call's time: a broker that takes no connection must leave enough for another.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long a broker that goes away may take to come back and be the one that it was, as after a restart.
const ABSENCE: Duration = Duration::from_secs(2);
/// Shorter than the time after which brokers close: whoever closes first never sends into a closing connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(100);

pub struct NetworkInvoker {
    network: Arc<Network>,
}

pub(super) struct Network {
    cluster: String,
    client: Client,
    name_servers: NameServers,
    members: Members,
    reach: Reach,
    topics: Cache<Routed>,
    groups: Cache<SubscriptionGroupConfig>,
    accounts: CachedAccounts,
    signer: Signer,
    refresh: Duration,
    /// Something has changed: the cluster is to be looked at before its time.
    changed: Notify,
    /// Why no broker is known.
    trouble: Mutex<String>,
}

impl NetworkInvoker {
    /// Nothing is asked before [`NetworkInvoker::run`]. With `tls`, name servers and brokers are spoken to over TLS.
    pub fn new(config: &ProxyConfig, tls: Option<ClientTls>) -> Result<Self, TlsError> {
        let options = ClientOptions {
            tls,
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            ..ClientOptions::default()
        };
        let client = Client::with_options(options)?;
        let network = Network {
            cluster: config.cluster_name.clone(),
            name_servers: NameServers::new(client.clone(), &config.namesrv_addr),
            client,
            members: Members::default(),
            reach: Reach::default(),
            topics: Cache::new(Limits {
                refresh: seconds(config.route_refresh_s),
                unused: seconds(config.route_unused_s),
                entries_max: config.routes_max.max(1),
            }),
            groups: Cache::new(Limits {
                refresh: seconds(config.group_refresh_s),
                unused: seconds(config.group_unused_s),
                entries_max: config.groups_max.max(1),
            }),
            accounts: CachedAccounts::new(config),
            signer: Signer::of(config),
            refresh: seconds(config.route_refresh_s.min(config.group_refresh_s)),
            changed: Notify::new(),
            trouble: Mutex::new("the name servers have not been asked yet".to_owned()),
        };
        Ok(NetworkInvoker { network: Arc::new(network) })
    }

    /// Keeps what is known up to date, until the future is dropped.
    pub fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        let (of_names, of_accounts) = (Arc::clone(&self.network), Arc::clone(&self.network));
        async {
            tokio::join!(upkeep::run(of_names), accounts::run(of_accounts));
        }
    }

    /// Asks the name servers for the brokers.
    pub async fn look(&self) {
        self.network.look().await;
    }

    /// A client's connections.
    pub(crate) fn link(&self, take: TakeFromBroker) -> NetworkLink {
        NetworkLink::new(Arc::clone(&self.network), take)
    }

    /// The route of a topic, as the name servers know it.
    pub(crate) async fn route(&self, topic: &str) -> Result<TopicRouteData> {
        Ok(self.network.routed(topic).await?.route.clone())
    }

    /// The brokers of these topics, in order of names. Topics that aren't there have none.
    pub(crate) async fn brokers_of_topics(&self, topics: &[String]) -> Result<Vec<Arc<str>>> {
        self.network.brokers_of(topics).await
    }

    /// A user as the brokers have it; `UNAUTHORIZED` if there is none.
    pub(crate) async fn account(&self, name: &str) -> Result<Arc<Account>> {
        accounts::get(&self.network, name).await
    }

    pub(crate) fn cluster(&self) -> &str {
        &self.network.cluster
    }

    /// Every broker of the cluster, in order of names.
    pub(crate) fn all_brokers(&self) -> Vec<Arc<str>> {
        self.network.members.of_cluster(&self.network.cluster)
    }

    /// Whether there is a broker to be reached, or why not.
    pub fn readiness(&self) -> Result<(), String> {
        self.network.readiness()
    }
}

/// A time that timers can wait for.
fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds.clamp(1, 86_400))
}

impl Network {
    async fn look(&self) {
        match self.cluster_info().await {
            Ok(info) => {
                let now = Instant::now();
                self.members.learn_all(&info.broker_addr_table, now);
                self.members.expire(now);
                if self.members.any_has_just_left(now) {
                    self.look_again();
                }
                *self.trouble.lock() = "the name servers know no broker".to_owned();
            }
            Err(refusal) => *self.trouble.lock() = refusal.text,
        }
    }

    async fn cluster_info(&self) -> Result<ClusterInfo> {
        let answer = self.name_servers.call(Command::request(request::GET_BROKER_CLUSTER_INFO)).await?;
        ClusterInfo::from_json_bytes(&success(answer)?.body).map_err(unreadable)
    }

    /// Asks a broker for what no client asked itself.
    async fn ask(&self, broker: &str, asked: Command) -> Result<Command> {
        let address = self.address(broker)?;
        if let Some(reason) = self.reach.trouble(&address, Instant::now()) {
            return Err(Unanswered::Unreached { broker: broker.into(), reason }.into());
        }
        match self.client.call(&address, self.signer.sign(asked), TIMEOUT).await {
            Ok(answer) => {
                self.reach.succeeded(&address);
                success(answer)
            }
            Err(reason) => {
                if let roxmq_remoting::CallError::Connect { .. } = &reason {
                    self.reach.failed(&address, reason.to_string(), Instant::now());
                }
                Err(Unanswered::of_call(broker, reason).into())
            }
        }
    }

    fn address(&self, broker: &str) -> Result<Arc<str>, Unanswered> {
        if let Some(address) = self.members.address(broker) {
            return Ok(address);
        }
        self.look_again();
        if !self.knows(broker) {
            return Err(Unanswered::NoBroker(broker.into()));
        }
        let reason = if self.members.is_empty() {
            self.trouble.lock().clone()
        } else {
            "the name servers know no master of it".to_owned()
        };
        Err(Unanswered::Unreached { broker: broker.into(), reason })
    }

    /// A connection that is the caller's alone; what the broker asks over it goes to this service.
    async fn connect<S: Service>(
        &self,
        broker: &str,
        address: &Arc<str>,
        service: Arc<S>,
    ) -> Result<Arc<Connection>, Unanswered> {
        let unreached = |reason| Unanswered::Unreached { broker: broker.into(), reason };
        if let Some(reason) = self.reach.trouble(address, Instant::now()) {
            return Err(unreached(reason));
        }
        match self.client.connect_alone(address, service).await {
            Ok(connection) => {
                self.reach.succeeded(address);
                Ok(connection)
            }
            Err(error) => {
                self.reach.failed(address, error.to_string(), Instant::now());
                self.look_again();
                Err(unreached(error.to_string()))
            }
        }
    }

    fn look_again(&self) {
        self.changed.notify_one();
    }

    /// Before the first brokers are known, every name may be one's.
    fn knows(&self, broker: &str) -> bool {
        self.members.knows(broker) || self.members.is_empty()
    }

    fn is_reachable(&self, broker: &str) -> bool {
        self.members.address(broker).is_some_and(|address| self.reach.is_well(&address, Instant::now()))
    }

    fn retry(&self, broker: &str) -> Option<Instant> {
        self.reach.retry(&self.members.address(broker)?, Instant::now())
    }

    fn readiness(&self) -> Result<(), String> {
        let brokers = self.members.of_cluster(&self.cluster);
        if brokers.iter().any(|broker| self.is_reachable(broker)) {
            return Ok(());
        }
        match brokers.first() {
            Some(broker) => {
                let address = self.members.address(broker).unwrap_or_default();
                let reason = self.reach.trouble(&address, Instant::now()).unwrap_or_default();
                Err(format!("no broker of {} can be reached ({broker}: {reason})", self.cluster))
            }
            None => Err(self.trouble.lock().clone()),
        }
    }

    async fn routed(&self, topic: &str) -> Result<Arc<Routed>> {
        self.topics.get(topic, |before| topics::ask(self, topic, before)).await
    }

    /// In order of names. Topics that aren't there have none.
    async fn brokers_of(&self, topics: &[String]) -> Result<Vec<Arc<str>>> {
        let mut brokers = BTreeSet::new();
        for topic in topics {
            match self.routed(topic).await {
                Ok(routed) => {
                    brokers.extend(routed.topic.brokers.iter().map(|broker| Arc::clone(&broker.name)));
                }
                Err(refusal) if refusal.code == Code::TopicNotFound => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(brokers.into_iter().collect())
    }
}

impl Invoker for NetworkInvoker {
    fn open(&self, _: Peer, take: TakeFromBroker) -> Arc<dyn Link> {
        Arc::new(self.link(take))
    }

    fn topic<'a>(&'a self, topic: &'a str) -> Pending<'a, Arc<Topic>> {
        Box::pin(async move { Ok(Arc::clone(&self.network.routed(topic).await?.topic)) })
    }

    fn group<'a>(&'a self, group: &'a str) -> Pending<'a, Arc<SubscriptionGroupConfig>> {
        let network = &self.network;
        Box::pin(async move { network.groups.get(group, |_| groups::ask(network, group)).await })
    }

    fn brokers_of<'a>(&'a self, topics: &'a [String]) -> Pending<'a, Vec<Arc<str>>> {
        Box::pin(self.network.brokers_of(topics))
    }

    fn knows(&self, broker: &str) -> bool {
        self.network.knows(broker)
    }

    fn is_reachable(&self, broker: &str) -> bool {
        self.network.is_reachable(broker)
    }

    fn retry(&self, broker: &str) -> Option<Instant> {
        self.network.retry(broker)
    }
}
