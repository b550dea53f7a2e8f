//! The command line: subcommands and what they are for. Each one's flags stand beside its code.

use crate::{bench, broker, dev, namesrv, proxy, server, store_check};
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
    /// Run name server and broker in one process.
    Server(server::Arguments),
    /// Run a name server alone.
    Namesrv(namesrv::Arguments),
    /// Run a broker alone, registered with name servers elsewhere.
    Broker(broker::Arguments),
    /// Run a proxy in front of the brokers of a cluster: gRPC and remoting at one address.
    Proxy(proxy::Arguments),
    /// Run a server for tests: temporary store, one port, nothing left behind.
    Dev(dev::Arguments),
    /// Measure a broker: throughput, latency, and what it costs the server.
    Bench(bench::Arguments),
    /// Look after a store that no process uses.
    Store(store_check::Arguments),
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Server(arguments) => server::run(arguments),
        Command::Namesrv(arguments) => namesrv::run(arguments),
        Command::Broker(arguments) => broker::run(arguments),
        Command::Proxy(arguments) => proxy::run(arguments),
        Command::Dev(arguments) => dev::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Store(arguments) => store_check::run(arguments),
    }
}
