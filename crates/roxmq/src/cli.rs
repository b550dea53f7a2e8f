//! The command line: subcommands and what they are for. Each one's flags stand beside its code.

use crate::bench;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// RocketMQ as one small binary: name server and broker for every official client, with tools.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure a broker: throughput, latency, and what it costs the server.
    Bench(bench::Arguments),
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Bench(arguments) => bench::run(arguments),
    }
}
