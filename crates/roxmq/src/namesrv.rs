//! `roxmq namesrv`: a name server alone.

use crate::node::{self, Banner, StopSignals, Transport};
use crate::settings::Settings;
use clap::Args;
use roxmq_namesrv::{Namesrv, NamesrvConfig};
use roxmq_remoting::ServerOptions;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    crate::log::start();
    let pairs = arguments.settings.pairs()?;
    let (mut config, notices) = NamesrvConfig::from_properties(&crate::settings::home()?, &pairs)?;
    for notice in notices {
        tracing::warn!("{notice}");
    }
    if let Some(file) = arguments.settings.file() {
        config.config_store_path = file.clone();
    }
    let transport = Transport::read(&pairs)?;
    node::run(transport, |options| serve(config, options, started))
}

async fn serve(config: NamesrvConfig, options: ServerOptions, started: Instant) -> anyhow::Result<ExitCode> {
    let signals = StopSignals::listen()?;
    let bind = node::bind_address(&config.bind_address)?;
    let port = config.listen_port;
    let namesrv = Namesrv::new(config)?;
    let server = node::listen(options, bind, &[port], Arc::clone(&namesrv)).await?;
    let maintenance = tokio::spawn(Arc::clone(&namesrv).run_maintenance());
    let mut banner = Banner::new();
    for addr in server.local_addrs() {
        banner.row("listening on", addr.to_string());
    }
    banner.print("The name server", started.elapsed());

    signals.wait().await;
    node::stop(server, None).await;
    namesrv.shutdown();
    maintenance.await?;
    Ok(ExitCode::SUCCESS)
}
