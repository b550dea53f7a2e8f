//! `roxmq proxy`: gRPC and the remoting protocol in front of the brokers of a cluster. It keeps nothing on disk.

use crate::node::{self, Banner, ClusterGateway, StopSignals, Transport};
use crate::settings::{last, parse_sets, set_default};
use anyhow::{Context, bail};
use clap::Args;
use roxmq_proxy::ProxyConfig;
use roxmq_remoting::{ClientTls, ServerOptions};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Keys of `--set` that aren't of rmq-proxy.json, by how they start.
const OWN_KEYS: &[&str] =
    &["bindAddress", "tls.", "serverChannelMaxIdleTimeSeconds", "serverSelectorThreads"];

#[derive(Debug, Args)]
#[command(after_help = "\
Applications of version 5 (gRPC) use HOST:8081 as their endpoint. Those of the remoting protocol use HOST:8080 as
their name server; they are told to find every broker here. Both ports speak both protocols, with TLS and without.

GET /readyz on either port says whether a broker can be reached, and if not, why. The proxy starts without any, and
is ready as soon as there is one.

Keys for -c and --set are those of the Java proxy's rmq-proxy.json, among them:
  grpcServerPort, remotingListenPort  the ports [8081, 8080]
  rocketMQClusterName                 whose brokers are asked for groups [DefaultCluster]
  remotingAccessAddr                  the host that clients of the remoting protocol are told to connect to
                                      [where they connected to]
  maxMessageSize                      of a body, in bytes [4194304]
  authenticationEnabled, authorizationEnabled, innerClientAuthenticationCredentials
                                      access control: docs/access-control.md [off]
For --set alone: bindAddress [0.0.0.0], tls.server.mode, tls.server.certPath, tls.server.keyPath; and
  tls.enable                          TLS to name servers and brokers [false]
  tls.client.trustCertPath            who signs their certificates [everybody is trusted]
  tls.client.certPath, tls.client.keyPath  what they see the proxy by [nothing]")]
pub struct Arguments {
    /// The name servers, as HOST:PORT;HOST:PORT. Over namesrvAddr of the file, which is over NAMESRV_ADDR of the
    /// environment.
    #[arg(short = 'n', long = "namesrv-addr", value_name = "ADDRS")]
    namesrv_addr: Option<String>,
    /// A configuration file: the Java proxy's rmq-proxy.json.
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    config: Option<PathBuf>,
    /// A configuration key, over what the file says; may be given many times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    crate::log::start();
    let mut pairs = parse_sets(&arguments.set)?;
    check_keys(&pairs)?;
    if let Some(addrs) = arguments.namesrv_addr {
        pairs.push(("namesrvAddr".to_owned(), addrs));
    }
    let mut config = read(arguments.config, &pairs)?;
    if config.namesrv_addr.is_empty() {
        config.namesrv_addr = std::env::var("NAMESRV_ADDR").unwrap_or_default();
    }
    if config.namesrv_addr.is_empty() {
        bail!("a proxy needs name servers: give -n HOST:PORT, or set namesrvAddr or NAMESRV_ADDR");
    }
    set_default(&mut pairs, "bindAddress", "0.0.0.0");
    let bind = node::bind_address(last(&pairs, "bindAddress").unwrap_or_default())?;
    let transport = Transport::read(&pairs)?;
    let tls = node::client_tls(&pairs)?;
    node::run(transport, |options| serve(config, bind, options, tls, started))
}

fn read(file: Option<PathBuf>, pairs: &[(String, String)]) -> anyhow::Result<ProxyConfig> {
    let (text, name) = match &file {
        Some(file) => {
            let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            (text, file.display().to_string())
        }
        None => (b"{}".to_vec(), "what --set says".to_owned()),
    };
    ProxyConfig::read(&text, pairs).with_context(|| format!("{name} is wrong"))
}

/// In a file unknown keys may be for others; nobody gives one by hand for nothing.
fn check_keys(pairs: &[(String, String)]) -> anyhow::Result<()> {
    for (key, _) in pairs {
        let is_own = OWN_KEYS.iter().any(|prefix| key.starts_with(prefix));
        if !is_own && !ProxyConfig::KEYS.contains(&key.as_str()) {
            bail!(
                "'--set {key}' is no key that a proxy knows; those it knows are {}",
                ProxyConfig::KEYS.join(", ")
            );
        }
    }
    Ok(())
}

async fn serve(
    config: ProxyConfig,
    bind: IpAddr,
    mut options: ServerOptions,
    tls: Option<ClientTls>,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let signals = StopSignals::listen()?;
    let ports = [config.grpc_server_port, config.remoting_listen_port];
    let mut banner = Banner::new();
    banner.row("name servers", config.namesrv_addr.clone());
    let gateway = ClusterGateway::start(config, tls, &mut options).await?;
    let server = node::listen(options, bind, &ports, gateway.relay()).await?;
    let listening: Vec<_> = server.local_addrs().iter().map(ToString::to_string).collect();
    banner.row("listening on", format!("{}, each for every protocol", listening.join(", ")));
    if let Err(reason) = gateway.readiness() {
        banner.row("not ready yet", reason);
    }
    banner.print("The proxy", started.elapsed());

    signals.wait().await;
    server.stop_accepting();
    server.shutdown(node::STOP_GRACE).await;
    gateway.stop().await;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_command_line_are_checked() {
        let check = |key: &str, is_known: bool| {
            assert_eq!(check_keys(&[(key.to_owned(), "1".to_owned())]).is_ok(), is_known, "{key}");
        };
        check("grpcServerPort", true);
        check("bindAddress", true);
        check("tls.server.mode", true);
        check("grpcServerport", false);
    }
}
