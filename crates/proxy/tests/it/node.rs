//! A broker with gRPC in front of it, on a free port with a store of its own.

use crate::client::{Clients, Peer};
use crate::guarded::{ROOT, signed};
use crate::script::Script;
use roxmq_broker::config::{BrokerConfig, CurrentConfig};
use roxmq_broker::registration::NoNameServers;
use roxmq_broker::{Broker, BrokerOptions, BrokerService};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::sys_flag::perm;
use roxmq_proxy::invoker::LocalInvoker;
use roxmq_proxy::{AccessControl, Grpc, Proxy, ProxyConfig};
use roxmq_remoting::{Client, Server, ServerOptions};
use roxmq_store::clock::SystemClock;
use roxmq_store::files::OsFiles;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub const BROKER: &str = "broker-a";
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is looked at what is waited for.
const LOOK_PERIOD: Duration = Duration::from_millis(5);
const GRACE: Duration = Duration::from_secs(5);

pub struct Node {
    dir: TempDir,
    broker: Arc<Broker>,
    proxy: Arc<Proxy>,
    upkeep: JoinHandle<()>,
    server: Server,
    is_guarded: bool,
    /// What the broker does otherwise than it would.
    pub script: Arc<Script>,
}

impl Node {
    pub async fn start() -> Node {
        Node::start_with(&[], ProxyConfig::default()).await
    }

    /// With these keys for the broker.
    pub async fn start_with(keys: &[(&str, &str)], proxy: ProxyConfig) -> Node {
        Node::start_in(TempDir::new().unwrap(), keys, proxy).await
    }

    /// Over the store that another one left.
    pub async fn start_in(dir: TempDir, keys: &[(&str, &str)], proxy: ProxyConfig) -> Node {
        // Small files, so that a test leaves little behind and starts at once.
        let pairs = [
            ("storePathRootDir", dir.path().to_str().unwrap()),
            ("brokerName", BROKER),
            ("mappedFileSizeCommitLog", "16777216"),
            ("maxHashSlotNum", "1000"),
            ("maxIndexNum", "4000"),
            ("enableMixedMessageType", "true"),
        ];
        let pairs = pairs.into_iter().chain(keys.iter().copied());
        let (config, _) = BrokerConfig::from_pairs(pairs).unwrap();
        let (broker, _) = Broker::open(BrokerOptions {
            config: Arc::new(CurrentConfig::new(config)),
            files: Arc::new(OsFiles),
            clock: Arc::new(SystemClock),
            name_servers: Arc::new(NoNameServers),
            advertised: SocketAddr::from(([127, 0, 0, 1], 10911)),
        })
        .unwrap();
        broker.run().unwrap();
        let script = Arc::<Script>::default();
        let service = Arc::new(script.around(BrokerService::new(Arc::clone(&broker))));
        let invoker = LocalInvoker::new(Arc::clone(&service), BROKER, 0);
        let access = AccessControl::of_broker(broker.access_rules(), broker.directory());
        let is_guarded = access.is_some();
        let proxy = Proxy::new(Arc::new(invoker), proxy, access);
        let upkeep = tokio::spawn(Arc::clone(&proxy).run());
        let options = ServerOptions {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            http2: Some(Arc::new(Grpc::new(Arc::clone(&proxy)).await.unwrap())),
            ..ServerOptions::default()
        };
        let server = Server::start(options, service).await.unwrap();
        Node { dir, broker, proxy, upkeep, server, is_guarded, script }
    }

    pub async fn stop(self) -> TempDir {
        self.stop_in(GRACE).await
    }

    /// In the order of a real server; what doesn't end by itself is cut off after the grace.
    pub async fn stop_in(self, grace: Duration) -> TempDir {
        self.server.stop_accepting();
        self.broker.leave().await;
        self.server.shutdown(grace).await;
        self.upkeep.abort();
        self.proxy.release_all().await;
        self.proxy.shutdown();
        self.broker.shutdown().await;
        self.dir
    }

    pub fn address(&self) -> SocketAddr {
        self.server.local_addrs()[0]
    }

    /// A client of this id, on a connection of its own.
    pub async fn client(&self, id: &str) -> Peer {
        Clients::connect(self.address()).await.client(id)
    }

    /// Asks over the remoting protocol, as a super user where that matters.
    pub async fn ask(&self, request: Command) -> Command {
        let request = if self.is_guarded { signed(ROOT, request) } else { request };
        self.ask_unsigned(request).await
    }

    /// Asks as nobody.
    pub async fn ask_unsigned(&self, request: Command) -> Command {
        Client::new().call(&self.address().to_string(), request, PATIENCE).await.unwrap()
    }

    /// What an operator would ask over the remoting protocol.
    pub async fn operate(&self, request: Command) -> Command {
        let answer = self.ask(request).await;
        assert_eq!(answer.code, 0, "{:?}", answer.remark);
        answer
    }

    /// A topic of four queues that takes messages of this type.
    pub async fn topic(&self, name: &str, message_type: &str) {
        let attributes = format!("+message.type={message_type}");
        let perm = perm::READ | perm::WRITE;
        self.operate(topic(name, 4, 4, perm).with("attributes", attributes)).await;
    }

    /// A topic with so many queues and these permissions.
    pub async fn topic_with(&self, name: &str, read_queues: i32, write_queues: i32, perm: i32) {
        self.operate(topic(name, read_queues, write_queues, perm)).await;
    }

    /// A group as its JSON says.
    pub async fn group(&self, json: &str) {
        self.operate(Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(json.to_owned()))
            .await;
    }

    pub async fn delete_topic(&self, name: &str) {
        self.operate(Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", name)).await;
    }

    pub async fn delete_group(&self, name: &str) {
        self.operate(Command::request(request::DELETE_SUBSCRIPTIONGROUP).with("groupName", name)).await;
    }

    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// Waits until something is so in the broker.
    pub async fn until(&self, is: impl Fn(&Broker) -> bool) {
        let started = Instant::now();
        while !is(&self.broker) {
            assert!(started.elapsed() < PATIENCE, "it never is so");
            tokio::time::sleep(LOOK_PERIOD).await;
        }
    }
}

fn topic(name: &str, read_queues: i32, write_queues: i32, perm: i32) -> Command {
    Command::request(request::UPDATE_AND_CREATE_TOPIC)
        .with("topic", name)
        .with("defaultTopic", "TBW102")
        .with("readQueueNums", read_queues)
        .with("writeQueueNums", write_queues)
        .with("perm", perm)
        .with("topicFilterType", "SINGLE_TAG")
        .with("topicSysFlag", 0)
        .with("order", false)
}
