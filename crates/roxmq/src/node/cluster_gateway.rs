//! gRPC and the remoting protocol in front of the brokers of a cluster.

use anyhow::Context;
use roxmq_proxy::invoker::NetworkInvoker;
use roxmq_proxy::{AccessControl, Grpc, Proxy, ProxyConfig, Relay};
use roxmq_remoting::{ClientTls, Readiness, ServerOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long a start waits for the name servers. The proxy goes on without them.
const FIRST_LOOK: Duration = Duration::from_secs(3);

pub struct ClusterGateway {
    invoker: Arc<NetworkInvoker>,
    proxy: Arc<Proxy>,
    relay: Arc<Relay>,
    upkeep: Vec<JoinHandle<()>>,
}

impl ClusterGateway {
    /// Makes the server of these options serve gRPC, and its readiness that of the cluster.
    pub async fn start(
        config: ProxyConfig,
        tls: Option<ClientTls>,
        options: &mut ServerOptions,
    ) -> anyhow::Result<Self> {
        let invoker = Arc::new(NetworkInvoker::new(&config, tls).context("no connections can be made")?);
        if tokio::time::timeout(FIRST_LOOK, invoker.look()).await.is_err() {
            tracing::warn!("the name servers take long to answer");
        }
        let access = AccessControl::of_cluster(&config, &invoker);
        if let (None, Some(inner)) = (&access, config.own_credentials()) {
            tracing::warn!(
                user = inner.access_key,
                "innerClientAuthenticationCredentials is set and authenticationEnabled is not: whoever reaches this proxy does \
                 what its user may"
            );
        }
        let relay = Arc::new(Relay::new(Arc::clone(&invoker), &config, access.clone()));
        let proxy = Proxy::new(Arc::clone(&invoker) as _, config, access);
        options.http2 = Some(Arc::new(Grpc::new(Arc::clone(&proxy)).await?));
        let of_readiness = Arc::clone(&invoker);
        options.readiness = Readiness::new(move || of_readiness.readiness());
        let upkeep = vec![tokio::spawn(invoker.run()), tokio::spawn(Arc::clone(&proxy).run())];
        Ok(ClusterGateway { invoker, proxy, relay, upkeep })
    }

    /// What serves the remoting protocol.
    pub fn relay(&self) -> Arc<Relay> {
        Arc::clone(&self.relay)
    }

    pub fn readiness(&self) -> Result<(), String> {
        self.invoker.readiness()
    }

    /// To be called when no connection is left.
    pub async fn stop(self) {
        self.proxy.release_all().await;
        self.upkeep.iter().for_each(JoinHandle::abort);
        self.proxy.shutdown();
    }
}
