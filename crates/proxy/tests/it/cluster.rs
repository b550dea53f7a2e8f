//! A name server, two brokers and a proxy in front of them, each on a port of its own.

use crate::client::{Clients, Peer, code};
use crate::guarded::{KEYS, ROOT, signed};
use roxmq_access::Credentials;
use roxmq_broker::config::{BrokerConfig, CurrentConfig};
use roxmq_broker::registration::RemoteNameServers;
use roxmq_broker::{Broker, BrokerOptions, BrokerService};
use roxmq_namesrv::{Namesrv, NamesrvConfig};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_proxy::invoker::NetworkInvoker;
use roxmq_proxy::schema::Code;
use roxmq_proxy::{AccessControl, Grpc, Proxy, ProxyConfig, Relay};
use roxmq_remoting::{Client, ClientOptions, ClientTls, Server, ServerOptions, ServerTls, TlsMode};
use roxmq_store::clock::SystemClock;
use roxmq_store::files::OsFiles;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until it holds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds().await {
            tokio::time::sleep(PAUSE).await;
        }
    });
    assert!(waited.await.is_ok(), "in vain waited until {what}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A broker that can be started again where it was.
pub struct TestBroker {
    name: &'static str,
    dir: TempDir,
    port: u16,
    namesrv: String,
    tls: TlsMode,
    /// Besides those that every broker here has.
    keys: Vec<(&'static str, &'static str)>,
    running: Option<(Arc<Broker>, Server)>,
}

impl TestBroker {
    pub async fn new(
        name: &'static str,
        namesrv: &str,
        tls: TlsMode,
        keys: Vec<(&'static str, &'static str)>,
    ) -> TestBroker {
        let dir = TempDir::new().unwrap();
        let (port, namesrv) = (free_port(), namesrv.to_owned());
        let mut broker = TestBroker { name, dir, port, namesrv, tls, keys, running: None };
        broker.start().await;
        broker
    }

    pub async fn start(&mut self) {
        let port = self.port.to_string();
        let pairs = [
            ("storePathRootDir", self.dir.path().to_str().unwrap()),
            ("brokerName", self.name),
            ("listenPort", &port),
            ("namesrvAddr", &self.namesrv),
            ("mappedFileSizeCommitLog", "16777216"),
            ("maxHashSlotNum", "1000"),
            ("maxIndexNum", "4000"),
            ("transactionCheckInterval", "200"),
            ("transactionTimeOut", "200"),
        ];
        let pairs = pairs.into_iter().chain(self.keys.iter().copied());
        let (config, _) = BrokerConfig::from_pairs(pairs).unwrap();
        let config = Arc::new(CurrentConfig::new(config));
        let (broker, _) = Broker::open(BrokerOptions {
            name_servers: Arc::new(RemoteNameServers::new(Client::new(), Arc::clone(&config))),
            config,
            files: Arc::new(OsFiles),
            clock: Arc::new(SystemClock),
            advertised: loopback(self.port),
        })
        .unwrap();
        let service = Arc::new(BrokerService::new(Arc::clone(&broker)));
        let options = ServerOptions {
            tls: ServerTls { mode: self.tls, ..ServerTls::default() },
            ..ServerOptions::listen([loopback(self.port)])
        };
        let server = Server::start(options, service).await.unwrap();
        broker.run().unwrap();
        self.running = Some((broker, server));
    }

    /// Its connections break, and it tells no name server that it goes.
    pub async fn break_down(&mut self) {
        let (broker, server) = self.running.take().unwrap();
        server.shutdown(Duration::ZERO).await;
        broker.shutdown().await;
    }

    pub async fn stop(&mut self) {
        if let Some((broker, server)) = self.running.take() {
            broker.leave().await;
            server.shutdown(Duration::from_secs(5)).await;
            broker.shutdown().await;
        }
    }

    pub fn address(&self) -> String {
        loopback(self.port).to_string()
    }

    pub fn broker(&self) -> &Broker {
        &self.running.as_ref().unwrap().0
    }

    /// How many messages the first queues of a topic have taken.
    pub async fn stored(&self, topic: &str, queues: i32) -> i64 {
        let mut stored = 0;
        for queue in 0..queues {
            let asked = Command::request(request::GET_MAX_OFFSET).with("topic", topic).with("queueId", queue);
            let answer = Client::new().call(&self.address(), asked, PATIENCE).await.unwrap();
            stored += answer.field("offset").unwrap().parse::<i64>().unwrap();
        }
        stored
    }
}

pub struct Cluster {
    pub a: TestBroker,
    pub b: TestBroker,
    pub proxy: TestProxy,
    /// Calls the brokers directly.
    pub operator: Client,
    namesrv: TestNamesrv,
    is_guarded: bool,
}

pub struct TestNamesrv {
    home: TempDir,
    port: u16,
    running: Option<(Arc<Namesrv>, Server, JoinHandle<()>)>,
}

impl TestNamesrv {
    pub async fn new() -> TestNamesrv {
        let mut namesrv = TestNamesrv { home: TempDir::new().unwrap(), port: free_port(), running: None };
        namesrv.start().await;
        namesrv
    }

    pub async fn start(&mut self) {
        let namesrv = Namesrv::new(NamesrvConfig::new(self.home.path())).unwrap();
        let options = ServerOptions::listen([loopback(self.port)]);
        let server = Server::start(options, Arc::clone(&namesrv)).await.unwrap();
        let maintenance = tokio::spawn(Arc::clone(&namesrv).run_maintenance());
        self.running = Some((namesrv, server, maintenance));
    }

    pub async fn stop(&mut self) {
        let (namesrv, server, maintenance) = self.running.take().unwrap();
        server.shutdown(Duration::ZERO).await;
        namesrv.shutdown();
        maintenance.await.unwrap();
    }

    pub fn address(&self) -> String {
        loopback(self.port).to_string()
    }
}

pub struct TestProxy {
    pub invoker: Arc<NetworkInvoker>,
    proxy: Arc<Proxy>,
    server: Server,
    upkeep: [JoinHandle<()>; 2],
}

impl TestProxy {
    pub async fn start(namesrv_addr: &str, tls: Option<ClientTls>) -> TestProxy {
        TestProxy::start_with(namesrv_addr, tls, ProxyConfig::default()).await
    }

    /// That asks who calls, and brokers as this user.
    pub async fn start_guarded(namesrv_addr: &str, user: &str, password: &str) -> TestProxy {
        let credentials = Credentials { access_key: user.to_owned(), secret_key: password.to_owned() };
        let config = ProxyConfig {
            authenticate: true,
            authorize: true,
            inner_credentials: Some(credentials),
            user_refresh_s: 1,
            ..ProxyConfig::default()
        };
        TestProxy::start_with(namesrv_addr, None, config).await
    }

    async fn start_with(namesrv_addr: &str, tls: Option<ClientTls>, config: ProxyConfig) -> TestProxy {
        let config = ProxyConfig {
            namesrv_addr: namesrv_addr.to_owned(),
            // Tests don't wait for routes.
            route_refresh_s: 1,
            facts_kept_ms: 10,
            ..config
        };
        let invoker = Arc::new(NetworkInvoker::new(&config, tls).unwrap());
        invoker.look().await;
        let access = AccessControl::of_cluster(&config, &invoker);
        let relay = Arc::new(Relay::new(Arc::clone(&invoker), &config, access.clone()));
        let proxy = Proxy::new(Arc::clone(&invoker) as _, config, access);
        let options = ServerOptions {
            http2: Some(Arc::new(Grpc::new(Arc::clone(&proxy)).await.unwrap())),
            ..ServerOptions::listen([loopback(0)])
        };
        let server = Server::start(options, relay).await.unwrap();
        let upkeep = [tokio::spawn(invoker.run()), tokio::spawn(Arc::clone(&proxy).run())];
        TestProxy { invoker, proxy, server, upkeep }
    }

    pub async fn stop(self) {
        self.server.stop_accepting();
        self.server.shutdown(Duration::from_secs(5)).await;
        self.proxy.release_all().await;
        self.upkeep.iter().for_each(JoinHandle::abort);
        self.proxy.shutdown();
    }

    pub fn address(&self) -> SocketAddr {
        self.server.local_addrs()[0]
    }

    pub async fn client(&self, id: &str) -> Peer {
        Clients::connect(self.address()).await.client(id)
    }
}

impl Cluster {
    pub async fn start() -> Cluster {
        Cluster::start_with(TlsMode::Permissive, None).await
    }

    /// Brokers that speak TLS only.
    pub async fn start_secure() -> Cluster {
        Cluster::start_with(TlsMode::Enforcing, Some(ClientTls::default())).await
    }

    /// With access control at the brokers and at the proxy.
    pub async fn start_guarded() -> Cluster {
        let inner = r#"{"accessKey":"proxy","secretKey":"proxy-secret"}"#;
        let keys = [KEYS, &[("innerClientAuthenticationCredentials", inner)]].concat();
        let namesrv = TestNamesrv::new().await;
        let a = TestBroker::new("broker-a", &namesrv.address(), TlsMode::Permissive, keys.clone()).await;
        let b = TestBroker::new("broker-b", &namesrv.address(), TlsMode::Permissive, keys).await;
        let proxy = TestProxy::start_guarded(&namesrv.address(), "proxy", "proxy-secret").await;
        Cluster { a, b, proxy, operator: Client::new(), namesrv, is_guarded: true }
    }

    async fn start_with(mode: TlsMode, tls: Option<ClientTls>) -> Cluster {
        let namesrv = TestNamesrv::new().await;
        let a = TestBroker::new("broker-a", &namesrv.address(), mode, vec![]).await;
        let b = TestBroker::new("broker-b", &namesrv.address(), mode, vec![]).await;
        let proxy = TestProxy::start(&namesrv.address(), tls.clone()).await;
        let operator = Client::with_options(ClientOptions { tls, ..ClientOptions::default() }).unwrap();
        Cluster { a, b, proxy, operator, namesrv, is_guarded: false }
    }

    pub async fn stop(mut self) {
        self.proxy.stop().await;
        self.a.stop().await;
        self.b.stop().await;
        self.namesrv.stop().await;
    }

    pub fn namesrv_address(&self) -> String {
        self.namesrv.address()
    }

    pub async fn stop_namesrv(&mut self) {
        self.namesrv.stop().await;
    }

    /// One that knows nothing.
    pub async fn start_namesrv(&mut self) {
        self.namesrv.start().await;
    }

    /// A topic of two queues on each broker, known to the proxy.
    pub async fn topic(&self, name: &str, message_type: &str) {
        let request = Command::request(request::UPDATE_AND_CREATE_TOPIC)
            .with("topic", name)
            .with("defaultTopic", "TBW102")
            .with("readQueueNums", 2)
            .with("writeQueueNums", 2)
            .with("perm", 6)
            .with("topicFilterType", "SINGLE_TAG")
            .with("topicSysFlag", 0)
            .with("order", false)
            .with("attributes", format!("+message.type={message_type}"));
        self.operate(request).await;
        self.queues(name, 4).await;
    }

    /// Has each broker do something, as an operator would.
    pub async fn operate(&self, request: Command) {
        let request = if self.is_guarded { signed(ROOT, request) } else { request };
        for broker in [&self.a, &self.b] {
            let answer = self.operator.call(&broker.address(), request.clone(), PATIENCE).await.unwrap();
            assert_eq!(answer.code, 0, "{answer:?}");
        }
    }

    /// Waits until the proxy knows a topic with so many queues.
    pub async fn queues(&self, topic: &str, count: usize) {
        let mut client = self.proxy.client("of-the-test").await;
        client.credentials = self.is_guarded.then_some(ROOT);
        until(&format!("{topic} has {count} queues"), || {
            let mut client = client.clone();
            async move {
                let route = client.route(topic).await;
                code(route.status.as_ref()) == Code::Ok && route.message_queues.len() == count
            }
        })
        .await;
    }
}
