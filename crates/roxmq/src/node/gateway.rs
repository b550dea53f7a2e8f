//! gRPC in front of the broker of this process.

use anyhow::{Context, bail};
use roxmq_broker::Broker;
use roxmq_proxy::invoker::LocalInvoker;
use roxmq_proxy::{AccessControl, Grpc, Proxy, ProxyConfig};
use roxmq_remoting::{ServerOptions, Service};
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;

pub struct Gateway {
    proxy: Arc<Proxy>,
    upkeep: JoinHandle<()>,
}

impl Gateway {
    /// Makes the server of these options serve gRPC. `service` is what its other connections are served by.
    pub async fn start<S: Service>(
        config: ProxyConfig,
        broker: &Broker,
        service: &Arc<S>,
        options: &mut ServerOptions,
    ) -> anyhow::Result<Gateway> {
        let of_broker = broker.config();
        let id = i32::try_from(of_broker.broker_id).unwrap_or_default();
        let invoker = LocalInvoker::new(Arc::clone(service), &of_broker.broker_name, id);
        let access = AccessControl::of_broker(broker.access_rules(), broker.directory());
        check_access(&config, access.is_some())?;
        let proxy = Proxy::new(Arc::new(invoker), config, access);
        options.http2 = Some(Arc::new(Grpc::new(Arc::clone(&proxy)).await?));
        let upkeep = tokio::spawn(Arc::clone(&proxy).run());
        Ok(Gateway { proxy, upkeep })
    }

    /// To be called when no connection is left, and before the broker goes.
    pub async fn stop(self) {
        self.upkeep.abort();
        self.proxy.release_all().await;
        self.proxy.shutdown();
    }
}

/// Access control is the broker's: what the proxy's configuration says besides must not be ignored in silence.
fn check_access(config: &ProxyConfig, is_on: bool) -> anyhow::Result<()> {
    if !is_on && (config.authenticate || config.authorize) {
        bail!(
            "authenticationEnabled or authorizationEnabled is true in the proxy's configuration, and not in the \
             broker's: in front of a broker of the same process the broker's keys count, for every protocol"
        );
    }
    if !config.authentication_whitelist.is_empty() || !config.authorization_whitelist.is_empty() {
        bail!(
            "authenticationWhitelist or authorizationWhitelist is set in the proxy's configuration: in front of a broker \
             of the same process the broker's keys count, which take messages of gRPC, too"
        );
    }
    Ok(())
}

/// Reads `rmq-proxy.json`; without a file everything is by default.
pub fn proxy_config(file: Option<&Path>) -> anyhow::Result<ProxyConfig> {
    let Some(file) = file else { return Ok(ProxyConfig::default()) };
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    ProxyConfig::from_json(&text).with_context(|| format!("{} is wrong", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_control_of_the_proxy_alone_is_refused() {
        let check = |json: &str, is_on: bool, expected: Option<&str>| {
            let config = ProxyConfig::from_json(json.as_bytes()).expect("good");
            let refused = check_access(&config, is_on).err().map(|error| error.to_string());
            match (&refused, expected) {
                (None, None) => {}
                (Some(refused), Some(piece)) if refused.contains(piece) => {}
                _ => panic!("{json}: {refused:?}"),
            }
        };
        check("{}", false, None);
        check("{}", true, None);
        check(r#"{"authenticationEnabled":true,"authorizationEnabled":true}"#, true, None);
        check(r#"{"authenticationEnabled":true}"#, false, Some("authenticationEnabled"));
        check(r#"{"authorizationWhitelist":"105"}"#, true, Some("authorizationWhitelist"));
    }
}
