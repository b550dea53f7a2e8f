//! Clients that wait: what connections cost that have a telemetry stream and a receive open, and nothing to do.

use super::client::{Client, consumer, messages, receive_request};
use crate::bench::Target;
use crate::bench::report::{print_json, row};
use crate::bench::server_cost::{Cost, ServerCost};
use anyhow::{Context, ensure};
use clap::Args;
use prost_types::Duration as Wait;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

#[derive(Clone, Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Connections, all of gRPC, each of a client of its own.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    connections: u32,
    /// Consumer groups that the clients are spread over, named after the group with -0, -1 and so on.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    groups: u32,
    /// The name of the groups.
    #[arg(long, default_value = "roxmq_bench_idle")]
    group: String,
}

/// The longest that servers let a receive wait.
const RECEIVE_WAIT: Wait = Wait { seconds: 20, nanos: 0 };
/// Connections that are being opened at the same time.
const OPENING_MAX: usize = 32;
/// The last receives reach the server in this time.
const SETTLE_TIME: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize)]
pub struct Report {
    workload: &'static str,
    connections: u32,
    seconds: u64,
    /// Of the server while it only waits.
    waiting: Cost,
    growth_kib_per_connection: f64,
    #[serde(skip)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    let no_server = "the server's process isn't to be seen; give --pid";
    let opening = ServerCost::start(target.addr(true), target.pid).context(no_server)?;
    let mut clients = open_all(arguments).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let opened = opening.finish().context(no_server)?;
    let waiting = ServerCost::start(target.addr(true), target.pid).context(no_server)?;
    tokio::time::sleep(Duration::from_secs(target.seconds)).await;
    let waiting = waiting.finish().context(no_server)?;
    if let Some(ended) = clients.try_join_next() {
        return Err(lost(ended));
    }
    Ok(Report {
        workload: "idle over gRPC",
        connections: arguments.connections,
        seconds: target.seconds,
        growth_kib_per_connection: opened.growth_mib * 1024.0 / f64::from(arguments.connections),
        waiting: Cost { growth_mib: opened.growth_mib, ..waiting },
        json: target.json,
    })
}

/// Every client, each with a receive under way again and again.
async fn open_all(arguments: &Arguments) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let opening = Arc::new(Semaphore::new(OPENING_MAX));
    let (opened, mut all_opened) = tokio::sync::mpsc::channel::<()>(1);
    let mut clients = JoinSet::new();
    for number in 0..arguments.connections {
        let (arguments, opening, opened) = (arguments.clone(), Arc::clone(&opening), opened.clone());
        clients.spawn(async move {
            let Target { topic, .. } = &arguments.target;
            let group = format!("{}-{}", arguments.group, number % arguments.groups);
            let turn = opening.acquire().await?;
            let client = Client::open(&arguments.target, number, consumer(topic, &group)).await?;
            drop((turn, opened));
            let asked = receive_request(topic, &group, 32, RECEIVE_WAIT);
            loop {
                let received = messages(client.receive(&asked).await?).await?;
                ensure!(received.is_empty(), "the topic {topic} has messages for {group}; use another");
            }
        });
    }
    drop(opened);
    tokio::select! {
        _ = all_opened.recv() => Ok(clients),
        Some(ended) = clients.join_next() => Err(lost(ended)),
    }
}

/// Why a client doesn't wait any more.
fn lost(ended: Result<anyhow::Result<()>, JoinError>) -> anyhow::Error {
    match ended {
        Ok(Err(error)) => error.context("a client"),
        _ => anyhow::anyhow!("a client ended"),
    }
}

impl Report {
    pub fn print(&self) {
        if self.json {
            return print_json(self);
        }
        row("workload", self.workload.to_owned());
        row("connections", format!("{}, each with telemetry and a receive open", self.connections));
        let (waiting, each) = (&self.waiting, self.growth_kib_per_connection);
        row(
            "server memory",
            format!(
                "{:.1} MiB more than before ({each:.1} KiB a connection), {:.1} MiB anonymous",
                waiting.growth_mib, waiting.anonymous_mib
            ),
        );
        row("server CPU", format!("{:.2} s in {} s of waiting", waiting.cpu_seconds, self.seconds));
    }
}
