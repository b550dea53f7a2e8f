//! `roxmq dev`: a server for tests. A temporary store, one port for everything, nothing left behind.

use crate::node::{self, BrokerNode, StopSignals, Transport, Whole};
use crate::settings::{Settings, set_default};
use anyhow::Context;
use clap::Args;
use roxmq_proxy::ProxyConfig;
use roxmq_remoting::ServerOptions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// The port for name server and broker alike; a free one if not given.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// Small files: a test writes little, and they are removed with the store.
const COMMIT_LOG_FILE_BYTES: u64 = 64 << 20;

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    crate::log::start();
    // The directory goes when this is dropped, after the broker has closed its store.
    let directory =
        tempfile::Builder::new().prefix("roxmq-dev-").tempdir().context("no temporary directory")?;
    let port = if arguments.port == 0 { free_port()? } else { arguments.port };
    let mut pairs = arguments.settings.pairs()?;
    pairs.push(("storePathRootDir".to_owned(), directory.path().display().to_string()));
    pairs.push(("listenPort".to_owned(), port.to_string()));
    set_default(&mut pairs, "bindAddress", Ipv4Addr::LOCALHOST);
    set_default(&mut pairs, "brokerName", "broker-a");
    set_default(&mut pairs, "mappedFileSizeCommitLog", COMMIT_LOG_FILE_BYTES);
    set_default(&mut pairs, "maxHashSlotNum", 50_000);
    set_default(&mut pairs, "maxIndexNum", 200_000);
    let transport = Transport::read(&pairs)?;
    let proxy = node::proxy_config(arguments.settings.proxy_file())?;
    let mut node = BrokerNode::new(crate::settings::broker_config(pairs, None)?)?;
    node.config.namesrv_addr = SocketAddr::new(node.bind, port).to_string();
    node::run(transport, |options| serve(node, options, proxy, started))
}

async fn serve(
    node: BrokerNode,
    options: ServerOptions,
    proxy: ProxyConfig,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let signals = StopSignals::listen()?;
    let (addr, port) = (node.advertised.addr, node.config.listen_port);
    let whole = Whole::start(node, options, proxy, &[port], port).await?;
    println!("ready {addr} ({:.0} ms)", started.elapsed().as_secs_f64() * 1000.0);

    signals.wait().await;
    whole.stop().await?;
    Ok(ExitCode::SUCCESS)
}

/// A port that is free now. Another process may take it before we do; then starting fails and says so.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}
