//! What a name server does by itself: it drops silent brokers and sends notices.

use crate::namesrv::Namesrv;
use crate::route::MinIdNotice;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_remoting::Client;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

/// How long a broker gets to take a notice, connecting included.
const NOTICE_TIMEOUT: Duration = Duration::from_millis(300);

impl Namesrv {
    /// Drops brokers that have fallen silent and sends notices, until [`shutdown`](Self::shutdown) or the future is
    /// dropped. One at a time: a second one waits for the first to end.
    pub async fn run_maintenance(self: Arc<Self>) {
        let client = Client::new();
        let mut notices = self.maintenance.notices.lock().await;
        let mut sending = JoinSet::new();
        let mut last_scan = Instant::now();
        loop {
            let next_scan = last_scan + Duration::from_millis(self.config().scan_interval_ms);
            tokio::select! {
                () = self.maintenance.stop.notified() => break,
                () = sleep_until(next_scan) => {
                    last_scan = Instant::now();
                    self.drop_silent_brokers();
                }
                Some(notice) = notices.recv() => {
                    sending.spawn(send(client.clone(), notice));
                }
                Some(_) = sending.join_next() => {}
            }
        }
        client.close();
    }

    fn drop_silent_brokers(&self) {
        let policy = self.config().route_policy();
        let (expired, notices) = self.table().write().expire(self.now(), policy);
        for gone in expired {
            warn!(
                broker_name = gone.broker_name,
                broker_addr = gone.addr,
                "a broker was dropped: no heartbeat for more than {} ms",
                gone.timeout_ms
            );
            self.close_connection(gone.connection);
        }
        notices.into_iter().for_each(|notice| self.notify(Some(notice)));
    }
}

async fn send(client: Client, notice: MinIdNotice) {
    info!(
        broker_name = notice.broker_name,
        min_broker_id = notice.min_broker_id,
        "smallest broker id changed"
    );
    let request = Command::request(request::NOTIFY_MIN_BROKER_ID_CHANGE)
        .with("minBrokerId", notice.min_broker_id)
        .with("brokerName", &notice.broker_name)
        .with("minBrokerAddr", &notice.min_broker_addr)
        .with_some("offlineBrokerAddr", notice.offline_broker_addr.as_ref())
        .with_some("haBrokerAddr", notice.ha_broker_addr.as_ref())
        .oneway();
    for addr in &notice.to {
        let sent = timeout(NOTICE_TIMEOUT, client.oneway(addr, request.clone())).await;
        let reason = match sent {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no connection within {NOTICE_TIMEOUT:?}"),
        };
        warn!(addr, "a broker was not told of the changed smallest broker id: {reason}");
    }
}
