//! Consuming over the remoting protocol: each connection pulls its share of the queues, one request after the other.

use super::connection::{Connection, describe};
use super::produce::set_field;
use super::report::{Report, Tally};
use super::server_cost::ServerCost;
use super::{Deadline, Target};
use clap::Args;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::time::Instant;

#[derive(Clone, Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,
    /// Receive over gRPC, and acknowledge each message. The topic must be there.
    #[arg(long)]
    pub(super) grpc: bool,
    /// Connections, each with a thread.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) connections: u32,
    /// Messages of one pull or receive, at the most; gRPC servers give up to 32.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) max: u32,
    /// With gRPC: receives under way on each connection.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) window: u32,
    /// With gRPC: messages of 1 KiB to send before the measurement.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub(super) fill: u32,
    /// With gRPC: the consumer group.
    #[arg(long, default_value = "roxmq_bench")]
    pub(super) group: String,
}

/// A pull without long polling, whose subscription is in the request.
pub const SUBSCRIPTION_IN_REQUEST: u32 = 4;
/// The same, held by the broker until there is something.
pub const SUSPEND: u32 = 2;

pub fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    let cost = ServerCost::start(target.addr(false), target.pid);
    let deadline = Deadline::after(target.seconds);
    let tally = Tally::new("consume", target);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.connections)
            .map(|number| {
                let (deadline, tally) = (&deadline, &tally);
                scope.spawn(move || {
                    if let Err(error) = pull_share(arguments, number, deadline, tally) {
                        tally.error(format!("{error:#}"));
                    }
                })
            })
            .collect();
        tally.show_progress_while(&deadline, || workers.iter().any(|worker| !worker.is_finished()));
    });
    Ok(tally.finish(cost))
}

fn pull_share(arguments: &Arguments, number: u32, deadline: &Deadline, tally: &Tally) -> anyhow::Result<()> {
    let target = &arguments.target;
    let mut connection = Connection::open(target)?;
    let mut share = Vec::new();
    for queue_id in (0..target.queues).filter(|queue_id| queue_id % arguments.connections == number) {
        let (first, _) = connection.offsets(&target.topic, queue_id)?;
        share.push((queue_id, first));
    }
    let mut request = pull_request(&target.topic, arguments.max, SUBSCRIPTION_IN_REQUEST, 0);
    let mut histogram = Tally::histogram();
    let mut dry = 0;
    // A share is read to its end once every queue of it had nothing more.
    while !deadline.passed() && dry < share.len() {
        for (queue_id, offset) in &mut share {
            set_field(&mut request, "queueId", *queue_id);
            set_field(&mut request, "queueOffset", *offset);
            let started = Instant::now();
            let answer = connection.call(&request)?;
            histogram.saturating_record(started.elapsed().as_nanos() as u64);
            let next = answer.field("nextBeginOffset").and_then(|next| next.parse().ok());
            match answer.code {
                response::SUCCESS => {
                    tally.count(count_records(&answer.body), answer.body.len() as u64);
                    dry = 0;
                }
                response::PULL_NOT_FOUND => dry += 1,
                response::PULL_RETRY_IMMEDIATELY | response::PULL_OFFSET_MOVED => {}
                code => anyhow::bail!("a pull: {}", describe(code, answer.remark.as_deref())),
            }
            *offset = next.unwrap_or(*offset);
        }
    }
    tally.merge(&histogram);
    Ok(())
}

pub fn pull_request(topic: &str, max: u32, sys_flag: u32, suspend_ms: u64) -> Command {
    Command::request(request::PULL_MESSAGE)
        .with("consumerGroup", "roxmq_bench")
        .with("topic", topic)
        .with("queueId", 0)
        .with("queueOffset", 0)
        .with("maxMsgNums", max)
        .with("sysFlag", sys_flag)
        .with("commitOffset", 0)
        .with("suspendTimeoutMillis", suspend_ms)
        .with("subscription", "*")
        .with("subVersion", 0)
        .with("expressionType", "TAG")
}

/// The records of a pull's body, counted by their sizes.
fn count_records(body: &[u8]) -> u64 {
    records(body).count() as u64
}

/// Each record of a pull's body.
pub fn records(mut body: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let size = i32::from_be_bytes(*body.first_chunk::<4>()?) as usize;
        let (record, rest) = body.split_at_checked(size)?;
        if record.is_empty() {
            return None;
        }
        body = rest;
        Some(record)
    })
}
