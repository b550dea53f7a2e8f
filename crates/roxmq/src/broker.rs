//! `roxmq broker`: a broker alone, which registers with name servers elsewhere.

use crate::node::{self, Banner, BrokerNode, Gateway, StopSignals, Transport};
use crate::settings::{Settings, set_default};
use anyhow::bail;
use clap::Args;
use roxmq_proxy::ProxyConfig;
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
    let transport = Transport::read(&pairs)?;
    let proxy = node::proxy_config(arguments.settings.proxy_file())?;
    let node = BrokerNode::new(crate::settings::broker_config(pairs, arguments.settings.file())?)?;
    if node.config.namesrv_addr.is_empty() {
        bail!("a broker needs name servers: give -n HOST:PORT, or set namesrvAddr or NAMESRV_ADDR");
    }
    node::run(transport, |options| serve(node, options, proxy, started))
}

async fn serve(
    node: BrokerNode,
    mut options: ServerOptions,
    proxy: ProxyConfig,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let signals = StopSignals::listen()?;
    let ports = node.ports()?;
    let (bind, root) = (node.bind, node.config.store_root());
    let mut banner = Banner::new();
    banner.row("broker", format!("{} of {}", node.config.broker_name, node.config.broker_cluster_name));
    banner.row("name servers", node.config.namesrv_addr.clone());
    banner.reach(node.advertised);
    let (broker, report) = node.open()?;
    let service = Arc::new(node::service(&broker));
    let gateway = Gateway::start(proxy, &broker, &service, &mut options).await?;
    let server = node::serve_broker(options, bind, &ports, service, &broker).await?;
    banner.store(&root, &report.store);
    banner.print("The broker", started.elapsed());

    signals.wait().await;
    node::stop(server, Some((broker, gateway))).await;
    Ok(ExitCode::SUCCESS)
}
