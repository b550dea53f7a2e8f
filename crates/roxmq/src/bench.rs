//! `roxmq bench`: load over the remoting protocol, histograms, and the server's CPU and memory when it is local.
//!
//! Every loop is bounded in time. The load comes from blocking threads with pipelined requests, so that the client's
//! own cost stays small beside the server's.

mod connection;
mod consume;
mod latency;
mod produce;
mod report;
mod server_cost;

use clap::{Args, Subcommand};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    workload: Workload,
}

#[derive(Debug, Subcommand)]
enum Workload {
    /// Send messages as fast as the window allows, or at a rate.
    Produce(produce::Arguments),
    /// Pull what is stored, from the first offset on.
    Consume(consume::Arguments),
    /// Send at a rate and measure the time until a long-polling consumer has the message.
    Latency(latency::Arguments),
}

/// What every workload takes.
#[derive(Clone, Debug, Args)]
struct Target {
    /// The broker, as HOST:PORT.
    #[arg(long, default_value = "127.0.0.1:10911")]
    addr: String,
    /// The topic; created on first use if the broker allows it.
    #[arg(long, default_value = "RoxmqBench")]
    topic: String,
    /// Queues of the topic to use.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    queues: u32,
    /// How long to run, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The server's process; found by its port when the server is on this machine.
    #[arg(long)]
    pid: Option<u32>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Tells the threads of a workload when to stop.
struct Deadline {
    end: Instant,
    stopped: AtomicBool,
}

impl Deadline {
    fn after(seconds: u64) -> Self {
        Deadline { end: Instant::now() + Duration::from_secs(seconds), stopped: AtomicBool::new(false) }
    }

    fn passed(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || Instant::now() >= self.end
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let report = match arguments.workload {
        Workload::Produce(arguments) => produce::run(&arguments)?,
        Workload::Consume(arguments) => consume::run(&arguments)?,
        Workload::Latency(arguments) => latency::run(&arguments)?,
    };
    report.print();
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
