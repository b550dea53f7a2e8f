//! Name server and broker in one process, on the same ports.

use super::{BrokerNode, Combined, DialledAddress, Gateway, serve_broker, service, stop};
use roxmq_broker::{Broker, StartReport};
use roxmq_namesrv::{Namesrv, NamesrvConfig};
use roxmq_proxy::ProxyConfig;
use roxmq_remoting::{Server, ServerOptions};
use std::sync::Arc;
use tokio::task::JoinHandle;

pub struct Whole {
    server: Server,
    namesrv: Arc<Namesrv>,
    maintenance: JoinHandle<()>,
    broker: Arc<Broker>,
    gateway: Gateway,
    pub report: StartReport,
}

impl Whole {
    /// Recovers the store, then opens every port and registers the broker. `namesrv_port` is the one that the name
    /// server shows as its own.
    pub async fn start(
        node: BrokerNode,
        mut options: ServerOptions,
        proxy: ProxyConfig,
        ports: &[u16],
        namesrv_port: u16,
    ) -> anyhow::Result<Whole> {
        let mut namesrv_config = NamesrvConfig::new(&node.config.store_root());
        namesrv_config.listen_port = namesrv_port;
        namesrv_config.remote_admin_enable = node.config.remote_admin_enable;
        let addresses = Arc::new(DialledAddress { own: node.advertised });
        let namesrv = Namesrv::with_addresses(namesrv_config, addresses)?;
        let bind = node.bind;
        let (broker, report) = node.open()?;
        let combined = Arc::new(Combined { namesrv: Arc::clone(&namesrv), broker: service(&broker) });
        let gateway = Gateway::start(proxy, &broker, &combined, &mut options).await?;
        let server = serve_broker(options, bind, ports, combined, &broker).await?;
        let maintenance = tokio::spawn(Arc::clone(&namesrv).run_maintenance());
        Ok(Whole { server, namesrv, maintenance, broker, gateway, report })
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        stop(self.server, Some((self.broker, self.gateway))).await;
        self.namesrv.shutdown();
        Ok(self.maintenance.await?)
    }
}
