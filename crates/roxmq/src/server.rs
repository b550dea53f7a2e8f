//! `roxmq server`: name server and broker in one process, every port serving both.

use crate::node::{self, Advertised, Banner, Combined, DialledAddress};
use crate::settings::{Settings, set_default};
use clap::Args;
use roxmq_broker::{BrokerConfig, RemoteNameServers};
use roxmq_namesrv::{Namesrv, NamesrvConfig};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use roxmq_remoting::ServerOptions;
use std::process::ExitCode;
use std::sync::Arc;
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
    let config = crate::settings::broker_config(&pairs, arguments.settings.file())?;
    let grpc_port = crate::settings::port(&pairs, "grpcServerPort", 8081)?;
    let bind = node::bind_address(&config.bind_address)?;
    let advertised = node::advertised(config.broker_ip, bind, config.listen_port);
    let [port, fast_port] = node::broker_ports(&config)?;
    let ports = [arguments.namesrv_port, port, fast_port, grpc_port];
    let options = node::server_options(&pairs)?;
    node::runtime()?.block_on(serve(config, options, bind, &ports, advertised, started))
}

async fn serve(
    config: BrokerConfig,
    options: ServerOptions,
    bind: IpAddr,
    ports: &[u16],
    advertised: Advertised,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let root = config.store_path_root_dir.clone();
    let mut namesrv_config = NamesrvConfig::new(&root);
    namesrv_config.listen_port = ports[0];
    let namesrv = Namesrv::with_addresses(namesrv_config, Arc::new(DialledAddress { own: advertised }))?;
    let name = format!("{} of {}", config.broker_name, config.broker_cluster_name);
    // The broker tells its own name server as it would tell any other: over a socket.
    let own = SocketAddr::new(reachable(bind), ports[0]);
    let name_servers = Arc::new(RemoteNameServers::new(&own.to_string()));
    let (broker, report) = node::open_broker(config, name_servers, advertised.addr)?;
    let combined = Combined { namesrv: Arc::clone(&namesrv), broker: node::service(&broker) };
    let server = node::listen(options, bind, ports, Arc::new(combined)).await?;
    let maintenance = tokio::spawn(Arc::clone(&namesrv).run_maintenance());
    broker.run();

    let shown = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    let mut banner = Banner::new();
    banner.row("name server", own.to_string());
    banner.row("broker", name);
    banner.row("ports", format!("{shown}, each for every protocol"));
    banner.reach(advertised);
    banner.store(&root, &report.store);
    banner.print("RoxMQ", started.elapsed());

    let signal = node::stop_signal().await?;
    tracing::info!(signal, "stopping");
    node::stop(server, Some(broker)).await;
    namesrv.shutdown();
    maintenance.await?;
    Ok(ExitCode::SUCCESS)
}

/// An address at which this process reaches what it bound to `bind`.
fn reachable(bind: IpAddr) -> IpAddr {
    match bind {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    }
}
