//! `roxmq server`: name server and broker in one process, every port serving both.

use crate::node::{self, Banner, BrokerNode, StopSignals, Transport, Whole};
use crate::settings::{Settings, set_default};
use clap::Args;
use roxmq_proxy::ProxyConfig;
use roxmq_remoting::ServerOptions;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Where messages are kept [default: ~/roxmq-store].
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// The port that clients take for the name server's.
    #[arg(long, default_value_t = 9876)]
    namesrv_port: u16,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    crate::log::start();
    let mut pairs = arguments.settings.pairs()?;
    if let Some(store) = &arguments.store {
        pairs.push(("storePathRootDir".to_owned(), store.display().to_string()));
    }
    set_default(&mut pairs, "storePathRootDir", crate::settings::home()?.join("roxmq-store").display());
    set_default(&mut pairs, "brokerName", "broker-a");
    let transport = Transport::read(&pairs)?;
    let proxy = node::proxy_config(arguments.settings.proxy_file())?;
    let grpc_port = crate::settings::port(&pairs, "grpcServerPort", proxy.grpc_server_port)?;
    let mut broker = BrokerNode::new(crate::settings::broker_config(pairs, arguments.settings.file())?)?;
    let [port, fast_port] = broker.ports()?;
    let ports = [arguments.namesrv_port, port, fast_port, grpc_port];
    // The broker tells its own name server as it would tell any other: over a socket.
    broker.config.namesrv_addr = SocketAddr::new(reachable(broker.bind), arguments.namesrv_port).to_string();
    node::run(transport, |options| serve(broker, options, proxy, &ports, started))
}

async fn serve(
    node: BrokerNode,
    options: ServerOptions,
    proxy: ProxyConfig,
    ports: &[u16],
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let signals = StopSignals::listen()?;
    let root = node.config.store_root();
    let shown = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    let mut banner = Banner::new();
    banner.row("name server", node.config.namesrv_addr.clone());
    banner.row("broker", format!("{} of {}", node.config.broker_name, node.config.broker_cluster_name));
    banner.row("ports", format!("{shown}, each for every protocol"));
    banner.reach(node.advertised);
    let whole = Whole::start(node, options, proxy, ports, ports[0]).await?;
    banner.store(&root, &whole.report.store);
    banner.print("RoxMQ", started.elapsed());

    signals.wait().await;
    whole.stop().await?;
    Ok(ExitCode::SUCCESS)
}

/// An address at which this process reaches what it bound to `bind`.
fn reachable(bind: IpAddr) -> IpAddr {
    match bind {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    }
}
