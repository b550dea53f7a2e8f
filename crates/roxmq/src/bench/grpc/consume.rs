//! Consuming over gRPC: receives, and an acknowledgement for each message.

use super::client::{Client, consumer, messages, producer, receive_request};
use super::produce::Messages;
use super::{Load, run};
use crate::bench::Deadline;
use crate::bench::consume::Arguments;
use crate::bench::report::{Report, Tally};
use crate::bench::server_cost::ServerCost;
use anyhow::Context;
use prost_types::Duration;
use roxmq_proxy::schema::ReceiveMessageRequest;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// What there is to consume is over once so long nothing came.
const WAIT: Duration = Duration { seconds: 5, nanos: 0 };
/// The receive that only makes the group known.
const FIRST_WAIT: Duration = Duration { seconds: 1, nanos: 0 };
/// Sends under way while the topic is filled.
const FILL_WINDOW: u32 = 64;
/// Body bytes of the messages that the topic is filled with.
const FILL_SIZE: u32 = 1024;

pub fn run_all(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    if arguments.fill > 0 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(fill(arguments))?;
    }
    let cost = ServerCost::start(target.addr(true), target.pid);
    let load = Load {
        arguments: arguments.clone(),
        deadline: Deadline::after(target.seconds),
        tally: Tally::new("consume over gRPC", target),
    };
    Ok(run(load, cost, arguments.connections, connection))
}

/// Servers may let a group start with what comes after its first receive: receives once, then sends.
async fn fill(arguments: &Arguments) -> anyhow::Result<()> {
    let (target, topic) = (&arguments.target, arguments.target.topic.as_str());
    let first = receive_request(topic, &arguments.group, 1, FIRST_WAIT);
    let client = Client::open(target, u32::MAX, consumer(topic, &arguments.group)).await?;
    let received = messages(client.receive(&first).await?).await?;
    client.ack(&first, received).await.context("what was left of an earlier run")?;
    let client = Arc::new(Client::open(target, u32::MAX - 1, producer(topic)).await?);
    let (source, left) =
        (Arc::new(Messages::new(topic, FILL_SIZE)), Arc::new(AtomicU32::new(arguments.fill)));
    let mut window = JoinSet::new();
    for _ in 0..FILL_WINDOW {
        let (client, source, left) = (Arc::clone(&client), Arc::clone(&source), Arc::clone(&left));
        window.spawn(async move {
            let take = |left: u32| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                client.send(&source.next(1)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = window.join_next().await {
        ended??;
    }
    Ok(())
}

async fn connection(load: Arc<Load<Arguments>>, number: u32) -> anyhow::Result<()> {
    let Arguments { target, group, window, max, .. } = &load.arguments;
    let settings = consumer(&target.topic, group);
    let client = Arc::new(Client::open(target, number, settings).await?);
    let asked = Arc::new(receive_request(&target.topic, group, *max, WAIT));
    let mut tasks = JoinSet::new();
    for _ in 0..*window {
        tasks.spawn(consume(Arc::clone(&load), Arc::clone(&client), Arc::clone(&asked)));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

/// One receive after the other, until nothing comes any more.
async fn consume(
    load: Arc<Load<Arguments>>,
    client: Arc<Client>,
    asked: Arc<ReceiveMessageRequest>,
) -> anyhow::Result<()> {
    let mut histogram = Tally::histogram();
    while !load.deadline.passed() {
        let started = Instant::now();
        let received = messages(client.receive(&asked).await?).await?;
        if received.is_empty() {
            break;
        }
        histogram.saturating_record(started.elapsed().as_nanos() as u64);
        let (count, bytes) =
            (received.len(), received.iter().map(|message| message.body.len()).sum::<usize>());
        client.ack(&asked, received).await?;
        load.tally.count(count as u64, bytes as u64);
    }
    load.tally.merge(&histogram);
    Ok(())
}
