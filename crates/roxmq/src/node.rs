//! A process that serves: sockets in front of a name server, a broker or both, from start to ordered stop.

mod addresses;
mod banner;
mod cluster_gateway;
mod combined;
mod files;
mod gateway;
mod transport;
mod whole;

pub use addresses::Advertised;
pub use banner::Banner;
pub use cluster_gateway::ClusterGateway;
pub use gateway::{Gateway, proxy_config};
pub use transport::{Transport, client_tls};
pub use whole::Whole;

use addresses::{DialledAddress, advertised, parse_ip};
use combined::Combined;

use crate::memory;
use anyhow::{Context, bail};
use roxmq_broker::registration::RemoteNameServers;
use roxmq_broker::{Broker, BrokerConfig, BrokerOptions, BrokerService, CurrentConfig, StartReport};
use roxmq_remoting::{Client, Metrics, ReactorThreads, Server, ServerOptions, Service};
use roxmq_store::clock::SystemClock;
use roxmq_store::files::OsFiles;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long connections may take to finish what is in flight when the process stops.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// Runs a server to its end. Its connections get threads of their own; everything else is done on the main runtime.
pub fn run<F>(transport: Transport, serve: impl FnOnce(ServerOptions) -> F) -> anyhow::Result<ExitCode>
where
    F: Future<Output = anyhow::Result<ExitCode>>,
{
    files::raise_limit();
    let Transport { mut options, threads } = transport;
    let threads = ReactorThreads::start(threads).context("cannot start the threads of connections")?;
    options.reactors = Some(threads.reactors());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.spawn(memory::give_back_what_is_free());
    let served = runtime.block_on(serve(options));
    // A server has closed its connections by now. What else lives on their threads, those to brokers for one, ends last.
    drop(runtime);
    drop(threads);
    served
}

/// A broker that is to listen, and where it says it is.
pub struct BrokerNode {
    pub config: BrokerConfig,
    pub bind: IpAddr,
    pub advertised: Advertised,
}

impl BrokerNode {
    pub fn new(config: BrokerConfig) -> anyhow::Result<Self> {
        let bind = bind_address(&config.bind_address)?;
        let configured = match config.broker_ip1.as_str() {
            "" => None,
            ip => Some(
                parse_ip(ip).with_context(|| format!("brokerIP1 is '{ip}', which is not an IP address"))?,
            ),
        };
        let advertised = advertised(configured, bind, config.listen_port);
        Ok(BrokerNode { config, bind, advertised })
    }

    /// The ports of a broker: its own, and the fast one two below.
    pub fn ports(&self) -> anyhow::Result<[u16; 2]> {
        let port = self.config.listen_port;
        let Some(fast) = port.checked_sub(2).filter(|fast| *fast > 0) else {
            bail!("listenPort is {port}; the fast port is two below it, so it must be at least 3");
        };
        Ok([port, fast])
    }

    /// Opens the store; no socket is open yet, so nobody sees a broker that still recovers.
    pub fn open(self) -> anyhow::Result<(Arc<Broker>, StartReport)> {
        let config = Arc::new(CurrentConfig::new(self.config));
        let (broker, report) = Broker::open(BrokerOptions {
            name_servers: Arc::new(RemoteNameServers::new(Client::new(), Arc::clone(&config))),
            config,
            files: Arc::new(OsFiles),
            clock: Arc::new(SystemClock),
            advertised: self.advertised.addr,
        })?;
        for repair in &report.repairs {
            tracing::warn!("{repair}");
        }
        Ok((broker, report))
    }
}

/// Opens the doors of a broker whose store is open, one more for metrics if the configuration wants it, and returns when
/// the name servers know of it. If that fails, the store is closed as at any stop.
pub async fn serve_broker<S: Service>(
    mut options: ServerOptions,
    bind: IpAddr,
    ports: &[u16],
    service: Arc<S>,
    broker: &Arc<Broker>,
) -> anyhow::Result<Server> {
    let measured = Arc::clone(broker);
    options.metrics = Some(Metrics::new(move || Arc::clone(&measured).metrics()));
    let of_metrics = broker.config().metrics_prom_exporter_port;
    let ports: Vec<u16> = ports.iter().copied().chain((of_metrics != 0).then_some(of_metrics)).collect();
    let server = listen(options, bind, &ports, service).await;
    let started = server.and_then(|server| Ok(broker.run().map(|()| server)?));
    match &started {
        Ok(_) => broker.registered().await,
        Err(_) => broker.shutdown().await,
    }
    started
}

/// Listens on the ports of an address, all serving the same.
pub async fn listen<S: Service>(
    mut options: ServerOptions,
    bind: IpAddr,
    ports: &[u16],
    service: Arc<S>,
) -> anyhow::Result<Server> {
    options.listen = ports.iter().map(|port| SocketAddr::new(bind, *port)).collect();
    Ok(Server::start(options, service).await?)
}

/// The signals that end the process. From the moment this exists they end it in order: one that comes while the
/// process still starts is kept.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(StopSignals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    pub async fn wait(mut self) {
        let signal = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal, "stopping");
    }
}

/// Stops in order: no new connections, the broker leaves the name servers and answers who waits, what is in flight
/// is finished, connections close, the store closes.
pub async fn stop(server: Server, serving: Option<(Arc<Broker>, Gateway)>) {
    server.stop_accepting();
    if let Some((broker, _)) = &serving {
        broker.leave().await;
    }
    server.shutdown(STOP_GRACE).await;
    if let Some((broker, gateway)) = serving {
        gateway.stop().await;
        broker.shutdown().await;
    }
}

pub fn bind_address(text: &str) -> anyhow::Result<IpAddr> {
    text.parse().with_context(|| format!("bindAddress is '{text}', which is not an IP address"))
}

pub fn service(broker: &Arc<Broker>) -> BrokerService {
    BrokerService::new(Arc::clone(broker))
}
