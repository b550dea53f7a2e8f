//! `roxmq`: RocketMQ as one binary. Each subcommand is a module; this file names them and turns errors into exit codes.

mod bench;
mod broker;
mod cli;
mod dev;
mod log;
mod memory;
mod namesrv;
mod node;
mod proxy;
mod server;
mod settings;
mod store_check;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("roxmq: {error:#}");
            ExitCode::FAILURE
        }
    }
}
