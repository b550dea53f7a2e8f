//! `roxmq bench`: load over the remoting protocol or gRPC, histograms, and the server's CPU and memory when it is
//! local.
//!
//! Every loop is bounded in time. The load of the remoting protocol comes from blocking threads with pipelined
//! requests, so that the client's own cost stays small beside the server's.

mod connection;
mod consume;
mod grpc;
mod latency;
mod produce;
mod report;
pub mod server_cost;
mod signer;

use clap::{Args, Subcommand};
use signer::Signer;
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
    /// Open gRPC connections that only wait for messages, and measure what they cost.
    Idle(grpc::idle::Arguments),
}

/// What every workload takes.
#[derive(Clone, Debug, Args)]
struct Target {
    /// The broker, as HOST:PORT; on this machine by default, at the port of the protocol (10911, gRPC 8081).
    #[arg(long)]
    addr: Option<String>,
    /// The topic; over the remoting protocol created on first use if the broker allows it.
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
    /// The user that requests are signed for, where the server asks who they come from.
    #[arg(long, value_name = "USER", requires = "secret_key")]
    access_key: Option<String>,
    /// The user's password; other users of this machine can see it among its processes.
    #[arg(long, value_name = "PASSWORD", requires = "access_key")]
    secret_key: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl Target {
    fn addr(&self, grpc: bool) -> &str {
        const REMOTING: &str = "127.0.0.1:10911";
        const GRPC: &str = "127.0.0.1:8081";
        self.addr.as_deref().unwrap_or(if grpc { GRPC } else { REMOTING })
    }

    fn signer(&self) -> Option<Signer> {
        Some(Signer::new(self.access_key.as_deref()?, self.secret_key.as_deref()?))
    }
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
        Workload::Produce(arguments) if arguments.grpc => grpc::produce::run_all(&arguments)?,
        Workload::Produce(arguments) => produce::run(&arguments)?,
        Workload::Consume(arguments) if arguments.grpc => grpc::consume::run_all(&arguments)?,
        Workload::Consume(arguments) => consume::run(&arguments)?,
        Workload::Latency(arguments) => latency::run(&arguments)?,
        Workload::Idle(arguments) => {
            grpc::idle::run(&arguments)?.print();
            return Ok(ExitCode::SUCCESS);
        }
    };
    report.print();
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
