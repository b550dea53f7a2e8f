//! `roxmq store check`: verifies a store offline, RoxMQ's or the Java server's.

use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify logs, queues, index and checkpoint; nothing is changed. Exits with 1 if something is wrong.
    Check(CheckArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// The store's root (storePathRootDir).
    dir: PathBuf,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Action::Check(arguments) = arguments.action;
    let bar = if arguments.json { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
    bar.set_style(style.expect("the template is well formed"));
    let report = roxmq_store::check::check(&arguments.dir, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .with_context(|| format!("cannot check {}", arguments.dir.display()))?;
    bar.finish_and_clear();
    println!("{}", if arguments.json { report.to_json() } else { report.to_string() });
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
