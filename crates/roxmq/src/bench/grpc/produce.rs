//! Producing over gRPC: each connection keeps a window of unary sends under way.

use super::client::{Client, producer, resource};
use super::{Load, run};
use crate::bench::Deadline;
use crate::bench::produce::Arguments;
use crate::bench::report::{Report, Tally};
use crate::bench::server_cost::ServerCost;
use bytes::Bytes;
use parking_lot::Mutex;
use roxmq_proxy::schema::{Encoding, Message, MessageType, SendMessageRequest, SystemProperties};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::task::JoinSet;

pub fn run_all(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    let cost = ServerCost::start(target.addr(true), target.pid);
    let load = Load {
        arguments: arguments.clone(),
        deadline: Deadline::after(target.seconds),
        tally: Tally::new("produce over gRPC", target),
    };
    Ok(run(load, cost, arguments.connections, connection))
}

async fn connection(load: Arc<Load<Arguments>>, number: u32) -> anyhow::Result<()> {
    let arguments = &load.arguments;
    let client = Client::open(&arguments.target, number, producer(&arguments.target.topic)).await?;
    let sender = Arc::new(Sender {
        client,
        messages: Messages::new(&arguments.target.topic, arguments.size),
        pace: arguments.gap().map(Pace::new),
    });
    let mut window = JoinSet::new();
    for _ in 0..arguments.window {
        window.spawn(send(Arc::clone(&load), Arc::clone(&sender)));
    }
    while let Some(ended) = window.join_next().await {
        ended??;
    }
    Ok(())
}

/// What the sends of a connection share.
struct Sender {
    client: Client,
    messages: Messages,
    pace: Option<Pace>,
}

/// One send after the other.
async fn send(load: Arc<Load<Arguments>>, sender: Arc<Sender>) -> anyhow::Result<()> {
    let Arguments { batch, size, .. } = load.arguments;
    let mut histogram = Tally::histogram();
    let mut result = Ok(());
    while result.is_ok() && !load.deadline.passed() {
        if let Some(pace) = &sender.pace {
            pace.turn().await;
        }
        let request = sender.messages.next(batch);
        let started = Instant::now();
        result = sender.client.send(&request).await;
        if result.is_ok() {
            histogram.saturating_record(started.elapsed().as_nanos() as u64);
            load.tally.count(batch.into(), u64::from(batch) * u64::from(size));
        }
    }
    load.tally.merge(&histogram);
    result
}

/// Messages of one body, each with an id of its own.
pub struct Messages {
    topic: String,
    body: Bytes,
    /// Told apart from those of other runs.
    run: u128,
    last: AtomicU64,
}

impl Messages {
    pub fn new(topic: &str, size: u32) -> Self {
        let run = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let body = Bytes::from(vec![b'x'; size as usize]);
        Messages { topic: topic.to_owned(), body, run, last: AtomicU64::new(0) }
    }

    pub fn next(&self, count: u32) -> SendMessageRequest {
        SendMessageRequest { messages: (0..count).map(|_| self.one()).collect() }
    }

    fn one(&self) -> Message {
        let now = SystemTime::now().into();
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let system = SystemProperties {
            message_id: format!("01{:024X}{number:08X}", self.run),
            body_encoding: Encoding::Identity.into(),
            message_type: MessageType::Normal.into(),
            born_timestamp: Some(now),
            born_host: "roxmq-bench".to_owned(),
            ..SystemProperties::default()
        };
        Message {
            topic: Some(resource(&self.topic)),
            system_properties: Some(system),
            body: self.body.clone(),
            ..Message::default()
        }
    }
}

/// Lets one send pass after the other, a gap apart.
struct Pace {
    gap: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    fn new(gap: Duration) -> Self {
        Pace { gap, next: Mutex::new(Instant::now()) }
    }

    async fn turn(&self) {
        let at = {
            let mut next = self.next.lock();
            let at = *next;
            *next += self.gap;
            at
        };
        tokio::time::sleep_until(at.into()).await;
    }
}
