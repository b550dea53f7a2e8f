//! The parts of a proxy, put together.

use crate::access::AccessControl;
use crate::caller::Caller;
use crate::client::Client;
use crate::clients::Clients;
use crate::config::ProxyConfig;
use crate::facts::Facts;
use crate::invoker::Invoker;
use crate::peer::CallSite;
use crate::rate::Rate;
use crate::refusal::{Refusal, Result};
use crate::renewals::{self, Renewals};
use crate::schema::Code;
use crate::telemetry::Questions;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tonic::Request;

/// How often is looked for clients that are gone.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);

pub struct Proxy {
    pub config: ProxyConfig,
    /// None if everybody may do everything.
    pub(crate) access: Option<Arc<AccessControl>>,
    pub(crate) invoker: Arc<dyn Invoker>,
    pub(crate) clients: Clients,
    pub(crate) questions: Arc<Questions>,
    pub(crate) facts: Facts,
    pub(crate) renewals: Arc<Renewals>,
    pub(crate) lite_subscriptions: Rate,
    /// Takes turns among queues.
    pub(crate) turn: AtomicUsize,
}

/// How much is kept for clients at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub clients: usize,
    /// Messages that are kept out of the sight of others.
    pub renewed: usize,
    /// What brokers have asked of clients.
    pub questions: usize,
}

impl Proxy {
    /// Without `access` everybody may do everything.
    pub fn new(
        invoker: Arc<dyn Invoker>,
        config: ProxyConfig,
        access: Option<Arc<AccessControl>>,
    ) -> Arc<Self> {
        let questions = Arc::new(Questions::new(Duration::from_secs(config.relay_timeout_s)));
        Arc::new(Proxy {
            clients: Clients::new(Arc::clone(&invoker), Arc::clone(&questions), &config),
            questions,
            facts: Facts::new(Arc::clone(&invoker), config.facts_kept()),
            renewals: Arc::default(),
            lite_subscriptions: Rate::default(),
            invoker,
            access,
            config,
            turn: AtomicUsize::new(0),
        })
    }

    /// Looks after the clients, until the future is dropped.
    pub async fn run(self: Arc<Self>) {
        let sweep = async {
            loop {
                tokio::time::sleep(SWEEP_PERIOD).await;
                for client in self.clients.expire() {
                    self.release(&client).await;
                }
            }
        };
        tokio::join!(sweep, self.questions.run(), renewals::run(&self));
    }

    /// What a client that left has in hand is for others.
    pub(crate) async fn release(&self, client: &Client) {
        renewals::release(self, client, self.renewals.take_client(&client.id)).await;
    }

    /// What any client has in hand is for others. To be called before the brokers go.
    pub async fn release_all(&self) {
        for client in self.clients.all() {
            self.release(&client).await;
        }
    }

    /// Ends the telemetry streams: their clients are to find another server.
    pub(crate) fn drain(&self) {
        for client in self.clients.all() {
            client.telemetry.close();
        }
    }

    /// Leaves the brokers, in the name of every client.
    pub fn shutdown(&self) {
        self.drain();
        self.clients.clear();
    }

    pub fn counts(&self) -> Counts {
        Counts {
            clients: self.clients.count(),
            renewed: self.renewals.count(),
            questions: self.questions.count(),
        }
    }

    /// Whose call this is.
    pub(crate) fn client<T>(&self, request: &Request<T>) -> Result<Arc<Client>> {
        let caller = Caller::of(request.metadata())?;
        self.clients.of(&caller, call_site(request)?.peer)
    }
}

/// Where a call comes from.
pub(crate) fn call_site<T>(request: &Request<T>) -> Result<&CallSite> {
    let site = request.extensions().get::<CallSite>();
    site.ok_or_else(|| Refusal::new(Code::InternalServerError, "the call comes over no connection"))
}

/// The time of day.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(i64::MAX)
}
