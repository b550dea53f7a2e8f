//! One client, as long as it is there: its link to the brokers, what it said of itself, its telemetry stream.

use crate::caller::Caller;
use crate::invoker::{GivenUp, Link, Pending, Unanswered};
use crate::schema::{ClientType, Settings};
use crate::telemetry::Outbound;
use parking_lot::RwLock;
use prost::Message;
use roxmq_protocol::command::Command;
use roxmq_protocol::language::Language;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Client {
    pub id: Box<str>,
    language: Language,
    link: Arc<dyn Link>,
    /// As the client sent them; none before it did.
    settings: RwLock<Option<Arc<Settings>>>,
    /// A digest of what it was last told to keep to; zero before.
    told: AtomicU64,
    pub telemetry: Arc<Outbound>,
    born: Instant,
    /// Milliseconds after `born`.
    last_seen_ms: AtomicU64,
}

impl Client {
    pub fn new(caller: &Caller<'_>, link: Arc<dyn Link>, telemetry: Arc<Outbound>) -> Self {
        Client {
            id: caller.client_id.into(),
            language: caller.language,
            link,
            settings: RwLock::default(),
            told: AtomicU64::new(0),
            telemetry,
            born: Instant::now(),
            last_seen_ms: AtomicU64::new(0),
        }
    }

    /// A request that brokers see as this client's own.
    pub fn request(&self, code: i32) -> Command {
        Command { language: self.language, ..Command::request(code) }
    }

    pub async fn call(
        &self,
        broker: &str,
        request: Command,
        timeout: Duration,
    ) -> Result<Command, Unanswered> {
        self.link.call(broker, request, timeout).await
    }

    pub fn call_until<'a>(
        &'a self,
        broker: &'a str,
        request: Box<Command>,
        timeout: Duration,
        given_up: GivenUp,
    ) -> Pending<'a, Command, Unanswered> {
        self.link.call_until(broker, request, timeout, given_up)
    }

    /// Answers what a broker asked of the client.
    pub fn answer(&self, broker: &str, opaque: i32, answer: Command) {
        self.link.answer(broker, opaque, answer);
    }

    pub fn settings(&self) -> Option<Arc<Settings>> {
        self.settings.read().clone()
    }

    pub fn set_settings(&self, settings: Settings) {
        *self.settings.write() = Some(Arc::new(settings));
    }

    pub fn take_settings(&self) -> Option<Arc<Settings>> {
        self.settings.write().take()
    }

    pub fn was_told(&self, settings: &Settings) -> bool {
        self.told.load(Ordering::Relaxed) == digest(settings)
    }

    pub fn set_told(&self, settings: &Settings) {
        self.told.store(digest(settings), Ordering::Relaxed);
    }

    pub fn client_type(&self) -> Option<ClientType> {
        self.settings.read().as_ref().map(|settings| settings.client_type())
    }

    pub fn seen(&self) {
        let ms = self.born.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self.last_seen_ms.store(ms, Ordering::Relaxed);
    }

    pub fn known_for(&self) -> Duration {
        self.born.elapsed()
    }

    pub fn silent_for(&self) -> Duration {
        let seen = Duration::from_millis(self.last_seen_ms.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(seen)
    }

    /// The brokers have cut it off: it needs a new link.
    pub fn is_cut_off(&self) -> bool {
        self.link.is_closed()
    }
}

/// Never zero.
fn digest(settings: &Settings) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&settings.encode_to_vec());
    hasher.finish().max(1)
}
