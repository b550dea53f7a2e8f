//! `roxmq`: RocketMQ as one binary. Each subcommand is a module; this file names them and turns errors into exit codes.

mod bench;
mod broker;
mod cli;
mod dev;
mod log;
mod namesrv;
mod node;
mod proxy;
mod server;
mod settings;
mod store_check;

use clap::Parser;
use std::process::ExitCode;

/// Much of what is allocated for a message has a kilobyte and more, and is freed by another thread: the system's
/// allocator takes a third of the time of a send over gRPC.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("roxmq: {error:#}");
            ExitCode::FAILURE
        }
    }
}
