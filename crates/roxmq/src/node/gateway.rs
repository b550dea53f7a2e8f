//! gRPC in front of the broker of this process.

use super::BrokerNode;
use anyhow::Context;
use roxmq_proxy::invoker::LocalInvoker;
use roxmq_proxy::{Grpc, Proxy, ProxyConfig};
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
        node: &BrokerIdentity,
        service: &Arc<S>,
        options: &mut ServerOptions,
    ) -> anyhow::Result<Gateway> {
        let invoker = LocalInvoker::new(Arc::clone(service), &node.name, node.id);
        let proxy = Proxy::new(Arc::new(invoker), config, None);
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

/// Which broker stands behind it.
pub struct BrokerIdentity {
    name: String,
    id: i32,
}

impl BrokerIdentity {
    pub fn of(node: &BrokerNode) -> Self {
        let id = i32::try_from(node.config.broker_id).unwrap_or_default();
        BrokerIdentity { name: node.config.broker_name.clone(), id }
    }
}

/// Reads `rmq-proxy.json`; without a file everything is by default.
pub fn proxy_config(file: Option<&Path>) -> anyhow::Result<ProxyConfig> {
    let Some(file) = file else { return Ok(ProxyConfig::default()) };
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    ProxyConfig::from_json(&text).with_context(|| format!("{} is wrong", file.display()))
}
