//! `roxmq broker`: a broker alone, which registers with name servers elsewhere.

use crate::node::{self, Advertised, Banner};
use crate::settings::{Settings, set_default};
use anyhow::bail;
use clap::Args;
use roxmq_broker::{BrokerConfig, RemoteNameServers};
use std::net::IpAddr;
use roxmq_remoting::ServerOptions;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// The name servers, as HOST:PORT;HOST:PORT. Over namesrvAddr of the file, which is over NAMESRV_ADDR of the
    /// environment.
    #[arg(short = 'n', long = "namesrv-addr", value_name = "ADDRS")]
    namesrv_addr: Option<String>,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    crate::log::start();
    let mut pairs = arguments.settings.pairs()?;
    if let Some(addrs) = arguments.namesrv_addr {
        pairs.push(("namesrvAddr".to_owned(), addrs));
    }
    if let Ok(addrs) = std::env::var("NAMESRV_ADDR") {
        set_default(&mut pairs, "namesrvAddr", addrs);
    }
    let config = crate::settings::broker_config(&pairs, arguments.settings.file())?;
    if config.namesrv_addr.is_empty() {
        bail!("a broker needs name servers: give -n HOST:PORT, or set namesrvAddr or NAMESRV_ADDR");
    }
    let bind = node::bind_address(&config.bind_address)?;
    let advertised = node::advertised(config.broker_ip, bind, config.listen_port);
    let options = node::server_options(&pairs)?;
    node::runtime()?.block_on(serve(config, options, bind, advertised, started))
}

async fn serve(
    config: BrokerConfig,
    options: ServerOptions,
    bind: IpAddr,
    advertised: Advertised,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let ports = node::broker_ports(&config)?;
    let root = config.store_path_root_dir.clone();
    let mut banner = Banner::new();
    banner.row("broker", format!("{} of {}", config.broker_name, config.broker_cluster_name));
    banner.row("name servers", config.namesrv_addr.clone());
    let name_servers = Arc::new(RemoteNameServers::new(&config.namesrv_addr));
    let (broker, report) = node::open_broker(config, name_servers, advertised.addr)?;
    let server = node::listen(options, bind, &ports, Arc::new(node::service(&broker))).await?;
    broker.run();
    banner.reach(advertised);
    banner.store(&root, &report.store);
    banner.print("The broker", started.elapsed());

    let signal = node::stop_signal().await?;
    tracing::info!(signal, "stopping");
    node::stop(server, Some(broker)).await;
    Ok(ExitCode::SUCCESS)
}
