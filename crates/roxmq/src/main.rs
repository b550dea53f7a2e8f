//! `roxmq`: RocketMQ as one binary. Each subcommand is a module; this file names them and turns errors into exit codes.

mod bench;
mod cli;

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
